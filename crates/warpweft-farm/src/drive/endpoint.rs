//! Whom a worker deals with: the master that gives chunks and the committer that takes outputs.
//!
//! Those of its own process, here; or of another rank, in `ranks`.

use std::ops::Range;
use std::sync::mpsc::SyncSender;

use crate::schedule::master::Master;
use crate::spec::chunk::Collected;
use crate::spec::worker::Grain;
use warpweft_core::error::Error;

/// What a committer is told.
pub enum Message {
    /// These tasks were run, in so many seconds.
    Done {
        /// Who ran them.
        worker: usize,
        /// Which.
        range: Range<u64>,
        /// What came of them.
        collected: Collected,
        /// How long they took.
        seconds: f64,
    },
    /// The worker is gone, for this reason.
    Lost {
        /// Which.
        worker: usize,
        /// Why.
        why: Error,
    },
    /// Another rank was asked to end.
    Interrupted,
    /// The other ranks are gone, for this reason.
    Broken(Error),
}

/// One worker's way to master and committer.
pub trait Endpoint: Send + Sync {
    /// The next chunk, waited for if need be; `None` when there is nothing more for the worker. It likes chunks of
    /// `grain`; its last one, if it ran any, had so many tasks and took so many seconds.
    fn request(&self, worker: usize, grain: Grain, took: Option<(u64, f64)>) -> Option<Range<u64>>;

    /// Tells what became of tasks or of the worker; waits while too much of that is on its way. Whether anybody was
    /// left to be told: nobody is once the farm is over.
    fn tell(&self, message: Message) -> bool;
}

/// Of a worker beside its master and its committer.
pub struct LocalEndpoint<'a> {
    /// Who gives chunks.
    pub master: &'a Master,
    /// Who takes outputs.
    pub committer: SyncSender<Message>,
}

impl Endpoint for LocalEndpoint<'_> {
    fn request(&self, worker: usize, grain: Grain, took: Option<(u64, f64)>) -> Option<Range<u64>> {
        self.master.request(worker, grain, took)
    }

    fn tell(&self, message: Message) -> bool {
        self.committer.send(message).is_ok()
    }
}
