//! Running a farm: the one place where devices are chosen.

use std::any::type_name;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::clerk::Sink;
use super::head::Head;
use super::inputs::Inputs;
use super::journal::{Journal, Opened, open};
use super::policy::Policy;
use super::ranks::{self, Table};
use super::report::Outcome;
use super::schedule::Scheduler;
use super::slot::Slot;
use super::spec::{Farm, OnFailure};
use super::task::Task;
use super::workers::{Workers, no_gpus};
use warpweft_core::cluster::{Transport, agree_on};
use warpweft_core::element::Packed;
use warpweft_core::error::{Error, Result};
use warpweft_core::machine::Machine;
use warpweft_core::memory::room;
use warpweft_core::report::Report;
use warpweft_core::trace::Trace;

/// Where to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// All GPUs of the machine, if the task has a form for them, and the cores.
    #[default]
    Auto,
    /// The cores.
    Cpu,
    /// All GPUs of the machine: leave those out of [`Machine::gpus`] that are not to be used.
    Gpus,
}

/// How to run, where the defaults will not do.
#[derive(Clone, Default)]
pub struct Run<'a> {
    /// Where.
    pub target: Target,
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
    /// The other ranks, all of which run the same farm: [`Farm::run_into`] says how.
    pub net: Option<&'a dyn Transport>,
}

impl Run<'_> {
    /// Packs of outputs that wait for the sink at most, times the units; each unit runs one more, and the sink
    /// takes one.
    pub const AHEAD: usize = 4;

    /// The way to other ranks, if there are any.
    pub(super) fn others(&self) -> Option<&dyn Transport> {
        self.net.filter(|net| net.ranks() > 1)
    }
}

impl<T: Task> Farm<T> {
    /// Does all tasks, on all GPUs that it has a form for and all cores; output `k` belongs to input `k`.
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
        let hint = "take fewer tasks, or take their outputs one by one with `run_into`";
        let mut outputs: Vec<Option<T::Output>> = room(count, hint)?;
        outputs.resize_with(count, || None);
        let mut sink = |k: u64, output| {
            outputs[k as usize] = Some(output);
            Ok(())
        };
        let outcome = self.run_into(inputs, machine, &Run::default(), &mut sink)?;
        // A run that neither failed nor was interrupted has all of them.
        let mut all = room(count, hint)?;
        all.extend(outputs.into_iter().flatten());
        Ok((all, outcome.report))
    }

    /// Does all tasks as `run` says, and gives `sink` the number and output of each as it is done: every task
    /// once, in no order, those of a journal that is resumed first. `sink` runs on this thread; while it
    /// does, units go on for [`Run::AHEAD`] packs each, and one that they run. Packs end early where their outputs are
    /// more than 8 MiB; those of a [`PackExecutor`](super::PackExecutor) by what its last outputs had. So of each unit
    /// memory holds six times 8 MiB and one output at most, where outputs are alike.
    ///
    /// Over ranks ([`Run::net`]) all of them call this alike, with the same tasks, inputs and policy. Rank 0 alone has
    /// the sink and the journal; the other ranks' are not looked at. Their outputs wait there as they do here, twice
    /// as many in all. Every rank returns what became of the farm as a whole. A rank that is asked to end
    /// ends it for all.
    ///
    /// # Errors
    /// As [`Farm::run`], and the sink's; a rank that differs or is gone, with the journal as it was by then;
    /// [`Policy::check`]'s; GPUs for a task that has no form for them, or where
    /// there are none; a schedule of the user's that gives what it can't; a
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
        let on_gpu = self.task.on_gpu().is_some();
        let work = |slot: &Slot<'_>| slot.work(&self.task, &inputs);
        let ended = match run.others() {
            None => {
                let kept = kept::<T>(run, tasks, &mut unpack)?;
                let workers = Workers::new(on_gpu, machine, run)?;
                let head = Head::new(tasks, kept, &workers, &workers.table, run);
                head.run(begin, run, &mut unpack, &work)?
            }
            Some(net) => {
                ranks::agreed(net, tasks, type_name::<T>(), T::Output::form(), run)?;
                let (workers, table) = Table::of_all(net, Workers::new(on_gpu, machine, run))?;
                if net.rank() > 0 {
                    agree_on(net, Ok(Vec::new()))?;
                    ranks::follow(net, &workers, run, &work)?
                } else {
                    let kept = match table.units.is_empty() {
                        true => Err(no_gpus()),
                        false => kept::<T>(run, tasks, &mut unpack),
                    };
                    let (kept, fine) = match kept {
                        Ok(kept) => (kept, Ok(Vec::new())),
                        Err(error) => (None, Err(error)),
                    };
                    agree_on(net, fine)?;
                    let head = Head::new(tasks, kept, &workers, &table, run);
                    let ended = head.run(begin, run, &mut unpack, &work);
                    ranks::close(net, &ended);
                    ended?
                }
            }
        };
        Ok(ended.outcome(&run.policy))
    }
}

/// What an earlier run left in the journal, if there is to be one.
fn kept<T: Task>(run: &Run<'_>, tasks: u64, sink: &mut Sink<'_>) -> Result<Option<Opened>> {
    run.journal.map(|journal| open(journal, tasks, T::Output::form(), sink)).transpose()
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
