//! Where the blocks' time went: the paper's corner and intermediate idle times.

use serde::Serialize;

/// Mean seconds a block, of the time from the first block's begin to the last one's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct IdleTime {
    /// From the first block's begin to the last one's end.
    pub total: f64,
    /// Waiting where fewer tile-rows are at work than there are blocks, begin and end of the run
    /// included.
    pub corner: f64,
    /// Waiting elsewhere.
    pub intermediate: f64,
}

impl IdleTime {
    /// From what `idle.cuh` leaves per block, nanoseconds: begin, end, waits at the corners, waits
    /// between.
    pub(super) fn of(blocks: &[[u64; 4]]) -> Self {
        let begin = blocks.iter().map(|block| block[0]).min().unwrap_or(0);
        let end = blocks.iter().map(|block| block[1]).max().unwrap_or(0);
        let mean = |of: fn(&[u64; 4], u64, u64) -> u64| {
            let sum: u64 = blocks.iter().map(|block| of(block, begin, end)).sum();
            sum as f64 / blocks.len().max(1) as f64 / 1e9
        };
        Self {
            total: end.saturating_sub(begin) as f64 / 1e9,
            corner: mean(|block, begin, end| {
                block[2] + block[0].saturating_sub(begin) + end.saturating_sub(block[1])
            }),
            intermediate: mean(|block, _, _| block[3]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_begins_late_or_ends_early_idles_at_a_corner() {
        let idle = IdleTime::of(&[[1_000, 9_000, 100, 30], [2_000, 5_000, 0, 10]]);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(idle.total, 8e-6) && near(idle.corner, (100.0 + 1e3 + 4e3) / 2e9));
        assert!(near(idle.intermediate, 2e-8), "{idle:?}");
    }
}
