//! What a schedule is asked, and what it answers.

use std::ops::Range;

use super::ranges::Ranges;
use crate::spec::worker::WorkerState;

/// A worker that asks for work, and all that a schedule may know.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Who asks, a number below that of `workers`.
    pub worker: usize,
    /// All workers.
    pub workers: &'a [WorkerState],
    /// The tasks that nobody has yet; never none.
    pub free: &'a Ranges,
    /// How many tasks are out to workers.
    pub out: u64,
}

impl Request<'_> {
    /// What is known of who asks.
    pub fn state(&self) -> &WorkerState {
        &self.workers[self.worker]
    }

    /// Tasks a second of all workers there still are, as far as known.
    pub fn speed_of_all(&self) -> f64 {
        self.workers.iter().filter(|worker| !worker.lost).filter_map(|worker| worker.speed).sum()
    }
}

/// What decides who gets which tasks (TuCCompi, section 4.5.1).
pub trait Scheduler: Send {
    /// The chunk for who asks: free tasks, at least one. `None`: it is to wait until a chunk was handed
    /// over or a worker was lost.
    fn next(&mut self, request: &Request<'_>) -> Option<Range<u64>>;
}
