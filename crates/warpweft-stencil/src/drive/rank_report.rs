//! What one rank did, in numbers. Not: the report of a run, which `ranks` puts together of these.

use serde::{Deserialize, Serialize};

use crate::exchange::Routes;

/// What one rank did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankReport {
    /// Steps done.
    pub steps: u64,
    /// Steps between the last two halo exchanges, ignoring intervals that were cut short, e.g. by a checkpoint.
    pub depth: usize,
    /// Swaps taken part in.
    pub swaps: u64,
    /// Messages sent.
    pub messages: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Swaps during which steps were computed.
    pub ahead: u64,
    /// Seconds from the first step to the last, all ranks having begun.
    pub seconds: f64,
    /// Whether the run was asked to stop before it was through.
    pub interrupted: bool,
    /// Whether it ended before it was through for parts of other sizes.
    #[serde(skip)] // such runs are one process
    pub resized: bool,
    /// Seconds spent waiting for messages, and in residuals.
    pub waiting: f64,
    /// The part of that in residuals: adding up what all ranks' cells changed.
    pub reducing: f64,
    /// Passes of cells over memory.
    pub passes: u64,
    /// The step from which on a kernel of several steps took them, where one came while the run went on.
    pub fused_from: Option<u64>,
    /// The last residual, for runs that check one.
    #[serde(skip)] // the same on all ranks, and JSON knows no infinities
    pub residual: Option<f64>,
    /// The last step whose state was saved.
    pub saved: Option<u64>,
    /// States that were due and not saved, because the one before was still being written.
    pub left_out: u64,
    /// How halos travelled to the neighbours.
    pub routes: Routes,
}

impl RankReport {
    /// Counts what was done before, of the same run.
    pub(crate) fn add(&mut self, before: &Self) {
        self.seconds += before.seconds;
        self.swaps += before.swaps;
        self.messages += before.messages;
        self.bytes += before.bytes;
        self.waiting += before.waiting;
        self.reducing += before.reducing;
        self.passes += before.passes;
        self.left_out += before.left_out;
        self.saved = self.saved.or(before.saved);
    }
}
