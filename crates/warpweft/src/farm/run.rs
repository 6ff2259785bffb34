//! Running a farm: the one place where devices are chosen. Farms run on the cores of one process so far.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::sync_channel;
use std::time::Instant;

use super::clerk::{Clerk, Served};
use super::desk::Desk;
use super::inputs::Inputs;
use super::master::Master;
use super::node::Seat;
use super::pack::Collected;
use super::policy::Policy;
use super::report::{Failed, Outcome, Share};
use super::schedule::{self, Scheduler};
use super::spec::{Farm, OnFailure};
use super::task::Task;
use super::unit::Unit;
use crate::cpu::{Pool, Worker, WorkerPanic, panic_text};
use crate::element::Packed;
use crate::error::{Error, Result, no_thread};
use crate::machine::{Machine, room};
use crate::report::{Quantity, Report};
use crate::trace::Trace;

/// Packs a unit may be ahead of who hands them over.
const AHEAD: usize = 4;

/// How to run, where the defaults will not do.
#[derive(Clone, Default)]
pub struct Run<'a> {
    /// The tunables.
    pub policy: Policy,
    /// Threads on the cores; all of them if `None`.
    pub threads: Option<usize>,
    /// What is done about tasks that fail.
    pub on_failure: OnFailure,
    /// Told the tasks that are through, of how many, every now and then.
    pub progress: Option<&'a dyn Fn(u64, u64)>,
    /// Set by whoever wants the farm to end: what runs is handed over, and nothing more begins.
    pub interrupt: Option<&'a AtomicBool>,
    /// Where to record what happened when.
    pub trace: Option<Arc<Trace>>,
    /// A schedule of the user's own, in place of the policy's.
    pub scheduler: Option<&'a dyn Fn() -> Box<dyn Scheduler>>,
}

impl<T: Task> Farm<T> {
    /// Does all tasks, on all cores; output `k` belongs to input `k`.
    ///
    /// # Errors
    /// [`Error::Task`] for a task that failed; too little memory for the outputs; all units lost.
    pub fn run<'i>(
        &self,
        inputs: impl Into<Inputs<'i, T::Input>>,
        machine: &Machine,
    ) -> Result<(Vec<T::Output>, Report)> {
        let inputs = inputs.into();
        let count = usize::try_from(inputs.count()).unwrap_or(usize::MAX);
        let remedy = "take fewer tasks, or take their outputs one by one with `run_into`";
        let mut outputs: Vec<Option<T::Output>> = room(count, remedy)?;
        outputs.resize_with(count, || None);
        let mut sink = |k: u64, output| {
            outputs[k as usize] = Some(output);
            Ok(())
        };
        let outcome = self.run_into(inputs, machine, &Run::default(), &mut sink)?;
        // A run that neither failed nor was interrupted has all of them.
        let mut all = room(count, remedy)?;
        all.extend(outputs.into_iter().flatten());
        Ok((all, outcome.report))
    }

    /// Does all tasks as `run` says, and gives `sink` the number and output of each as it is done: every task
    /// once, in no order. `sink` runs on this thread; while it does, units go on for a few packs.
    ///
    /// # Errors
    /// As [`Farm::run`], and the sink's; [`Policy::check`]'s; a schedule of the user's that gives what it can't.
    /// The sink has then had what was done before.
    pub fn run_into<'i>(
        &self,
        inputs: impl Into<Inputs<'i, T::Input>>,
        machine: &Machine,
        run: &Run<'_>,
        sink: &mut dyn FnMut(u64, T::Output) -> Result<()>,
    ) -> Result<Outcome> {
        let begin = Instant::now();
        let inputs = inputs.into();
        let threads = run.threads.unwrap_or_else(|| machine.cpu.threads());
        let crew = Crew::new(inputs.count(), machine, threads, run)?;
        let mut unpack = |range: Range<u64>, collected: &Collected| {
            unpacked::<T::Output>(range, collected, sink)
        };
        crew.run(begin, run, &mut unpack, &|seat| seat.work(&self.task, &inputs))
    }
}

