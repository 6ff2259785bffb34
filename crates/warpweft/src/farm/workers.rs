//! The units of a run on their threads, and the one thread that hands over what comes of them.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, Scope, ScopedJoinHandle, scope};
use std::time::Instant;

use super::clerk::{Clerk, Served, Sink};
use super::cuda::Site;
use super::dispatcher::Dispatcher;
use super::journal::{Opened, Writer};
use super::master::Master;
use super::ranges::Ranges;
use super::report::{Failed, Outcome, Share};
use super::run::{Run, Target};
use super::schedule;
use super::slot::{Slot, no_form};
use super::spec::OnFailure;
use super::unit::Unit;
use crate::cpu::{Pool, Worker, WorkerPanic, panic_text};
use crate::error::{Error, Result, no_thread};
use crate::machine::{Gpu, Machine};
use crate::report::{Quantity, Report};
use crate::trace::Trace;

/// The units of a run, compiled once for all tasks.
pub struct Workers {
    /// On the cores, whose units come first.
    pool: Option<Pool>,
    /// After them.
    lanes: Vec<Site>,
    units: Vec<Unit>,
    master: Master,
    tasks: u64,
    /// Tasks that an earlier run did.
    first: u64,
    journal: Option<Writer>,
    devices: Vec<String>,
    notes: Vec<String>,
}

impl Workers {
    /// Cores and lanes of `machine`, as `run` says.
    ///
    /// # Errors
    /// GPUs for a task that has no form `on_gpu`, or where there are none; no threads to be had.
    pub fn new(
        tasks: u64,
        kept: Option<Opened>,
        on_gpu: bool,
        machine: &Machine,
        run: &Run<'_>,
    ) -> Result<Self> {
        let gpus = match run.target {
            Target::Cpu => &[],
            Target::Auto if !on_gpu => &[],
            Target::Gpus if !on_gpu => return Err(no_form()),
            Target::Gpus if machine.gpus.is_empty() => {
                return Err(Error::spec(
                    "a farm on GPUs, and there is none",
                    "run it on the cores",
                ));
            }
            Target::Auto | Target::Gpus => machine.gpus.as_slice(),
        };
        let threads = match run.target {
            Target::Gpus => 0,
            Target::Auto | Target::Cpu => run.threads.unwrap_or_else(|| machine.cpu.threads()),
        };
        let pool = match run.target {
            Target::Gpus => None,
            Target::Auto | Target::Cpu => Some(Pool::over(&machine.cpu.cores, threads)?),
        };
        let lanes: Vec<_> =
            gpus.iter().flat_map(|gpu| Site::of(gpu.ordinal, run.policy.lanes)).collect();
        let units: Vec<_> =
            Unit::cores(0, threads).chain(lanes.iter().map(|site| site.unit(0))).collect();
        let scheduler = run.scheduler.map_or_else(|| schedule::of(&run.policy), |own| own());
        let (done, journal, notes) = match kept {
            Some(Opened { done, writer, notes }) => (done, Some(writer), notes),
            None => (Ranges::default(), None, Vec::new()),
        };
        let first = done.count();
        let master = Master::new(Dispatcher::resumed(tasks, done, &units, scheduler));
        let cores = pool.iter().map(|_| machine.cpu.label(threads));
        let devices = cores.chain(gpus.iter().map(Gpu::label)).collect();
        Ok(Self { pool, lanes, units, master, tasks, first, journal, devices, notes })
    }

