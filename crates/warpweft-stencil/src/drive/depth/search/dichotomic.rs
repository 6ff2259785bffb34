//! Five depths over the range, then five over the best part of it, and so on.

use crate::drive::depth::search::{DepthSearch, SWAPS, Timed, Trial};

/// Samples "the average time per iteration at five regularly spaced halo sizes", and recurses
/// "within the best interval" (PARTANS §6.5): the one whose two ends are fastest together.
#[derive(Clone, Debug)]
pub struct Dichotomic {
    low: usize,
    high: usize,
    timed: Timed,
}

impl Dichotomic {
    /// Searches `1..=deepest`.
    pub fn new(deepest: usize) -> Self {
        Self { low: 1, high: deepest.max(1), timed: Timed::default() }
    }

    /// The regularly spaced depths of the present interval, each once.
    fn grid(&self) -> Vec<usize> {
        let mut grid: Vec<usize> =
            (0..5).map(|i| self.low + (self.high - self.low) * i / 4).collect();
        grid.dedup();
        grid
    }
}

impl DepthSearch for Dichotomic {
    fn next(&mut self) -> Option<Trial> {
        loop {
            let grid = self.grid();
            let untimed = grid.iter().find(|&&depth| self.timed.seconds(depth).is_none());
            if let Some(&depth) = untimed {
                return Some(Trial { depth, swaps: SWAPS });
            }
            let sum = |ends: &[usize]| -> f64 {
                ends.iter().filter_map(|&depth| self.timed.seconds(depth)).sum()
            };
            let best = grid.windows(2).min_by(|a, b| sum(a).total_cmp(&sum(b)))?;
            let (low, high) = (best[0], best[1]);
            if high - low <= 1 {
                return None;
            }
            (self.low, self.high) = (low, high);
        }
    }

    fn record(&mut self, seconds: f64) {
        if let Some(trial) = self.next() {
            self.timed.0.push((trial.depth, seconds));
        }
    }

    fn best(&self) -> usize {
        self.timed.best().map_or(1, |(depth, _)| depth)
    }
}
