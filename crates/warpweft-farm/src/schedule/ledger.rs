//! Which worker has which task: free ⊎ out ⊎ committed ⊎ failed = all tasks, after every step.
//!
//! Pure: no lock, no clock, no worker's code. What would break the sum is an error that names task and worker,
//! so a result that comes late from a worker thought lost can't be committed: its range is no longer out to it.

use std::ops::Range;

use crate::schedule::ranges::Ranges;
use warpweft_core::error::{Error, Result};

/// The state of every task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    tasks: u64,
    free: Ranges,
    /// By worker.
    out: Vec<Ranges>,
    committed: Ranges,
    failed: Ranges,
}

impl Ledger {
    /// `tasks` tasks for so many workers, all free but for those `done` before, which are committed.
    pub fn new(tasks: u64, workers: usize, done: Ranges) -> Self {
        let mut free = Ranges::of(0..tasks);
        for range in done.iter() {
            free.remove(range);
        }
        Self {
            tasks,
            free,
            out: vec![Ranges::default(); workers],
            committed: done,
            failed: Ranges::default(),
        }
    }

    /// Those that no worker has or had.
    pub fn free(&self) -> &Ranges {
        &self.free
    }

    /// How many are out to workers.
    pub fn out(&self) -> u64 {
        self.out.iter().map(Ranges::count).sum()
    }

    /// Those whose outputs were handed over.
    #[cfg(all(test, not(loom)))]
    pub fn committed(&self) -> &Ranges {
        &self.committed
    }

    /// Those that failed.
    #[cfg(all(test, not(loom)))]
    pub fn failed(&self) -> &Ranges {
        &self.failed
    }

    /// Whether every task is committed or has failed.
    pub fn is_settled(&self) -> bool {
        self.committed.count() + self.failed.count() == self.tasks
    }

    /// Whether all of `range` is out to `worker`.
    pub fn has(&self, worker: usize, range: &Range<u64>) -> bool {
        self.out.get(worker).is_some_and(|out| out.holds(range))
    }

    /// free → out to `worker`.
    ///
    /// # Errors
    /// Not all of `range` is free, it is empty, or there is no such worker.
    pub fn give(&mut self, worker: usize, range: Range<u64>) -> Result<()> {
        match self.out.get_mut(worker) {
            Some(out) if self.free.remove(range.clone()) => {
                out.insert(range);
                Ok(())
            }
            _ => Err(self.refuse("can't be given to", worker, &range, "are not all free")),
        }
    }

    /// out to `worker` → committed.
    ///
    /// # Errors
    /// Not all of `range` is out to it.
    pub fn commit(&mut self, worker: usize, range: Range<u64>) -> Result<()> {
        self.take(worker, range.clone())?;
        self.committed.insert(range);
        Ok(())
    }

    /// out to `worker` → failed.
    ///
    /// # Errors
    /// `task` is not out to it.
    pub fn fail(&mut self, worker: usize, task: u64) -> Result<()> {
        let range = task..task.saturating_add(1);
        self.take(worker, range.clone())?;
        self.failed.insert(range);
        Ok(())
    }

    /// All that is out to `worker` → free.
    pub fn lose(&mut self, worker: usize) {
        if let Some(out) = self.out.get_mut(worker) {
            for range in std::mem::take(out).iter() {
                self.free.insert(range);
            }
        }
    }

    fn take(&mut self, worker: usize, range: Range<u64>) -> Result<()> {
        match self.out.get_mut(worker).is_some_and(|out| out.remove(range.clone())) {
            true => Ok(()),
            false => {
                Err(self.refuse("can't be handed over by", worker, &range, "are not out to it"))
            }
        }
    }

    fn refuse(&self, what: &str, worker: usize, range: &Range<u64>, why: &str) -> Error {
        Error::spec(
            format!(
                "tasks {}..{} of {} {what} worker {worker}: they {why}",
                range.start, range.end, self.tasks
            ),
            "a schedule gives each task that is free once, and a worker hands over what it was given",
        )
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The sum that never breaks.
    fn whole(ledger: &Ledger) -> bool {
        let mut all = Ranges::default();
        let sets = [&ledger.free, &ledger.committed, &ledger.failed].into_iter().chain(&ledger.out);
        let apart = sets.flat_map(Ranges::iter).all(|range| all.insert(range));
        apart && all == Ranges::of(0..ledger.tasks)
    }

    proptest! {
        /// Steps of every kind, sensible or not: what is refused changes nothing, and what is not moves
        /// exactly what it says.
        #[test]
        fn every_task_is_in_one_place_after_any_steps(
            tasks in 1u64..30,
            steps in prop::collection::vec((0u8..4, 0usize..4, 0u64..32, 0u64..8), 0..80),
        ) {
            let mut ledger = Ledger::new(tasks, 3, Ranges::default());
            for (step, worker, start, length) in steps {
                let before = ledger.clone();
                let range = start..start + length;
                let out = ledger.has(worker, &range);
                let outcome = match step {
                    0 => ledger.give(worker, range.clone()),
                    1 => ledger.commit(worker, range.clone()),
                    2 => ledger.fail(worker, start),
                    _ => { ledger.lose(worker); Ok(()) }
                };
                prop_assert!(whole(&ledger));
                match outcome {
                    Err(error) => {
                        prop_assert_eq!(&ledger, &before);
                        let named = error.to_string().contains(&format!("worker {worker}"));
                        prop_assert!(named);
                    }
                    Ok(()) => match step {
                        0 => prop_assert!(before.free.holds(&range) && ledger.has(worker, &range)),
                        1 => prop_assert!(out && ledger.committed.holds(&range)),
                        2 => prop_assert!(before.has(worker, &(start..start + 1))),
                        _ => prop_assert_eq!(ledger.out.get(worker).map_or(0, Ranges::count), 0),
                    },
                }
            }
        }
    }

    #[test]
    fn a_late_result_of_a_lost_unit_is_refused_by_name() {
        let mut ledger = Ledger::new(10, 2, Ranges::default());
        ledger.give(0, 2..5).unwrap();
        ledger.lose(0);
        ledger.give(1, 2..4).unwrap();
        let refusal = ledger.commit(0, 2..5).unwrap_err().to_string();
        assert!(
            refusal.starts_with("tasks 2..5 of 10 can't be handed over by worker 0"),
            "{refusal}"
        );
        ledger.commit(1, 2..4).unwrap();
        assert_eq!((ledger.committed().count(), ledger.free().count()), (2, 8));
    }
}
