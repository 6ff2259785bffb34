//! Whom a unit deals with: the master that gives packs and the clerk that takes outputs.
//!
//! Those of its own process, here; or of another rank, in `ranks`.

use std::ops::Range;
use std::sync::mpsc::SyncSender;

use super::master::Master;
use super::pack::Collected;
use super::unit::Grain;
use warpweft_core::error::Error;

/// What a clerk is told.
pub enum Message {
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
    /// Another rank was asked to end.
    Interrupted,
    /// The other ranks are gone, for this reason.
    Broken(Error),
}

/// One unit's way to master and clerk.
pub trait Desk: Send + Sync {
    /// The next pack, waited for if need be; `None` when there is nothing more for the unit. It likes packs of
    /// `grain`; its last one, if it ran any, had so many tasks and took so many seconds.
    fn ask(&self, unit: usize, grain: Grain, took: Option<(u64, f64)>) -> Option<Range<u64>>;

    /// Tells what became of tasks or of the unit; waits while too much of that is on its way. Whether anybody was
    /// left to be told: nobody is once the farm is over.
    fn tell(&self, message: Message) -> bool;
}

/// Of a unit beside its master and its clerk.
pub struct Beside<'a> {
    /// Who gives packs.
    pub master: &'a Master,
    /// Who takes outputs.
    pub clerk: SyncSender<Message>,
}

impl Desk for Beside<'_> {
    fn ask(&self, unit: usize, grain: Grain, took: Option<(u64, f64)>) -> Option<Range<u64>> {
        self.master.ask(unit, grain, took)
    }

    fn tell(&self, message: Message) -> bool {
        self.clerk.send(message).is_ok()
    }
}