/// Gives each output of a pack to `sink`.
fn unpacked<O: Packed>(
    range: Range<u64>,
    collected: &Collected,
    sink: &mut dyn FnMut(u64, O) -> Result<()>,
) -> Result<()> {
    let mut bytes = &collected.bytes[..];
    let mut failed = collected.failed.iter().map(|(k, _)| range.start + *k as u64).peekable();
    for task in range.clone() {
        if failed.next_if_eq(&task).is_some() {
            continue;
        }
        let output = O::unpack(&mut bytes).ok_or_else(|| unlike::<O>(task))?;
        sink(task, output)?;
    }
    match bytes.is_empty() {
        true => Ok(()),
        false => Err(unlike::<O>(range.end)),
    }
}

/// A type that does not read what it wrote.
fn unlike<O: Packed>(task: u64) -> Error {
    Error::spec(
        format!("the output of task {task} can't be read back as {}", O::form()),
        "make `Packed::unpack` take exactly the bytes that `pack` appends",
    )
}

/// The units of a run, compiled once for all tasks.
struct Crew {
    pool: Pool,
    units: Vec<Unit>,
    master: Master,
    tasks: u64,
    device: String,
}

impl Crew {
    fn new(tasks: u64, machine: &Machine, threads: usize, run: &Run<'_>) -> Result<Self> {
        run.policy.check()?;
        let pool = Pool::over(&machine.cpu.cores, threads)?;
        let units: Vec<_> = Unit::cores(0, threads).collect();
        let scheduler = run.scheduler.map_or_else(|| schedule::of(&run.policy), |own| own());
        let master = Master::new(Desk::new(tasks, &units, scheduler));
        Ok(Self { pool, units, master, tasks, device: machine.cpu.label(threads) })
    }

    /// Has every unit do its `work`, and hands over what comes of it.
    fn run(
        &self,
        begin: Instant,
        run: &Run<'_>,
        sink: &mut dyn FnMut(Range<u64>, &Collected) -> Result<()>,
        work: &(dyn Fn(&Seat<'_>) + Sync),
    ) -> Result<Outcome> {
        let shares: Vec<_> = self.units.iter().copied().map(Share::new).collect();
        let tasks = self.tasks;
        let told_of = run.progress.map(|progress| move |through| progress(through, tasks));
        let mut clerk = Clerk {
            master: &self.master,
            sink,
            on_failure: run.on_failure,
            progress: told_of.as_ref().map(|told| told as &dyn Fn(u64)),
            interrupt: run.interrupt,
            shares,
            failed: Vec::new(),
        };
        let start = Instant::now();
        let served = self.serve(&mut clerk, run.trace.as_ref(), work)?;
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
            devices: vec![self.device.clone()],
            seconds,
            setup_seconds: (start - begin).as_secs_f64(),
            rate: Quantity { value: served.committed as f64 / seconds.max(1e-9), unit: "tasks/s" },
            // Tasks are code, whose traffic nobody knows.
            bytes: 0,
            bound: None,
            fraction: None,
            predicted_seconds: None,
            policy: serde_json::to_value(run.policy).unwrap_or_default(),
            done: served.committed,
            first: 0,
            interrupted,
            residual: None,
            probes: Vec::new(),
            notes: lost.collect(),
        };
        Ok(Outcome { report, shares, failed })
    }

    /// The workers do their `work` while this thread is the clerk.
    fn serve(
        &self,
        clerk: &mut Clerk<'_>,
        trace: Option<&Arc<Trace>>,
        work: &(dyn Fn(&Seat<'_>) + Sync),
    ) -> Result<Served> {
        let (send, told) = sync_channel(AHEAD * self.units.len());
        let seats: Vec<_> = (self.units.iter().enumerate())
            .map(|(number, &unit)| Seat {
                number,
                unit,
                master: &self.master,
                clerk: send.clone(),
                trace: trace.cloned(),
            })
            .collect();
        drop(send);
        std::thread::scope(|scope| {
            let workers = move || {
                let each = |worker: &Worker<'_>| {
                    seats[worker.index].keep(work);
                    Ok(())
                };
                self.pool.run(each)
            };
            let named = std::thread::Builder::new().name("farm".into());
            let workers = named
                .spawn_scoped(scope, workers)
                .map_err(|error| no_thread("starting a farm", &error))?;
            // Whatever ends the clerk, a panic of the sink too, sends the units home.
            let _stop = Stop(&self.master);
            let served = clerk.serve(told);
            drop(_stop);
            match workers.join() {
                Ok(Ok(())) => served,
                Ok(Err(WorkerPanic { message, .. })) => Err(bug(&message)),
                Err(panic) => Err(bug(panic_text(panic.as_ref()))),
            }
        })
    }
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
