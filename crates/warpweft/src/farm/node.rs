//! A unit's loop on its thread: ask, run, hand over. Panics end at the task that has them.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use super::inputs::Inputs;
use super::master::Master;
use super::pack::{Collected, Pack, Results};
use super::task::{PackExecutor, Task};
use super::unit::{Grain, Unit};
use crate::cpu::panic_text;
use crate::error::{Error, Result};
use crate::trace::Trace;

/// What a unit tells the clerk.
pub enum Told {
    /// These tasks were run, in so many seconds.
    Done {
        /// Who ran them.
        unit: usize,
        /// Which.
        range: Range<u64>,
        /// What came of them.
        collected: Collected,
        /// How long they took.
        seconds: f64,
    },
    /// The unit is gone, for this reason.
    Lost {
        /// Which.
        unit: usize,
        /// Why.
        why: Error,
    },
}

/// A unit's place in a farm.
pub struct Seat<'a> {
    /// Its number.
    pub number: usize,
    /// What it is.
    pub unit: Unit,
    /// Whom it asks.
    pub master: &'a Master,
    /// Whom it tells.
    pub clerk: SyncSender<Told>,
    /// Where it records what it did when.
    pub trace: Option<Arc<Trace>>,
}

impl Seat<'_> {
    /// Does its `work`; a unit that panics is lost.
    pub fn keep(&self, work: &(dyn Fn(&Seat<'_>) + Sync)) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(self))) {
            let why = lost(self.unit, "starting to run tasks", panic_text(panic.as_ref()));
            // Nobody is left to be told if the farm is over.
            let _ = self.clerk.send(Told::Lost { unit: self.number, why });
        }
    }

    /// Runs packs of `task` until there are no more, or nobody takes what came of them.
    pub fn work<T: Task>(&self, task: &T, inputs: &Inputs<'_, T::Input>) {
        let mut executor = task.on_core_packs();
        let grain = executor.as_ref().map_or(Grain::ANY, |executor| executor.grain());
        let mut results = Results::default();
        let mut took = None;
        while let Some(range) = self.master.ask(self.number, grain, took) {
            let from = Instant::now();
            let outcome = match &mut executor {
                None => one_by_one(task, inputs, &range, &mut results),
                Some(executor) => {
                    together(self.unit, &mut **executor, inputs, &range, &mut results)
                }
            };
            let seconds = from.elapsed().as_secs_f64();
            took = Some((range.end - range.start, seconds));
            if let Some(trace) = &self.trace {
                trace.add(
                    self.unit.to_string(),
                    format!("tasks {}..{}", range.start, range.end),
                    from,
                );
            }
            let lost = outcome.is_err();
            let told = match outcome {
                Ok(collected) => Told::Done { unit: self.number, range, collected, seconds },
                Err(why) => Told::Lost { unit: self.number, why },
            };
            if self.clerk.send(told).is_err() || lost {
                return;
            }
        }
    }
}

/// The output of one task; a panic is a failure with the panic's text.
pub fn attempt<T: Task>(
    task: &T,
    inputs: &Inputs<'_, T::Input>,
    k: u64,
) -> Result<T::Output, String> {
    match catch_unwind(AssertUnwindSafe(|| task.on_core(inputs.at(k)))) {
        Ok(Ok(output)) => Ok(output),
        Ok(Err(why)) => Err(why.to_string()),
        Err(panic) => Err(format!("it panicked: {}", panic_text(panic.as_ref()))),
    }
}

fn one_by_one<T: Task>(
    task: &T,
    inputs: &Inputs<'_, T::Input>,
    range: &Range<u64>,
    results: &mut Results,
) -> Result<Collected> {
    for (k, number) in range.clone().enumerate() {
        match attempt(task, inputs, number) {
            Ok(output) => Pack::<T>::new(results).done(k, &output),
            Err(why) => results.fail(k, why),
        }
    }
    results.take((range.end - range.start) as usize)
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
        Err(lost(unit, &stage, panic_text(panic.as_ref())))
    })
}

fn lost(unit: Unit, stage: &str, panic: &str) -> Error {
    Error::Device {
        stage: stage.into(),
        device: unit.to_string(),
        what: format!("its executor panicked: {panic}"),
        remedy: "mend the executor; tasks without one are caught one by one".into(),
    }
}
