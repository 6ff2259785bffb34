//! A unit's loop on its thread: ask, run, hand over. Panics end at the task that has them.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use super::cuda::Site;
use super::desk::{Desk, Message};
use super::inputs::Inputs;
use super::pack::{Collected, PIECE, Pack, Results};
use super::task::{PackExecutor, Task};
use super::unit::{Grain, Unit};
use warpweft_core::cpu::panic_text;
use warpweft_core::error::{Error, Result};
use warpweft_core::trace::Trace;

/// A unit's place in a farm.
pub struct Slot<'a> {
    /// Its number.
    pub number: usize,
    /// What it is.
    pub unit: Unit,
    /// Whom it asks and tells.
    pub desk: Box<dyn Desk + 'a>,
    /// Where it records what it did when.
    pub trace: Option<Arc<Trace>>,
    /// Where its lane is, if it is one.
    pub site: Option<Site>,
    /// When the first unit was ready to work.
    pub begun: &'a OnceLock<Instant>,
}

impl Slot<'_> {
    /// Does its `work`; a unit that panics is lost.
    pub fn keep(&self, work: &(dyn Fn(&Slot<'_>) + Sync)) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(self))) {
            let what = format!("a panic outside of all tasks: {}", panic_text(panic.as_ref()));
            let hint =
                "mend `on_core_packs`, `on_gpu` or `grain` if it is theirs, or else report this";
            let why = lost(self.unit, "running a farm".into(), what, hint);
            self.desk.tell(Message::Lost { unit: self.number, why });
        }
    }

    /// What runs packs of `task` on this unit, if they are not run one by one.
    fn executor<'t, T: Task>(&self, task: &'t T) -> Result<Option<Box<dyn PackExecutor<T> + 't>>> {
        match (&self.site, task.on_gpu()) {
            (None, _) => Ok(task.on_core_packs()),
            (Some(site), Some(form)) => site.open().and_then(|lane| form.open(lane)).map(Some),
            // Lanes are made for tasks that have a form for them.
            (Some(_), None) => Err(no_form()),
        }
    }

    /// Runs packs of `task` until there are no more, or nobody takes what came of them.
    pub fn work<T: Task>(&self, task: &T, inputs: &Inputs<'_, T::Input>) {
        let mut executor = match self.executor(task) {
            Ok(executor) => executor,
            Err(why) => {
                self.desk.tell(Message::Lost { unit: self.number, why });
                return;
            }
        };
        let grain = executor.as_ref().map_or(Grain::ANY, |executor| executor.grain());
        let mut results = Results::default();
        let (mut took, mut output) = (None, 0);
        self.begun.get_or_init(Instant::now);
        while let Some(pack) = self.desk.ask(self.number, grain, took) {
            let (mut left, mut busy) = (pack.clone(), 0.0);
            // Outputs of many bytes are handed over before their pack ends.
            while !left.is_empty() {
                let from = Instant::now();
                let outcome = match &mut executor {
                    None => one_by_one(task, inputs, &left, &mut results),
                    Some(executor) => {
                        left.end = pack.end.min(left.start.saturating_add(part(grain, output)));
                        together(self.unit, &mut **executor, inputs, &left, &mut results)
                    }
                };
                let seconds = from.elapsed().as_secs_f64();
                busy += seconds;
                let through = outcome.as_ref().map_or(left.end, |c| left.start + c.tasks);
                let range = left.start..through;
                if let Some(trace) = &self.trace {
                    let what = format!("tasks {}..{}", range.start, range.end);
                    trace.add(self.unit.to_string(), what, from);
                }
                left = range.end..pack.end;
                let lost = outcome.is_err();
                let message = match outcome {
                    Ok(collected) => {
                        output = collected.bytes.len() as u64 / collected.tasks.max(1);
                        Message::Done { unit: self.number, range, collected, seconds }
                    }
                    Err(why) => Message::Lost { unit: self.number, why },
                };
                if !self.desk.tell(message) || lost {
                    return;
                }
            }
            took = Some((pack.end - pack.start, busy));
        }
    }
}

/// What `take` makes of a task's output. Whatever of the user's code panics is a failure with the panic's text: the
/// task, its output's bytes, its error's words.
pub fn attempt<T: Task, R>(
    task: &T,
    inputs: &Inputs<'_, T::Input>,
    k: u64,
    take: impl FnOnce(T::Output) -> R,
) -> Result<R, String> {
    caught(|| task.on_core(inputs.at(k)).map(take).map_err(|why| why.to_string()))
}

/// What a task comes to; a panic is a failure.
pub fn caught<R>(attempt: impl FnOnce() -> Result<R, String>) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(attempt))
        .unwrap_or_else(|panic| Err(format!("it panicked: {}", panic_text(panic.as_ref()))))
}

/// Tasks, in packs of `grain`, whose outputs of so many bytes are a piece.
fn part(grain: Grain, output: u64) -> u64 {
    let of = grain.of.max(1);
    (PIECE as u64 / output.max(1) / of).max(1).saturating_mul(of)
}

/// The first of the tasks of `range`, until their outputs are a piece.
fn one_by_one<T: Task>(
    task: &T,
    inputs: &Inputs<'_, T::Input>,
    range: &Range<u64>,
    results: &mut Results,
) -> Result<Collected> {
    let mut through = 0;
    for (k, number) in range.clone().enumerate() {
        let before = results.mark();
        let pack = |output| Pack::<T>::new(results).done(k, &output);
        if let Err(why) = attempt(task, inputs, number, pack) {
            results.cut(before);
            results.fail(k, why);
        }
        through = k + 1;
        if results.mark().0 >= PIECE {
            break;
        }
    }
    results.take(through)
}

fn together<T: Task>(
    unit: Unit,
    executor: &mut (dyn PackExecutor<T> + '_),
    inputs: &Inputs<'_, T::Input>,
    range: &Range<u64>,
    results: &mut Results,
) -> Result<Collected> {
    let run = || {
        let inputs: Vec<_> = range.clone().map(|k| inputs.at(k)).collect();
        executor.run(&inputs, &mut Pack::new(results))?;
        results.take(inputs.len())
    };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let stage = format!("running tasks {}..{}", range.start, range.end);
        let what = format!("its executor panicked: {}", panic_text(panic.as_ref()));
        let hint = "mend the executor; tasks without one are caught one by one";
        Err(lost(unit, stage, what, hint))
    })
}

/// Lanes for a task that runs on none.
pub fn no_form() -> Error {
    Error::spec(
        "a farm on GPUs of a task without a form for them",
        "give it `Task::on_gpu`, or run it on the cores",
    )
}

fn lost(unit: Unit, stage: String, what: String, hint: &str) -> Error {
    Error::Device { stage, device: unit.to_string(), what, hint: hint.into() }
}
