//! The same model for register strips: what a chunk of columns costs, along the critical path.

use crate::policy::CudaPolicy;

/// Seconds a chunk takes: a·chunk + b.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StripModel {
    /// a: a column of a warp's strip.
    pub column: f64,
    /// b: a look at the neighbours.
    pub chunk: f64,
}

impl StripModel {
    /// Chunks one after another on the longest way through `rows` × `columns` cells on `blocks`
    /// blocks: a warp begins when the one above is a chunk and its lanes' lag ahead, and a block's
    /// next tile-row when its last is done.
    pub fn critical_chunks(
        policy: &CudaPolicy,
        rows: usize,
        columns: usize,
        blocks: usize,
    ) -> usize {
        let (lag, chunk) = (policy.lag() as usize, policy.chunk as usize);
        let warp = lag.div_ceil(chunk) + 1;
        let chunks = (columns + lag).div_ceil(chunk);
        let strips = rows.div_ceil(policy.tile_rows());
        let warps = policy.warps as usize;
        let last = strips.max(1) - 1;
        let blocks = blocks.max(1);
        let tail = (warps - 1) * warp + chunks;
        if blocks * warps * warp >= chunks {
            return last * warps * warp + tail;
        }
        last % blocks * warps * warp + last / blocks * chunks + tail
    }

    /// Seconds of a run.
    pub fn seconds(&self, policy: &CudaPolicy, rows: usize, columns: usize, blocks: usize) -> f64 {
        let chunks = Self::critical_chunks(policy, rows, columns, blocks);
        chunks as f64 * (self.column * f64::from(policy.chunk) + self.chunk)
    }

    /// From two measured times per critical chunk, at two chunk lengths.
    pub fn of(short: (u32, f64), long: (u32, f64)) -> Option<Self> {
        let columns = f64::from(long.0) - f64::from(short.0);
        let column = (long.1 - short.1) / columns;
        let chunk = short.1 - column * f64::from(short.0);
        (columns > 0.0 && column > 0.0).then_some(Self { column, chunk: chunk.max(0.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: CudaPolicy =
        CudaPolicy { rows: 4, columns: 2, chunk: 16, warps: 4, blocks: 1, packed_16x2: false };

    #[test]
    fn one_strip_takes_its_columns_and_its_warps_lag() {
        let chunks = StripModel::critical_chunks(&POLICY, 512, 1600, 132);
        assert_eq!(chunks, 3 * 5 + (1600 + 62usize).div_ceil(16));
    }

    #[test]
    fn two_times_give_both_costs() {
        let truth = StripModel { column: 3e-9, chunk: 2e-8 };
        let at = |chunk: u32| (chunk, truth.column * f64::from(chunk) + truth.chunk);
        let found = StripModel::of(at(16), at(64)).unwrap();
        assert!((found.column / truth.column - 1.0).abs() < 1e-9);
        assert!((found.chunk / truth.chunk - 1.0).abs() < 1e-9);
        assert_eq!(StripModel::of(at(16), at(16)), None);
    }
}
