//! How deep the next swap is: fixed, or found by a search while the run goes on.

use std::time::Instant;

use super::search::DepthSearch;
use crate::cluster::{Transport, broadcast};
use crate::error::Result;

/// The depths of one rank's swaps. Rank 0 searches and times; the others follow.
pub(super) struct Pace<'a> {
    search: Option<Box<dyn DepthSearch + 'a>>,
    /// Whether the depth may still change.
    open: bool,
    depth: usize,
    swaps_left: usize,
    /// When the present trial began, and with how many steps done.
    begun: Option<(Instant, u64)>,
}

impl<'a> Pace<'a> {
    /// Always `depth`.
    pub(super) fn fixed(depth: usize) -> Self {
        Self { search: None, open: false, depth, swaps_left: 0, begun: None }
    }

    /// What `search` says; all ranks must come here, and only rank 0's search is asked.
    pub(super) fn searching(search: Box<dyn DepthSearch + 'a>) -> Self {
        Self { search: Some(search), open: true, depth: 1, swaps_left: 0, begun: None }
    }

    /// The depth of the next swap, after `done` steps. Ranks talk only between two trials.
    ///
    /// # Errors
    /// As [`Transport::receive`].
    pub(super) fn next(&mut self, net: &dyn Transport, done: u64) -> Result<usize> {
        if self.open && self.swaps_left == 0 {
            let mut order = Vec::new();
            if let (0, Some(search)) = (net.rank(), &mut self.search) {
                if let Some((begun, at)) = self.begun
                    && done > at
                {
                    search.record(begun.elapsed().as_secs_f64() / (done - at) as f64);
                }
                let (depth, swaps) = match search.next() {
                    Some(trial) => (trial.depth, trial.swaps),
                    None => (search.best(), 0),
                };
                order = [depth as u64, swaps as u64].map(u64::to_le_bytes).concat();
            }
            let order = broadcast(net, order)?;
            let number = |at: usize| {
                let bytes = order.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
                bytes.map_or(0, u64::from_le_bytes) as usize
            };
            (self.depth, self.swaps_left) = (number(0).max(1), number(8));
            self.open = self.swaps_left > 0;
            self.begun = Some((Instant::now(), done));
        }
        self.swaps_left = self.swaps_left.saturating_sub(1);
        Ok(self.depth)
    }

    /// The depth of the swap after this, if that is known already.
    pub(super) fn following(&self) -> Option<usize> {
        (!self.open || self.swaps_left > 0).then_some(self.depth)
    }

    /// The present depth.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }
}
