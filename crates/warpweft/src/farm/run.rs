//! Running a farm: the one place where devices are chosen. Farms run on the cores of one process so far.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::sync_channel;
use std::time::Instant;

use super::clerk::{Clerk, Served, Sink};
use super::desk::Desk;
use super::inputs::Inputs;
use super::journal::{Journal, Opened, Writer, open};
use super::master::Master;
use super::node::Seat;
use super::policy::Policy;
use super::ranges::Ranges;
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
    /// Where outputs are kept, to go on from after a failure.
    pub journal: Option<&'a Journal>,
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
    /// once, in no order, those of a journal that is resumed first. `sink` runs on this thread; while it
    /// does, units go on for four packs each, and one that they run. That bounds outputs in memory by packs, not by bytes:
    /// where outputs are large and `sink` is slow, set [`Policy::pack`] or [`Grain::most`](super::Grain) small.
    ///
    /// # Errors
    /// As [`Farm::run`], and the sink's; [`Policy::check`]'s; a schedule of the user's that gives what it can't; a
    /// journal that can't be used or is another run's. The sink has then had what was done before.
    pub fn run_into<'i>(
        &self,
        inputs: impl Into<Inputs<'i, T::Input>>,
        machine: &Machine,
        run: &Run<'_>,
        sink: &mut dyn FnMut(u64, T::Output) -> Result<()>,
    ) -> Result<Outcome> {
        let begin = Instant::now();
        let inputs = inputs.into();
        let tasks = inputs.count();
        let mut unpack =
            |range: Range<u64>, outputs: &[u8]| unpacked::<T::Output>(range, outputs, sink);
        run.policy.check()?;
        let kept = match run.journal {
            Some(journal) => Some(open(journal, tasks, T::Output::form(), &mut unpack)?),
            None => None,
        };
        let crew = Crew::new(tasks, kept, machine, run)?;
        crew.run(begin, run, &mut unpack, &|seat| seat.work(&self.task, &inputs))
    }
}

/// Gives each output of a piece to `sink`.
fn unpacked<O: Packed>(
    range: Range<u64>,
    mut outputs: &[u8],
    sink: &mut dyn FnMut(u64, O) -> Result<()>,
) -> Result<()> {
    for task in range.clone() {
        let output = O::unpack(&mut outputs).ok_or_else(|| unlike::<O>(task))?;
        sink(task, output)?;
    }
    match outputs.is_empty() {
        true => Ok(()),
        false => Err(unlike::<O>(range.end - 1)),
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
    /// Tasks that an earlier run did.
    first: u64,
    journal: Option<Writer>,
    device: String,
    notes: Vec<String>,
}

impl Crew {
    fn new(tasks: u64, kept: Option<Opened>, machine: &Machine, run: &Run<'_>) -> Result<Self> {
        let threads = run.threads.unwrap_or_else(|| machine.cpu.threads());
        let pool = Pool::over(&machine.cpu.cores, threads)?;
        let units: Vec<_> = Unit::cores(0, threads).collect();
        let scheduler = run.scheduler.map_or_else(|| schedule::of(&run.policy), |own| own());
        let (done, journal, notes) = match kept {
            Some(Opened { done, writer, notes }) => (done, Some(writer), notes),
            None => (Ranges::default(), None, Vec::new()),
        };
        let first = done.count();
        let master = Master::new(Desk::resumed(tasks, done, &units, scheduler));
        let device = machine.cpu.label(threads);
        Ok(Self { pool, units, master, tasks, first, journal, device, notes })
    }

    /// Has every unit do its `work`, and hands over what comes of it.
    fn run(
        mut self,
        begin: Instant,
        run: &Run<'_>,
        sink: &mut Sink<'_>,
        work: &(dyn Fn(&Seat<'_>) + Sync),
    ) -> Result<Outcome> {
        let shares: Vec<_> = self.units.iter().copied().map(Share::new).collect();
        let (tasks, first) = (self.tasks, self.first);
        let mut journal = self.journal.take();
        let told_of = run.progress.map(|progress| move |through| progress(first + through, tasks));
        let mut clerk = Clerk {
            master: &self.master,
            journal: journal.as_mut(),
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
            done: first + served.committed,
            first,
            interrupted,
            residual: None,
            probes: Vec::new(),
            notes: self.notes.iter().cloned().chain(lost).collect(),
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
            let stop = Stop(&self.master);
            let served = clerk.serve(told);
            drop(stop);
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
