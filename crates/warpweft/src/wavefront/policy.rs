//! Every tunable of a wavefront run. Changes time, never results.

use serde::{Deserialize, Serialize};

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
}

/// How the cores share the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CpuPolicy {
    /// Worker threads.
    pub threads: usize,
    /// Rows of a tile-row; a thread computes their anti-diagonals.
    pub tile_rows: usize,
    /// Columns between two looks at the neighbours' progress.
    pub tile_columns: usize,
}

impl CpuPolicy {
    /// A shape for `rows` rows on `threads` workers: tile-rows that keep all workers busy most of
    /// the time, and whose three fronts stay in the first-level cache.
    pub fn for_domain(rows: usize, threads: usize) -> Self {
        let tile_rows = (rows / (8 * threads.max(1))).clamp(128, 1024);
        Self { threads, tile_rows, tile_columns: 1024 }
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
