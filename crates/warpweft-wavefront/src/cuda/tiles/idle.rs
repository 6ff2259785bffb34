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
    /// From what `idle.cuh` leaves per block: begin and end in nanoseconds; waits at the corners,
    /// waits between and the time from begin to end in cycles.
    pub(super) fn of(blocks: &[[u64; 5]]) -> Self {
        let begin = blocks.iter().map(|block| block[0]).min().unwrap_or(0);
        let end = blocks.iter().map(|block| block[1]).max().unwrap_or(0);
        let seconds = |block: &[u64; 5], cycles: u64| {
            block[1].saturating_sub(block[0]) as f64 / 1e9 * cycles as f64 / block[4].max(1) as f64
        };
        let mean = |of: &dyn Fn(&[u64; 5]) -> f64| {
            blocks.iter().map(of).sum::<f64>() / blocks.len().max(1) as f64
        };
        Self {
            total: end.saturating_sub(begin) as f64 / 1e9,
            corner: mean(&|block| {
                let outside = block[0].saturating_sub(begin) + end.saturating_sub(block[1]);
                seconds(block, block[2]) + outside as f64 / 1e9
            }),
            intermediate: mean(&|block| seconds(block, block[3])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_begins_late_or_ends_early_idles_at_a_corner() {
        let idle = IdleTime::of(&[[1_000, 9_000, 200, 60, 16_000], [2_000, 5_000, 0, 20, 6_000]]);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(idle.total, 8e-6) && near(idle.corner, (100.0 + 1e3 + 4e3) / 2e9));
        assert!(near(idle.intermediate, 2e-8), "{idle:?}");
    }
}
