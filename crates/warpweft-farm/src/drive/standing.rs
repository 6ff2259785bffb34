//! What a worker and its watcher agree on where tasks have a limit of time. Pure: no lock, no clock, no thread.
//! [`Clocks`](super::clocks::Clocks) keeps one behind a lock for each worker.
//!
//! ```text
//!            begin                  look: limit passed            look: grace passed
//!   idle ------------> runs(task) ---------------------> late ------------------------> given up
//!    ^                   |                                |
//!    |---- end: in time -|                                |
//!    |---- end: late -------------------------------------|
//! ```
//!
//! The worker alone begins, ends and leaves; its watcher alone looks. While a task runs, the results of the tasks before it
//! lie here. So either its end comes first, and the worker has all results; or the look that finds it late does, which takes
//! them and answers for the task. There is no state in which both or neither would hand a task over, and what one of them
//! hands over is disjoint from what the other does, so messages of the two may pass one another.

use std::time::Duration;

/// How long a task may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// Until it has failed, and is told to return.
    pub task: Duration,
    /// After that, until its worker is given up.
    pub grace: Duration,
}

/// A task that runs, and the results of those of its chunk before it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Running<R> {
    /// The first task whose result is not handed over.
    pub first: u64,
    /// When that was begun.
    pub from: Duration,
    /// The task.
    pub task: u64,
    /// When it was begun.
    pub since: Duration,
    /// Of `first..task`.
    pub results: R,
}

/// The state of a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Standing<R> {
    /// It runs no task.
    #[default]
    Idle,
    /// It runs a task within its limit.
    Runs(Running<R>),
    /// It runs a task that has failed, for which it was found late at a time.
    Late {
        /// The task.
        task: u64,
        /// When.
        since: Duration,
    },
    /// It gets nothing any more, since it does not return.
    GivenUp,
    /// It is through.
    Left,
}

/// What a worker finds when its task has returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned<R> {
    /// The task counts; the results of those before it.
    InTime(R),
    /// All up to the task is handed over: the worker goes on behind it.
    Late,
    /// The worker is to leave.
    GivenUp,
}

/// What a watcher finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found<R> {
    /// The task takes too long: the watcher hands over what was before it, and that it failed.
    Late(Running<R>),
    /// This task does not return: the worker is lost.
    GivenUp(u64),
}

impl<R> Standing<R> {
    /// The worker begins a task.
    pub fn begin(&mut self, running: Running<R>) {
        *self = Self::Runs(running);
    }

    /// The worker's task has returned.
    pub fn end(&mut self) -> Returned<R> {
        match std::mem::take(self) {
            Self::Runs(running) => Returned::InTime(running.results),
            Self::Late { .. } => Returned::Late,
            // A task that ends was begun; whatever else there is stays.
            gone => {
                *self = gone;
                Returned::GivenUp
            }
        }
    }

    /// What there is to do about the worker at `now`, once.
    pub fn look(&mut self, limit: Limit, now: Duration) -> Option<Found<R>> {
        match std::mem::take(self) {
            Self::Runs(running) if now.saturating_sub(running.since) > limit.task => {
                *self = Self::Late { task: running.task, since: now };
                Some(Found::Late(running))
            }
            Self::Late { task, since } if now.saturating_sub(since) > limit.grace => {
                *self = Self::GivenUp;
                Some(Found::GivenUp(task))
            }
            same => {
                *self = same;
                None
            }
        }
    }

    /// The worker is through.
    pub fn leave(&mut self) {
        *self = Self::Left;
    }

    /// Whether nothing comes of the worker any more.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::GivenUp | Self::Left)
    }
}
