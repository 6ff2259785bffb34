//! Up from depth 1 until it gets worse for good.

use crate::drive::depth::search::{DepthSearch, SWAPS, Timed, Trial};

/// Depths in a row that must be worse than the best before the search ends.
const PATIENCE: usize = 3;

/// Deepens step by step "until performance degrades for several consecutive points" (PARTANS §6.5).
#[derive(Clone, Debug)]
pub struct HillClimbing {
    deepest: usize,
    timed: Timed,
}

impl HillClimbing {
    /// Searches `1..=deepest`.
    pub fn new(deepest: usize) -> Self {
        Self { deepest: deepest.max(1), timed: Timed::default() }
    }
}

impl DepthSearch for HillClimbing {
    fn next(&mut self) -> Option<Trial> {
        let depth = self.timed.0.len() + 1;
        let falling = depth > self.best() + PATIENCE;
        (depth <= self.deepest && !falling).then_some(Trial { depth, swaps: SWAPS })
    }

    fn record(&mut self, seconds: f64) {
        self.timed.0.push((self.timed.0.len() + 1, seconds));
    }

    fn best(&self) -> usize {
        self.timed.best().map_or(1, |(depth, _)| depth)
    }
}
