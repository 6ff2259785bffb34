//! How a master replies to requests: ledger, schedule and workers together, without a lock or a clock.
//!
//! One dispatcher serves threads behind the lock of [`Master`](crate::schedule::master::Master), and simulations.

use std::ops::Range;

use super::scheduler::{Request, Scheduler};
use crate::schedule::ledger::Ledger;
use crate::schedule::ranges::Ranges;
use crate::spec::worker::{Grain, Worker, WorkerState};
use warpweft_core::error::{Error, Result};

/// The reply to a request for work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Run these tasks.
    Chunk(Range<u64>),
    /// No chunk now: repeat the request once a chunk was handed over or a worker was lost.
    Wait,
    /// No more chunks for this worker.
    End,
}

/// The state of a farm.
pub struct Dispatcher {
    ledger: Ledger,
    scheduler: Box<dyn Scheduler>,
    workers: Vec<WorkerState>,
    /// No more chunks are given.
    stopped: bool,
    /// Workers that wait since the last change of the ledger.
    waiting: Vec<bool>,
    /// What a schedule of the user's did wrong.
    fault: Option<Error>,
    /// Number of changes after which a reply may differ.
    changes: u64,
}

impl Dispatcher {
    /// `tasks` tasks for `workers`.
    pub fn new(tasks: u64, workers: &[Worker], scheduler: Box<dyn Scheduler>) -> Self {
        Self::resumed(tasks, Ranges::default(), workers, scheduler)
    }

    /// The same, of which some were `done` before.
    pub fn resumed(
        tasks: u64,
        done: Ranges,
        workers: &[Worker],
        scheduler: Box<dyn Scheduler>,
    ) -> Self {
        Self {
            ledger: Ledger::new(tasks, workers.len(), done),
            scheduler,
            workers: workers.iter().copied().map(WorkerState::new).collect(),
            stopped: false,
            waiting: vec![false; workers.len()],
            fault: None,
            changes: 0,
        }
    }

    /// Counts the changes after which a waiting worker may get another reply: it repeats its request once this differs.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The state of all tasks.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What a schedule did wrong, once.
    pub fn fault(&mut self) -> Option<Error> {
        self.fault.take()
    }

    /// `worker`, which likes chunks of `grain` and whose last one, if it ran any, had so many tasks and took so
    /// many seconds, requests work.
    pub fn request(&mut self, worker: usize, grain: Grain, took: Option<(u64, f64)>) -> Reply {
        let Some(state) = self.workers.get_mut(worker) else { return Reply::End };
        state.grain = grain;
        if let Some((tasks, seconds)) = took {
            state.took(tasks, seconds);
        }
        self.waiting[worker] = false;
        let out = self.ledger.out();
        let free = self.ledger.free();
        if self.stopped || state.lost || free.count() + out == 0 {
            return Reply::End;
        }
        let chunk = match free.count() {
            0 => None,
            _ => self.scheduler.next(&Request { worker, workers: &self.workers, free, out }),
        };
        match chunk {
            Some(range) => match self.ledger.give(worker, range.clone()) {
                Ok(()) => Reply::Chunk(range),
                Err(error) => self.stop_for(error),
            },
            None => {
                self.waiting[worker] = true;
                let all = self
                    .workers
                    .iter()
                    .zip(&self.waiting)
                    .all(|(worker, waits)| worker.lost || *waits);
                match out == 0 && all {
                    true => self.stop_for(Error::spec(
                        format!(
                            "a schedule lets all workers wait, with {} tasks free",
                            free.count()
                        ),
                        "give a chunk to one of them",
                    )),
                    false => Reply::Wait,
                }
            }
        }
    }

    fn stop_for(&mut self, error: Error) -> Reply {
        self.fault.get_or_insert(error);
        self.stop();
        Reply::End
    }

    /// Whether all of `range` is still out to `worker`.
    pub fn has(&self, worker: usize, range: &Range<u64>) -> bool {
        self.ledger.has(worker, range)
    }

    /// `worker` hands over `range`, of which the tasks `failed`, in order, have no output.
    ///
    /// # Errors
    /// Some of it is not out to that worker.
    pub fn settle(
        &mut self,
        worker: usize,
        range: Range<u64>,
        failed: impl Iterator<Item = u64>,
    ) -> Result<()> {
        let mut from = range.start;
        for task in failed {
            self.ledger.fail(worker, task)?;
            if from < task {
                self.ledger.commit(worker, from..task)?;
            }
            from = task + 1;
        }
        if from < range.end {
            self.ledger.commit(worker, from..range.end)?;
        }
        self.change();
        Ok(())
    }

    /// `worker` is gone: what is out to it is free again.
    pub fn lose(&mut self, worker: usize) {
        self.ledger.lose(worker);
        if let Some(state) = self.workers.get_mut(worker) {
            state.lost = true;
        }
        self.change();
    }

    /// No more chunks are given.
    pub fn stop(&mut self) {
        self.stopped = true;
        self.changes += 1;
    }

    fn change(&mut self) {
        self.waiting.fill(false);
        self.changes += 1;
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
