//! Running a farm. Not: what it runs on (`local`).

use std::any::type_name;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

#[cfg(doc)]
use crate::drive::AHEAD;
use crate::drive::Run;
use crate::drive::committer::unread;
use crate::drive::context::WorkerContext;
use crate::drive::local_workers::LocalWorkers;
use crate::journal::{Opened, Work, open};
use crate::policy::Policy;
use crate::ranks;
use crate::ranks::coordinator::Coordinator;
use crate::report::{Ended, Outcome};
use crate::schedule::master::Master;
use crate::spec::Farm;
use crate::spec::attempt;
use crate::spec::caught::caught;
use crate::spec::chunk::{Settled, Sink, Skip};
use crate::spec::identity::identity;
use crate::spec::inputs::Inputs;
use crate::spec::task::Task;
use warpweft_core::cluster::agree_on;
use warpweft_core::element::Packed;
use warpweft_core::error::{Error, Result};
use warpweft_core::machine::Machine;
use warpweft_core::memory::room;
use warpweft_core::report::Report;
use warpweft_core::run::{Target, own_part};

/// Takes the packed outputs of tasks next to one another.
pub type PackedSink<'a> = dyn FnMut(Range<u64>, &[u8]) -> Result<()> + 'a;

impl<T: Task> Farm<T> {
    /// Runs all tasks on all cores, and on all GPUs if the task has GPU code; output `k` belongs to input `k`.
    ///
    /// # Errors
    /// [`Error::Task`] for a task that failed; too little memory for the outputs; all workers lost.
    pub fn run<'i>(
        &self,
        inputs: impl Into<Inputs<'i, T::Input>>,
        machine: &Machine,
    ) -> Result<(Vec<T::Output>, Report)> {
        let (outputs, outcome) = self.run_with(inputs, machine, &Run::default())?;
        match outcome.failed.first() {
            // All outputs are there.
            None => Ok((outputs.into_iter().flatten().collect(), outcome.report)),
            Some(failed) => Err(failed.error()),
        }
    }

    /// Runs all tasks as `run` says; output `k` belongs to input `k`. It is `None` if the task failed and failures are skipped
    /// ([`Farm::on_failure`]), or if the run was interrupted or reached its deadline before the task began. Such a run
    /// ends after the tasks that run (a [`ChunkExecutor`](super::ChunkExecutor) finishes its chunk, by default about a
    /// quarter of a second); its report says so.
    ///
    /// ```
    /// use std::time::{Duration, Instant};
    /// use warpweft::farm::{Run, on_cores};
    /// use warpweft::prelude::*;
    /// use warpweft::run::Target;
    ///
    /// # fn main() -> warpweft::Result<()> {
    /// let farm = Farm::of(on_cores(|k: u64| Ok(k * k)));
    /// let deadline = Some(Instant::now() + Duration::from_secs(60));
    /// let run = Run { target: Target::Cpu, threads: Some(1), deadline, ..Run::default() };
    /// let (squares, outcome) = farm.run_with(0..4u64, &Machine::detect()?, &run)?;
    /// assert_eq!(squares, [Some(0), Some(1), Some(4), Some(9)]);
    /// assert!(!outcome.report.interrupted);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Farm::run_into`]; too little memory for the outputs.
    pub fn run_with<'i>(
        &self,
        inputs: impl Into<Inputs<'i, T::Input>>,
        machine: &Machine,
        run: &Run<'_>,
    ) -> Result<(Vec<Option<T::Output>>, Outcome)> {
        let inputs = inputs.into();
        let count = usize::try_from(inputs.count()).unwrap_or(usize::MAX);
        let hint = "take fewer tasks, or take their outputs one by one with `run_into`";
        let mut outputs: Vec<Option<T::Output>> = room(count, hint)?;
        outputs.resize_with(count, || None);
        let mut sink = |k: u64, output| {
            outputs[k as usize] = Some(output);
            Ok(())
        };
        let outcome = self.run_into(inputs, machine, run, &mut sink)?;
        Ok((outputs, outcome))
    }

    /// Runs all tasks as `run` says, and passes the number and the output of each completed task to `sink`: every task
    /// once, in any order; first those of a journal that is resumed. `sink` runs on this thread. While it runs, each worker
    /// may complete [`AHEAD`] more chunks and compute another one. A chunk is cut short when its outputs exceed 8 MiB (for a
    /// [`ChunkExecutor`](super::ChunkExecutor), when they are expected to, from the sizes of its last outputs). So the outputs
    /// of a worker take at most six times 8 MiB plus one output, if outputs have similar sizes and its executor does not
    /// hand over memory of its own ([`ChunkOutputs::hand_over`](super::ChunkOutputs::hand_over)).
    ///
    /// With several ranks ([`Run::net`]), all of them call this with the same tasks, inputs and policy. Only the sink and
    /// the journal of rank 0 are used. Outputs of other ranks may wait both on their own rank and on rank 0, so twice as many can
    /// wait in all. Every rank returns the outcome of the whole farm. If one rank is interrupted, the farm ends on all ranks.
    ///
    /// # Errors
    /// As [`Farm::run`], and those of the sink and of [`Policy::check`]; a rank that differs in tasks, inputs or policy, or was
    /// lost; GPUs requested for a task without GPU code, or where there is no GPU; a user's scheduler that gives out tasks
    /// that are not free; a journal that can't be used or belongs to another run. Outputs that were completed before the
    /// error have been passed to the sink and are in the journal.
    pub fn run_into<'i>(
        &self,
        inputs: impl Into<Inputs<'i, T::Input>>,
        machine: &Machine,
        run: &Run<'_>,
        sink: &mut dyn FnMut(u64, T::Output) -> Result<()>,
    ) -> Result<Outcome> {
        let mut taken = |range: Range<u64>, settled: Settled<'_>| match settled {
            Settled::Outputs(outputs) => unpacked::<T::Output>(range, outputs, sink),
            Settled::Failed(_) | Settled::End => Ok(()),
        };
        let inputs = inputs.into();
        self.drive((&inputs, inputs.count()), machine, run, &mut taken, None)
    }

    /// Like [`Farm::run_into`], but `sink` gets the outputs as bytes, packed by [`Packed`]: each call gets the outputs of a
    /// range of consecutive tasks, in order. The outputs are not copied, so use this for outputs of many megabytes each.
    /// `sink` still runs on one thread, and can divide the bytes among others.
    ///
    /// ```
    /// use warpweft::farm::{Packed, Run, on_cores};
    /// use warpweft::prelude::*;
    ///
    /// # fn main() -> warpweft::Result<()> {
    /// let rows = Farm::of(on_cores(|k: u64| Ok([k, k * k])));
    /// let mut sum = 0;
    /// rows.run_packed(0..4u64, &Machine::detect()?, &Run::default(), &mut |tasks, mut bytes| {
    ///     for _ in tasks {
    ///         sum += <[u64; 2]>::unpack(&mut bytes).map_or(0, |[_, square]| square);
    ///     }
    ///     Ok(())
    /// })?;
    /// assert_eq!(sum, 14);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Farm::run_into`].
    pub fn run_packed<'i>(
        &self,
        inputs: impl Into<Inputs<'i, T::Input>>,
        machine: &Machine,
        run: &Run<'_>,
        sink: &mut PackedSink<'_>,
    ) -> Result<Outcome> {
        let mut taken = |range: Range<u64>, settled: Settled<'_>| match settled {
            Settled::Outputs(outputs) => sink(range, outputs),
            Settled::Failed(_) | Settled::End => Ok(()),
        };
        let inputs = inputs.into();
        self.drive((&inputs, inputs.count()), machine, run, &mut taken, None)
    }

    /// The same, of so many tasks, whatever the number of inputs, and `sink` takes failures, too. If tasks may be added
    /// while the farm runs, on this rank alone, `open` is given what adds them.
    pub(crate) fn drive(
        &self,
        (inputs, tasks): (&Inputs<'_, T::Input>, u64),
        machine: &Machine,
        run: &Run<'_>,
        sink: &mut Sink<'_>,
        open: Option<&mut dyn FnMut(Arc<Master>)>,
    ) -> Result<Outcome> {
        let (begin, policy) = (Instant::now(), run.policy.unwrap_or_default());
        policy.check()?;
        let on_gpu = self.task.on_gpu().is_some();
        let work = |context: &WorkerContext<'_>| context.work(&self.task, inputs);
        let on_failure = (self.on_failure, self.retries);
        // An open farm gets its tasks later, and their inputs are gone once they have run.
        // An input made by a function is not made again for its description: making it may be what hangs.
        let (described, most) =
            open.as_ref().map_or((inputs.are_known(), tasks), |_| (false, u64::MAX));
        let words = |k: u64| attempt::described(|| self.task.describe(&inputs.at(k)));
        let describe = |k: u64| if described { words(k) } else { None };
        let finish = &mut |ended, stuck| finished(run, &policy, ended, stuck);
        match run.others() {
            None => {
                let kept = kept(&self.task, (inputs, tasks), run, sink)?;
                let local = LocalWorkers::new(on_gpu, most, machine, run)?;
                let table = &local.table;
                let coordinator = Coordinator::new(tasks, kept, &local, table, on_failure, run);
                open.into_iter().for_each(|open| coordinator.open(open));
                let taken = (sink, skipped::<T::Output> as Skip, &describe as &_);
                coordinator.run(begin, run, taken, &work, finish)
            }
            Some(net) => {
                ranks::checked_silence(run.settings.silence)?;
                net.tolerate_losses();
                let (form, about) = (T::Output::form(), (type_name::<T>(), self.on_failure));
                let rules = (policy, &run.settings);
                ranks::agreed(net, (tasks, identity(&self.task, inputs)), about, form, rules)?;
                let mine = own_part(net, machine, if on_gpu { run.target } else { Target::Cpu })?;
                let (local, table) =
                    ranks::gather(net, LocalWorkers::new(on_gpu, tasks, &mine, run))?;
                if net.rank() > 0 {
                    agree_on(net, Ok(Vec::new()))?;
                    ranks::follow(net, &local, run, &work, finish)
                } else {
                    let kept = match table.workers.is_empty() {
                        true => Err(no_gpus()),
                        false => kept(&self.task, (inputs, tasks), run, sink),
                    };
                    let (kept, fine) = match kept {
                        Ok(kept) => (kept, Ok(Vec::new())),
                        Err(error) => (None, Err(error)),
                    };
                    agree_on(net, fine)?;
                    let coordinator =
                        Coordinator::new(tasks, kept, &local, &table, on_failure, run);
                    let taken = (sink, skipped::<T::Output> as Skip, &describe as &_);
                    coordinator.run(begin, run, taken, &work, finish)
                }
            }
        }
    }
}

