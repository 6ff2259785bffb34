//! Every depth in order.

use crate::drive::depth::search::{DepthSearch, SWAPS, Timed, Trial};

/// Times every depth from 1 on; finds the best for certain, noise aside, at the price of O(deepest²)
/// steps.
#[derive(Clone, Debug)]
pub struct Exhaustive {
    deepest: usize,
    timed: Timed,
}

impl Exhaustive {
    /// Searches `1..=deepest`.
    pub fn new(deepest: usize) -> Self {
        Self { deepest: deepest.max(1), timed: Timed::default() }
    }
}

impl DepthSearch for Exhaustive {
    fn next(&mut self) -> Option<Trial> {
        let depth = self.timed.0.len() + 1;
        (depth <= self.deepest).then_some(Trial { depth, swaps: SWAPS })
    }

    fn record(&mut self, seconds: f64) {
        self.timed.0.push((self.timed.0.len() + 1, seconds));
    }

    fn best(&self) -> usize {
        self.timed.best().map_or(1, |(depth, _)| depth)
    }
}
