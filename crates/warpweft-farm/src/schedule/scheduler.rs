//! The interface of schedules: a request for work and the chunk that answers it.

use std::ops::Range;

use super::ranges::Ranges;
use crate::spec::worker::WorkerState;

/// A request for work, with all that a schedule may know.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The requesting worker: an index into `workers`.
    pub worker: usize,
    /// All workers.
    pub workers: &'a [WorkerState],
    /// The tasks that no worker has yet; never none.
    pub free: &'a Ranges,
    /// How many tasks are out to workers.
    pub out: u64,
    /// Seconds since the farm began.
    pub now: f64,
}

impl Request<'_> {
    /// The state of the requesting worker.
    pub fn state(&self) -> &WorkerState {
        &self.workers[self.worker]
    }

    /// Tasks a second of all workers there still are, as far as known.
    pub fn speed_of_all(&self) -> f64 {
        self.workers.iter().filter(|worker| !worker.lost).filter_map(|worker| worker.speed).sum()
    }
}

/// Decides which worker gets which tasks (TuCCompi, section 4.5.1).
pub trait Scheduler: Send {
    /// The chunk for the requesting worker: free tasks, at least one. `None`: it waits until a chunk was handed
    /// over or a worker was lost, or for as long as [`Scheduler::patience`] says.
    fn next(&mut self, request: &Request<'_>) -> Option<Range<u64>>;

    /// Called when the speed, the chunk size (`grain`) or the loss of `worker` has changed.
    fn learn(&mut self, worker: usize, state: &WorkerState) {
        let _ = (worker, state);
    }

    /// Seconds after which a worker that was told to wait repeats its request. `None`: all waiting workers also repeat
    /// their requests after every chunk that is delivered, which costs one request per waiting worker.
    fn patience(&self, request: &Request<'_>) -> Option<f64> {
        let _ = request;
        None
    }

    /// Whether idle workers may run the last tasks of slower ones once more: the first result counts.
    fn backups(&self) -> bool {
        false
    }
}
