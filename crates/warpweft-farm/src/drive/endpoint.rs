//! How a worker reaches the master, which gives chunks, and the committer, which takes outputs.
//!
//! Those of its own process, here; or of another rank, in `ranks`.

use std::ops::Range;
use std::sync::mpsc::SyncSender;

use crate::schedule::master::Master;
use crate::spec::chunk::Collected;
use crate::spec::worker::Grain;
use warpweft_core::error::Error;

/// What a committer receives.
pub enum Message {
    /// These tasks were run, in so many seconds.
    Done {
        /// The worker that ran them.
        worker: usize,
        /// Which.
        range: Range<u64>,
        /// Their results.
        collected: Collected,
        /// How long they took.
        seconds: f64,
        /// Whether the last of them took longer than it may, and still runs.
        late: bool,
    },
    /// The worker is gone, for this reason.
    Lost {
        /// Which.
        worker: usize,
        /// Why.
        why: Error,
    },
    /// The worker does not return from a task that took longer than it may.
    Stuck {
        /// Which.
        worker: usize,
        /// The task.
        task: u64,
    },
    /// The worker is through: nothing more comes of it.
    Left {
        /// Which.
        worker: usize,
    },
    /// Another rank was interrupted.
    Interrupted,
    /// The other ranks are gone, for this reason.
    Broken(Error),
}

/// One worker's way to master and committer.
pub trait Endpoint: Send + Sync {
    /// The next chunk, waited for if need be; `None` when there is nothing more for the worker. It likes chunks of
    /// `grain`; its last one, if it ran any, had so many tasks and took so many seconds.
    fn request(&self, worker: usize, grain: Grain, took: Option<(u64, f64)>) -> Option<Range<u64>>;

    /// Sends results of tasks or the loss of the worker; waits while too many are on their way. `false` once the
    /// farm is over.
    fn send(&self, message: Message) -> bool;

    /// Whether no result is wanted any more: the rest of a chunk need not be run.
    fn is_over(&self) -> bool;
}

/// Of a worker in the process of its master and its committer.
pub struct LocalEndpoint<'a> {
    /// Gives chunks.
    pub master: &'a Master,
    /// Takes outputs.
    pub committer: SyncSender<Message>,
}

impl Endpoint for LocalEndpoint<'_> {
    fn request(&self, worker: usize, grain: Grain, took: Option<(u64, f64)>) -> Option<Range<u64>> {
        self.master.request(worker, grain, took)
    }

    fn send(&self, message: Message) -> bool {
        self.committer.send(message).is_ok()
    }

    fn is_over(&self) -> bool {
        self.master.is_over()
    }
}
