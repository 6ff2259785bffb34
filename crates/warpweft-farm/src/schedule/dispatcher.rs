//! How a master replies to requests: ledger, schedule and workers together, without a lock or a clock.
//!
//! One dispatcher serves threads behind the lock of [`Master`](crate::schedule::master::Master), and simulations. A
//! request or a result costs O(log n) for n workers and chunks, however many of them wait.

use std::ops::Range;

use super::backups::{Backup, Backups};
use super::scheduler::{Request, Scheduler};
use crate::schedule::ledger::{Again, Ledger};
use crate::schedule::ranges::Ranges;
use crate::spec::worker::{Grain, Worker, WorkerState};
use warpweft_core::error::{Error, Result};

/// The reply to a request for work.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Run these tasks.
    Chunk(Range<u64>),
    /// No chunk now: repeat the request at this time, or once the [generation](Dispatcher::generation) is another.
    Wait(f64),
    /// No more chunks for this worker.
    End,
}

/// The state of a farm.
pub struct Dispatcher {
    ledger: Ledger,
    scheduler: Box<dyn Scheduler>,
    workers: Vec<WorkerState>,
    backups: Backups,
    /// No copies are made.
    limited: bool,
    /// No more chunks are given.
    stopped: bool,
    /// Tasks may be added.
    open: bool,
    /// Counts the changes after which waiting workers may get another reply.
    generation: u64,
    /// By worker: the generation in which it was told to wait.
    waits: Vec<Option<u64>>,
    /// Workers that wait in this generation.
    waiting: usize,
    /// Workers that are not lost.
    living: usize,
    /// All workers were told to wait, and to ask once more, since the last chunk was given.
    asked_again: bool,
    /// Waiting workers repeat their requests after each result.
    impatient: bool,
    /// What a schedule of the user's did wrong.
    fault: Option<Error>,
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
            backups: Backups::default(),
            limited: false,
            stopped: false,
            open: false,
            generation: 0,
            waits: vec![None; workers.len()],
            waiting: 0,
            living: workers.len(),
            asked_again: false,
            impatient: false,
            fault: None,
        }
    }

    /// The same, where tasks have a limit of time: no task is out to two workers, so one that hangs holds one. The limit
    /// itself ends what copies are made against.
    pub fn limited(self) -> Self {
        Self { limited: true, ..self }
    }

    /// The same state with another `scheduler`, for models.
    #[cfg(all(test, not(loom)))]
    pub fn model(&self, scheduler: Box<dyn Scheduler>) -> Self {
        Self {
            ledger: self.ledger.clone(),
            scheduler,
            workers: self.workers.clone(),
            backups: Backups::default(),
            waits: self.waits.clone(),
            fault: None,
            ..*self
        }
    }

    /// Waiting workers repeat their requests once this differs.
    pub fn generation(&self) -> u64 {
        self.generation
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
    /// many seconds, requests work at the time `now`, in seconds.
    pub fn request(
        &mut self,
        worker: usize,
        grain: Grain,
        took: Option<(u64, f64)>,
        now: f64,
    ) -> Reply {
        let Some(state) = self.workers.get_mut(worker) else { return Reply::End };
        if took.is_some() || state.grain != grain {
            state.grain = grain;
            if let Some((tasks, seconds)) = took {
                state.took(tasks, seconds);
            }
            self.scheduler.learn(worker, &self.workers[worker]);
        }
        if self.waits[worker].take() == Some(self.generation) {
            self.waiting -= 1;
        }
        let (out, free) = (self.ledger.out(), self.ledger.free());
        let done = free.count() + out == 0 && !self.open;
        if self.stopped || self.workers[worker].lost || done {
            return Reply::End;
        }
        if free.count() == 0 {
            return self.backup(worker, now);
        }
        let request = Request { worker, workers: &self.workers, free, out, now };
        match self.scheduler.next(&request) {
            Some(range) => self.give(worker, range, now),
            None => {
                let patience = self.scheduler.patience(&request);
                self.impatient |= patience.is_none();
                self.wait(worker, now + patience.unwrap_or(f64::INFINITY))
            }
        }
    }

    fn give(&mut self, worker: usize, range: Range<u64>, now: f64) -> Reply {
        if let Err(error) = self.ledger.give(worker, range.clone()) {
            return self.stop_for(error);
        }
        self.asked_again = false;
        self.backups.given(worker, range.clone(), self.workers[worker].speed, now);
        Reply::Chunk(range)
    }

    /// All tasks are given: one of another's that `worker` would be through with sooner, if there is one.
    fn backup(&mut self, worker: usize, now: f64) -> Reply {
        if self.limited || !self.scheduler.backups() {
            return self.wait(worker, f64::INFINITY);
        }
        loop {
            match self.backups.next(worker, &self.workers[worker], now) {
                Backup::Wait(until) => return self.wait(worker, until),
                Backup::Copy(owner, range) => {
                    // Of what was opened again by a loss some may be committed, or be this worker's already.
                    let wanted = self.ledger.wanted(owner, &range).pop();
                    let range = wanted.clone().unwrap_or(range);
                    self.backups.copied(owner, &range);
                    if wanted.is_some() && self.ledger.copy(worker, range.clone()).is_ok() {
                        return Reply::Chunk(range);
                    }
                }
            }
        }
    }

    fn wait(&mut self, worker: usize, until: f64) -> Reply {
        self.waits[worker] = Some(self.generation);
        self.waiting += 1;
        if self.ledger.out() > 0 || self.waiting < self.living || self.open {
            return Reply::Wait(until);
        }
        if !self.asked_again {
            // Speeds may have changed since others were told to wait.
            self.asked_again = true;
            self.renew();
            return Reply::Wait(until);
        }
        self.stop_for(Error::spec(
            format!(
                "the scheduler makes all workers wait, although {} tasks have not been given out",
                self.ledger.free().count()
            ),
            "give a chunk to one of them",
        ))
    }

    fn stop_for(&mut self, error: Error) -> Reply {
        self.fault.get_or_insert(error);
        self.stop();
        Reply::End
    }

    /// The parts of `range` that are out to `worker` and that no other handed over before.
    pub fn wanted(&self, worker: usize, range: &Range<u64>) -> Vec<Range<u64>> {
        self.ledger.wanted(worker, range)
    }

    /// `worker` hands over `range`, of which the tasks `failed`, in order, have no output. How many of them are settled:
    /// not those that another worker handed over before, nor those that are run again.
    ///
    /// # Errors
    /// Some of it is not out to that worker.
    pub fn settle(
        &mut self,
        worker: usize,
        range: Range<u64>,
        failed: impl Iterator<Item = (u64, Again)>,
    ) -> Result<u64> {
        let free = self.ledger.free().count();
        let settled = self.ledger.settle(worker, range.clone(), failed)?;
        self.backups.settled(worker, &range);
        let more = self.ledger.free().count() > free;
        if more || self.impatient || self.ledger.free().count() + self.ledger.out() == 0 {
            self.renew();
        }
        Ok(settled)
    }

    /// `worker` is gone: what is out to it alone is free again.
    pub fn lose(&mut self, worker: usize) {
        let Some(state) = self.workers.get_mut(worker).filter(|state| !state.lost) else { return };
        state.lost = true;
        self.living -= 1;
        let state = *state;
        self.scheduler.learn(worker, &state);
        let kept = self.ledger.lose(worker);
        self.backups.lost(worker, &kept);
        self.renew();
    }

    /// Whether every task is committed or has failed, and none is added.
    pub fn is_settled(&self) -> bool {
        self.ledger.is_settled() && !self.open
    }

    /// Says whether tasks may be added, for which workers wait.
    pub fn open(&mut self, open: bool) {
        self.open = open;
        self.renew();
    }

    /// Adds so many tasks.
    pub fn add(&mut self, tasks: u64) {
        self.ledger.add(tasks);
        self.renew();
    }

    /// No more chunks are given.
    pub fn stop(&mut self) {
        self.stopped = true;
        self.renew();
    }

    /// All waiting workers ask again.
    fn renew(&mut self) {
        self.waiting = 0;
        self.generation += 1;
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
