//! Every tunable of a wavefront run. Changes time, never results.

use serde::{Deserialize, Serialize};

use warpweft_core::error::{Error, Result};

pub use super::cuda::tiles::{Method, TilePolicy};

/// How a wavefront runs on one kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "executor", rename_all = "lowercase")]
pub enum Policy {
    /// On the cores.
    Cpu(CpuPolicy),
    /// On one NVIDIA GPU.
    Cuda(CudaPolicy),
    /// On one NVIDIA GPU, by tiles.
    Tiles(TilePolicy),
    /// On one NVIDIA GPU, sums by scans.
    Scan(ScanPolicy),
}

impl Policy {
    /// As a report has it.
    pub(super) fn told(self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// The shape of the scan kernel: a warp owns rows, a lane 16 bytes of cells of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ScanPolicy {
    /// Rows a warp owns, 1 to 16.
    pub rows: u32,
    /// Warps of a block, 1 to 32.
    pub warps: u32,
}

impl ScanPolicy {
    /// A shape for `rows` rows on a device of `sms` SMs: bands wait for one another in turn, so few
    /// and tall ones, but one an SM. An H200 reaches 0.59 of copy speed with `f32` of 16,384 squared
    /// and 0.54 with bytes summed to `i32` of 32,768 squared.
    pub fn for_domain(rows: usize, sms: u32) -> Self {
        let warps = if rows > sms as usize * 64 { 16 } else { 8 };
        Self { rows: 8, warps }
    }

    /// Rows of a block.
    pub(super) fn band_rows(&self) -> usize {
        (self.rows * self.warps) as usize
    }

    /// Threads of a block.
    pub(super) fn threads(&self) -> u32 {
        32 * self.warps
    }

    /// Whether there is a kernel of this shape.
    ///
    /// # Errors
    /// Numbers out of range.
    pub fn check(&self) -> Result<()> {
        if !(1..=16).contains(&self.rows) || !(1..=32).contains(&self.warps) {
            return Err(Error::spec(
                format!("{} warps of {} rows", self.warps, self.rows),
                "take 1 to 32 warps of 1 to 16 rows",
            ));
        }
        Ok(())
    }
}

/// How the cores share the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CpuPolicy {
    /// Worker threads.
    pub threads: usize,
    /// Rows of a tile-row; a thread computes their anti-diagonals.
    pub tile_rows: usize,
    /// Columns between two looks at the neighbours' progress. Of recurrences that go through the whole
    /// matrix, several workers take an eighth of its columns at most; reports have what was taken.
    pub tile_columns: usize,
    /// Cells of 16 bits where the element has a form for it and its scores allow it
    /// ([`WavefrontElement::step`](super::WavefrontElement::step)), in tiles as small as that takes.
    #[serde(default)]
    pub sixteen: bool,
}

impl CpuPolicy {
    /// A shape for `rows` rows on `threads` workers: tile-rows that keep all workers busy most of
    /// the time, and whose fronts stay in the first-level cache.
    pub fn for_domain(rows: usize, threads: usize) -> Self {
        let tile_rows = (rows / (8 * threads.max(1))).clamp(128, 1024);
        Self { threads, tile_rows, tile_columns: 1024, sixteen: true }
    }

    /// The same over so many rows and columns: a tile is no larger than the whole.
    pub(super) fn within(self, [rows, columns]: [usize; 2]) -> Self {
        let tile_rows = self.tile_rows.min(rows).max(1);
        Self { tile_rows, tile_columns: self.tile_columns.min(columns).max(1), ..self }
    }
}

/// The shape of the register-strip kernel: a lane owns a strip of rows in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CudaPolicy {
    /// Rows a lane owns.
    pub rows: u32,
    /// Columns a lane advances between two shuffles: 1, 2, 4 or 8.
    pub columns: u32,
    /// Columns between two looks at the neighbours' progress, a multiple of 4 and of `columns`.
    pub chunk: u32,
    /// Warps of a block that compute.
    pub warps: u32,
    /// Blocks an SM holds.
    pub blocks: u32,
    /// Two cells a register, 16 bits each, where the element has a form for it and its scores allow
    /// it ([`WavefrontElement::step`](super::WavefrontElement::step)). A lane then owns `rows` rows
    /// twice.
    #[serde(default)]
    pub pairs: bool,
}