/// The outcome of a farm that has `ended`; whether it is `stuck` in tasks that do not return.
fn finished(run: &Run<'_>, policy: &Policy, ended: Result<Ended>, stuck: bool) -> Result<Outcome> {
    if let Some(net) = run.others().filter(|net| net.rank() == 0) {
        ranks::close(net, &ended);
    }
    let outcome = ended.map(|ended| ended.outcome(policy));
    if let Some(notify) = run.settings.stuck.filter(|_| stuck) {
        notify(&outcome);
    }
    outcome
}

/// What an earlier run left in the journal, if there is to be one.
fn kept<T: Task>(
    task: &T,
    (inputs, tasks): (&Inputs<'_, T::Input>, u64),
    run: &Run<'_>,
    sink: &mut Sink<'_>,
) -> Result<Option<Opened>> {
    let Some(journal) = run.checkpoint else { return Ok(None) };
    let work = Work { tasks, inputs: identity(task, inputs), form: T::Output::form() };
    open(journal, work, sink).map(Some)
}

/// Gives each output of a piece to `sink`.
pub fn unpacked<O: Packed>(
    range: Range<u64>,
    mut outputs: &[u8],
    sink: &mut dyn FnMut(u64, O) -> Result<()>,
) -> Result<()> {
    for task in range.clone() {
        let output = read::<O>(&mut outputs).ok_or_else(|| unlike::<O>(task))?;
        sink(task, output)?;
    }
    match outputs.is_empty() {
        true => Ok(()),
        false => Err(unread(&range)),
    }
}

/// The bytes of the first `count` outputs, the last of which is of the task before `end`.
fn skipped<O: Packed>(outputs: &[u8], count: u64, end: u64) -> Result<usize> {
    let mut left = outputs;
    for k in 0..count {
        read::<O>(&mut left).ok_or_else(|| unlike::<O>(end - count + k))?;
    }
    Ok(outputs.len() - left.len())
}

/// The next output, if the user's code reads one and does not panic.
fn read<O: Packed>(from: &mut &[u8]) -> Option<O> {
    caught(|| Ok(O::unpack(from))).ok().flatten()
}

/// A type that does not read what it wrote.
fn unlike<O: Packed>(task: u64) -> Error {
    Error::spec(
        format!("the output of task {task} can't be read back as {}", O::form()),
        "make `Packed::unpack` take exactly the bytes that `pack` appends",
    )
}

/// Ranks on GPUs of which none has any.
fn no_gpus() -> Error {
    Error::spec("the farm is to run on GPUs, but no rank has a GPU", "run it on the cores")
}