    /// Has every unit do its `work`, and hands over what comes of it.
    ///
    /// # Errors
    /// As [`Farm::run_into`](super::Farm::run_into).
    pub fn run(
        mut self,
        begin: Instant,
        run: &Run<'_>,
        sink: &mut Sink<'_>,
        work: &(dyn Fn(&Slot<'_>) + Sync),
    ) -> Result<Outcome> {
        let shares: Vec<_> = self.units.iter().copied().map(Share::new).collect();
        let (tasks, first) = (self.tasks, self.first);
        let mut journal = self.journal.take();
        let through = run.progress.map(|progress| move |done| progress(first + done, tasks));
        let mut clerk = Clerk {
            master: &self.master,
            journal: journal.as_mut(),
            sink,
            on_failure: run.on_failure,
            progress: through.as_ref().map(|through| through as &dyn Fn(u64)),
            interrupt: run.interrupt,
            shares,
            failed: Vec::new(),
        };
        let (called, begun) = (Instant::now(), OnceLock::new());
        let served = self.serve(&mut clerk, run.trace.as_ref(), &begun, work)?;
        // Cores begin at once; GPUs alone once one of their lanes is open.
        let start = begun.get().copied().unwrap_or(called);
        let seconds = start.elapsed().as_secs_f64();
        let Clerk { shares, mut failed, .. } = clerk;
        failed.sort_by_key(|failed| failed.task);
        if let (Some(first), OnFailure::Stop) = (failed.first(), run.on_failure) {
            let Failed { task, unit, what } = first.clone();
            return Err(Error::Task { task, unit: unit.to_string(), what });
        }
        let (ledger, fault) = self.master.end();
        if let Some(fault) = fault {
            return Err(fault);
        }
        let interrupted = !ledger.is_settled();
        if interrupted && !served.interrupted {
            // Tasks that nobody has, though somebody could: a bug of ours, which must not look like success.
            return Err(Error::spec(
                format!(
                    "{} of {tasks} tasks were left by a farm that ended",
                    ledger.free().count() + ledger.out()
                ),
                "please report this",
            ));
        }
        let lost = shares.iter().filter_map(|share| {
            share.lost.as_ref().map(|why| format!("{} was lost: {why}", share.unit))
        });
        let report = Report {
            pattern: "farm",
            devices: self.devices.clone(),
            seconds,
            setup_seconds: (start - begin).as_secs_f64(),
            rate: Quantity { value: served.committed as f64 / seconds.max(1e-9), unit: "tasks/s" },
            // Tasks are code, whose traffic nobody knows.
            bytes: 0,
            bound: None,
            fraction: None,
            predicted_seconds: None,
            policy: serde_json::to_value(run.policy).unwrap_or_default(),
            done: first + served.committed,
            first,
            interrupted,
            residual: None,
            probes: Vec::new(),
            notes: self.notes.iter().cloned().chain(lost).collect(),
        };
        Ok(Outcome { report, shares, failed })
    }

    /// Cores and lanes do their `work` while this thread is the clerk.
    fn serve(
        &self,
        clerk: &mut Clerk<'_>,
        trace: Option<&Arc<Trace>>,
        begun: &OnceLock<Instant>,
        work: &(dyn Fn(&Slot<'_>) + Sync),
    ) -> Result<Served> {
        let (send, messages) = sync_channel(Run::AHEAD * self.units.len());
        let cores = self.units.len() - self.lanes.len();
        let sites = std::iter::repeat_n(None, cores).chain(self.lanes.iter().cloned().map(Some));
        let mut slots: Vec<_> = (self.units.iter().zip(sites).enumerate())
            .map(|(number, (&unit, site))| Slot {
                number,
                unit,
                master: &self.master,
                clerk: send.clone(),
                trace: trace.cloned(),
                site,
                begun,
            })
            .collect();
        drop(send);
        let lanes = slots.split_off(cores);
        // The closure owns `messages` and all slots: whoever still tells when it ends is not waited for.
        scope(move |scope| {
            // Whatever ends the clerk, a panic of the sink too, sends the units home.
            let stop = Stop(&self.master);
            let mut threads = Vec::new();
            if let Some(pool) = &self.pool {
                let each = move |worker: &Worker<'_>| {
                    slots[worker.index].keep(work);
                    Ok(())
                };
                threads.push(spawn(scope, "farm".into(), move || pool.run(each))?);
            }
            for slot in lanes {
                let name = slot.unit.to_string();
                let keep = move || {
                    slot.keep(work);
                    Ok(())
                };
                threads.push(spawn(scope, name, keep)?);
            }
            let served = clerk.serve(messages);
            drop(stop);
            for thread in threads {
                match thread.join() {
                    Ok(Ok(())) => {}
                    Ok(Err(WorkerPanic { message, .. })) => return Err(bug(&message)),
                    Err(panic) => return Err(bug(panic_text(panic.as_ref()))),
                }
            }
            served
        })
    }
}

/// What a thread of units ends with.
type Worked = Result<(), WorkerPanic>;

fn spawn<'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: String,
    work: impl FnOnce() -> Worked + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, Worked>> {
    let spawned = Builder::new().name(name).spawn_scoped(scope, work);
    spawned.map_err(|error| no_thread("starting a farm", &error))
}

/// Units catch what tasks and executors do; what is left is ours.
fn bug(message: &str) -> Error {
    Error::Device {
        stage: "running a farm".into(),
        device: "the cores".into(),
        what: format!("a worker panicked: {message}"),
        remedy: "please report this".into(),
    }
}

/// Ends a farm when it goes.
struct Stop<'a>(&'a Master);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}
