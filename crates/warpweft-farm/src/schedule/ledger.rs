//! Which worker has which task: free ⊎ pending ⊎ settled = all tasks, after every step.
//!
//! A pending task is out to at least one worker, and to two where an idle one got a backup copy: the first result
//! counts. Pure: no lock, no clock, no worker's code. What would break the sum is an error that names task and worker,
//! so a result that comes late from a worker thought lost can't be committed: its range is no longer out to it.

use std::ops::Range;

use crate::schedule::ranges::Ranges;
use warpweft_core::error::{Error, Result};

/// Whether a task that failed is to be run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// It is free again.
    Yes,
    /// It has failed for good.
    No,
}

/// The state of every task. A step costs O(log r) for r ranges, but for losses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ledger {
    tasks: u64,
    free: Ranges,
    /// Out to some worker, and not handed over by any.
    pending: Ranges,
    /// By worker: what it has not handed over, though another may have.
    out: Vec<Ranges>,
    /// Pending tasks that were given to a second worker.
    copied: Ranges,
    /// Committed or failed: one set, which stays small where every other task fails.
    settled: Ranges,
    failed: u64,
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
            pending: Ranges::default(),
            out: vec![Ranges::default(); workers],
            copied: Ranges::default(),
            settled: done,
            failed: 0,
        }
    }

    /// So many more, all free.
    pub fn add(&mut self, tasks: u64) {
        let end = self.tasks.saturating_add(tasks);
        self.free.insert(self.tasks..end);
        self.tasks = end;
    }

    /// Those that no worker has or had.
    pub fn free(&self) -> &Ranges {
        &self.free
    }

    /// How many are out to workers, and wanted.
    pub fn out(&self) -> u64 {
        self.pending.count()
    }

    /// How many have outputs that were handed over.
    #[cfg(all(test, not(loom)))]
    pub fn committed(&self) -> u64 {
        self.settled.count() - self.failed
    }

    /// How many failed.
    #[cfg(all(test, not(loom)))]
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// Whether every task is committed or has failed.
    pub fn is_settled(&self) -> bool {
        self.settled.count() == self.tasks
    }

    /// Whether all of `range` is out to `worker`.
    pub fn has(&self, worker: usize, range: &Range<u64>) -> bool {
        self.out.get(worker).is_some_and(|out| out.holds(range))
    }

    /// The parts of `range` that are out to `worker` and that no other worker handed over.
    pub fn wanted(&self, worker: usize, range: &Range<u64>) -> Vec<Range<u64>> {
        match self.has(worker, range) {
            true => self.pending.within(range),
            false => Vec::new(),
        }
    }

    /// free → out to `worker`.
    ///
    /// # Errors
    /// Not all of `range` is free, it is empty, or there is no such worker.
    pub fn give(&mut self, worker: usize, range: Range<u64>) -> Result<()> {
        match self.out.get_mut(worker) {
            Some(out) if self.free.remove(range.clone()) => {
                out.insert(range.clone());
                self.pending.insert(range);
                Ok(())
            }
            _ => Err(self.refuse("can't be given to", worker, &range, "are not all free")),
        }
    }

    /// Out to another worker → out to `worker`, too.
    ///
    /// # Errors
    /// Not all of `range` is pending, or it is out to `worker` already, or there is no such worker.
    pub fn copy(&mut self, worker: usize, range: Range<u64>) -> Result<()> {
        match self.out.get_mut(worker) {
            Some(out) if self.pending.holds(&range) && !out.touches(&range) => {
                out.insert(range.clone());
                self.copied.add(range);
                Ok(())
            }
            _ => Err(self.refuse(
                "can't be copied to",
                worker,
                &range,
                "are not all running on other workers",
            )),
        }
    }

    /// out to `worker` → settled, but for those that another worker handed over before. Tasks that `failed`, in order,
    /// have no output; such as are to be run `again` are free then, or another worker's that has them. How many were
    /// settled.
    ///
    /// # Errors
    /// Not all of `range` is out to it.
    pub fn settle(
        &mut self,
        worker: usize,
        range: Range<u64>,
        failed: impl Iterator<Item = (u64, Again)>,
    ) -> Result<u64> {
        if !self.out.get_mut(worker).is_some_and(|out| out.remove(range.clone())) {
            let why = "were not given to it";
            return Err(self.refuse("can't be handed over by", worker, &range, why));
        }
        let parts = self.pending.take(&range);
        let mut failed = failed.peekable();
        let mut settled = 0;
        for part in parts {
            let mut from = part.start;
            while let Some((task, again)) = failed.next_if(|(task, _)| *task < part.end) {
                // One before the part was handed over by another worker, and stays so.
                if task < part.start {
                    continue;
                }
                match again {
                    Again::No => self.failed += 1,
                    Again::Yes => {
                        settled += task - from;
                        self.settled.insert(from..task);
                        from = task + 1;
                        self.again(task);
                    }
                }
            }
            settled += part.end - from;
            self.settled.insert(from..part.end);
            // Copies are rare.
            if self.copied.count() > 0 {
                for settled in self.settled.within(&part) {
                    self.copied.take(&settled);
                }
            }
        }
        Ok(settled)
    }

    /// A task that is out to nobody but who may have a copy of it is pending there, or else free.
    fn again(&mut self, task: u64) {
        let task = task..task + 1;
        if self.copied.holds(&task) && self.out.iter().any(|out| out.holds(&task)) {
            self.pending.insert(task);
        } else {
            self.copied.take(&task);
            self.free.insert(task);
        }
    }

    /// All that is out to `worker` and to no other → free. What others have of it is theirs alone: those parts, and
    /// who has them.
    pub fn lose(&mut self, worker: usize) -> Vec<(usize, Range<u64>)> {
        let mut kept = Vec::new();
        let Some(out) = self.out.get_mut(worker).map(std::mem::take) else { return kept };
        let parts: Vec<_> = out.iter().flat_map(|range| self.pending.within(&range)).collect();
        for part in parts {
            let mut left = Ranges::of(part.clone());
            for copied in self.copied.within(&part) {
                for (other, out) in self.out.iter().enumerate() {
                    for range in out.within(&copied) {
                        left.take(&range);
                        kept.push((other, range));
                    }
                }
            }
            for range in left.iter() {
                self.pending.remove(range.clone());
                self.copied.take(&range);
                self.free.insert(range);
            }
        }
        kept
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

    /// The sum that never breaks, and who has what is pending.
    fn whole(ledger: &Ledger) -> bool {
        let mut all = Ranges::default();
        let sets = [&ledger.free, &ledger.pending, &ledger.settled];
        let apart = sets.into_iter().flat_map(Ranges::iter).all(|range| all.insert(range));
        let holders = |task: u64| {
            (0..ledger.out.len()).filter(|&worker| ledger.has(worker, &(task..task + 1))).count()
        };
        let pending = |task: u64| ledger.pending.holds(&(task..task + 1));
        let copied = |task: u64| ledger.copied.holds(&(task..task + 1));
        let held = (0..ledger.tasks).all(|task| match (pending(task), copied(task)) {
            (true, false) => holders(task) == 1,
            (true, true) => holders(task) >= 1,
            (false, copied) => !copied,
        });
        apart && held && all == Ranges::of(0..ledger.tasks)
    }

    proptest! {
        /// Steps of every kind, sensible or not: what is refused changes nothing, and what is not moves
        /// exactly what it says.
        #[test]
        fn every_task_is_in_one_place_after_any_steps(
            tasks in 1u64..30,
            steps in prop::collection::vec((0u8..6, 0usize..4, 0u64..32, 0u64..8), 0..80),
        ) {
            let mut ledger = Ledger::new(tasks, 3, Ranges::default());
            for (step, worker, start, length) in steps {
                let before = ledger.clone();
                let range = start..start + length;
                let outcome = match step {
                    0 => ledger.give(worker, range.clone()),
                    1 => ledger.copy(worker, range.clone()),
                    2 => ledger.settle(worker, range.clone(), std::iter::empty()).map(drop),
                    3 | 4 => {
                        let again = [Again::No, Again::Yes][usize::from(step) - 3];
                        let failed = std::iter::once((start, again));
                        ledger.settle(worker, range.clone(), failed).map(drop)
                    }
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
                        1 => prop_assert!(before.pending.holds(&range) && ledger.has(worker, &range)),
                        2..=4 => {
                            prop_assert!(before.has(worker, &range));
                            let moved = before.pending.within(&range).into_iter().flatten().count();
                            let fails = before.pending.holds(&(start..start + 1));
                            let again = u64::from(step == 4 && fails);
                            let left = before.out() + before.free().count();
                            let now = ledger.out() + ledger.free().count();
                            prop_assert_eq!(left - now, moved as u64 - again);
                            let failed = u64::from(step == 3 && fails);
                            prop_assert_eq!(ledger.failed - before.failed, failed);
                        }
                        _ => prop_assert_eq!(ledger.out.get(worker).map_or(0, Ranges::count), 0),
                    },
                }
            }
        }
    }

    #[test]
    fn a_late_result_of_a_lost_worker_is_refused_by_name() {
        let none = std::iter::empty;
        let mut ledger = Ledger::new(10, 2, Ranges::default());
        ledger.give(0, 2..5).unwrap();
        ledger.lose(0);
        ledger.give(1, 2..4).unwrap();
        let refusal = ledger.settle(0, 2..5, none()).unwrap_err().to_string();
        assert!(
            refusal.starts_with("tasks 2..5 of 10 can't be handed over by worker 0"),
            "{refusal}"
        );
        ledger.settle(1, 2..4, none()).unwrap();
        assert_eq!((ledger.committed(), ledger.free().count()), (2, 8));
    }

    /// Of a task that two workers have the first result counts, and what one of them loses is still the other's.
    #[test]
    fn the_first_result_of_a_copied_task_counts() {
        let none = std::iter::empty;
        let mut ledger = Ledger::new(10, 3, Ranges::default());
        ledger.give(0, 0..10).unwrap();
        ledger.copy(1, 5..10).unwrap();
        assert!(ledger.copy(1, 5..10).is_err() && ledger.copy(1, 4..6).is_err());
        assert_eq!(ledger.settle(1, 5..7, none()).unwrap(), 2);
        assert_eq!(ledger.wanted(0, &(0..10)), [0..5, 7..10]);
        assert_eq!(ledger.lose(1), [(0, 7..10)]);
        assert_eq!(ledger.free().count(), 0);
        ledger.copy(2, 9..10).unwrap();
        assert_eq!(ledger.lose(0), [(2, 9..10)]);
        assert_eq!(ledger.free().iter().collect::<Vec<_>>(), [0..5, 7..9]);
        assert_eq!(ledger.settle(2, 9..10, std::iter::once((9, Again::No))).unwrap(), 1);
        assert_eq!((ledger.committed(), ledger.failed(), ledger.out()), (2, 1, 0));
    }
}
