//! Every tunable of a stencil run. Changes time, never results, with one exception:
//! [`CudaPolicy::contraction`] lets a GPU round `a * b + c` once, which changes the last bits of
//! floating-point results. Without it every policy gives the same bits.

use serde::{Deserialize, Serialize};

use super::model::FusedSteps;
use warpweft_core::error::{Error, Result};

/// How a stencil runs on one kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "executor", rename_all = "lowercase")]
pub enum Policy {
    /// On the cores.
    Cpu(CpuPolicy),
    /// On an NVIDIA GPU, or on each of several.
    Cuda(CudaPolicy),
}

impl Policy {
    /// What it is for, in words.
    pub(super) const fn whose(&self) -> &'static str {
        match self {
            Self::Cpu(_) => "the cores",
            Self::Cuda(_) => "one GPU",
        }
    }

    /// The steps that one pass over memory may advance, of a volume of `dims` axes.
    pub(super) fn fused_steps(&self, dims: usize) -> FusedSteps {
        match self {
            // A row is a line: there is nothing to skew.
            Self::Cpu(_) if dims == 1 => FusedSteps::STEP,
            Self::Cpu(policy) => FusedSteps { steps: policy.temporal_depth as u64, whole: false },
            Self::Cuda(policy) => FusedSteps {
                steps: policy.temporal_depth.into(),
                whole: policy.kernel != CudaKernel::Resident,
            },
        }
    }

    /// The steps from one pass over memory to the next: a time block's, or a launch's where cells stay on the chip.
    pub(super) fn steps_per_launch(&self, dims: usize) -> FusedSteps {
        match self {
            Self::Cuda(cuda) if cuda.kernel == CudaKernel::Resident => {
                FusedSteps { steps: CudaPolicy::RESIDENT_STEPS, whole: false }
            }
            _ => self.fused_steps(dims),
        }
    }
}

/// How the cores share and traverse a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CpuPolicy {
    /// Worker threads, at most [`CpuPolicy::MOST_THREADS`].
    pub threads: usize,
    /// Steps a sweep advances while its tiles are in cache, at most [`CpuPolicy::DEEPEST`]; 1 is no
    /// temporal blocking.
    pub temporal_depth: usize,
    /// Rows of a tile, at most [`CpuPolicy::LARGEST`].
    pub tile_rows: usize,
    /// Planes a wave advances, at most [`CpuPolicy::LARGEST`].
    pub slab_planes: usize,
    /// Cells of a tile along the contiguous axis, at most [`CpuPolicy::LARGEST`].
    pub tile_cells: usize,
    /// Planes computed together in registers, an unroll-and-jam factor: 1, 2 or 4.
    #[serde(alias = "jam")]
    pub unroll_and_jam: usize,
}

impl CpuPolicy {
    /// More threads than this are a slip: no host has as many cores.
    pub const MOST_THREADS: usize = 4096;
    /// Deeper blocks gain nothing: memory is then read once in thousands of steps.
    pub const DEEPEST: usize = 4096;
    /// Larger tiles are a slip: no host's memory holds as many cells.
    pub const LARGEST: usize = 1 << 40;

    /// Whether every value is in its range.
    ///
    /// # Errors
    /// Names the value and its range.
    pub fn check(&self) -> Result<()> {
        for (name, value, most) in [
            ("threads", self.threads, Self::MOST_THREADS),
            ("temporal_depth", self.temporal_depth, Self::DEEPEST),
            ("tile_rows", self.tile_rows, Self::LARGEST),
            ("slab_planes", self.slab_planes, Self::LARGEST),
            ("tile_cells", self.tile_cells, Self::LARGEST),
        ] {
            if !(1..=most).contains(&value) {
                return Err(Error::spec(
                    format!("policy has `{name}` {value}"),
                    format!("use 1 to {most}"),
                ));
            }
        }
        if ![1, 2, 4].contains(&self.unroll_and_jam) {
            let what = format!("policy has `unroll_and_jam` {}", self.unroll_and_jam);
            return Err(Error::spec(what, "use 1, 2 or 4"));
        }
        Ok(())
    }
}

/// Which kernel skeleton sweeps, and its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CudaPolicy {
    /// The skeleton.
    pub kernel: CudaKernel,
    /// Cells a thread computes along x (contiguous), y and z.
    pub cells: [u32; 3],
    /// Warps a block.
    pub warps: u32,
    /// Blocks an SM that the register allocation must leave room for.
    pub min_blocks: u32,
    /// Planes that a block streams through before another takes over, or of a resident tile; 0 for other skeletons.
    pub chunk: u32,
    /// Planes requested ahead of use.
    pub prefetch: u32,
    /// Phases of the register queue that a streaming kernel unrolls, each a copy of the element function: more
    /// need fewer moves and more time to compile; 0 for all, and for kernels that do not stream.
    #[serde(default)]
    pub phases: u32,
    /// Steps that one pass over memory advances, or between two posts of resident tiles; above 1 for
    /// [`CudaKernel::Temporal`], [`CudaKernel::Pipeline`] and [`CudaKernel::Resident`] alone.
    pub temporal_depth: u32,
    /// Whether the compiler may contract multiply and add into one rounding. The only tunable that
    /// changes bits: with `false` floating-point results are those of the CPU, with `true` (the
    /// default) they differ by roundings, also from one skeleton to another. Integers
    /// never differ.
    pub contraction: bool,
}

impl CudaPolicy {
    /// Steps of a launch of [`CudaKernel::Resident`] at most, so that a device is not held for long.
    pub const RESIDENT_STEPS: u64 = 1 << 14;
}

/// A skeleton of the stencil kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CudaKernel {
    /// Each thread a block of cells in registers, neighbours through vector loads and L1.
    Direct,
    /// Streaming along the slowest axis, own columns in a register queue, other planes copied ahead into shared
    /// memory by the copy engine.
    Planes,
    /// Several steps fused in one pass, each a stage of a pipeline in registers. For stars of radius one over
    /// one scalar of four or eight bytes, between Dirichlet and periodic faces.
    Pipeline,
    /// Several steps fused in one pass over memory, each a level in registers: any fields, stages and scalars, any
    /// footprint in two dimensions and stars in three, between faces of any kind but functions, without
    /// faults. In two dimensions warps share the steps, so [`CudaPolicy::temporal_depth`] is a multiple of
    /// [`CudaPolicy::warps`]; in three they share the rows.
    Temporal,
    /// As [`CudaKernel::Temporal`] in two dimensions, with several cells in a word computed at once: for one field of `u8`
    /// whose values are proved to stay small, without branches, between faces along x that are periodic or hold one
    /// value. Lanes of 32 or 64 cells have 32 in the bits of a word, for cells that are 0 or 1; lanes of fewer have
    /// four in its bytes. With 32 in a word, a row has a multiple of 32 cells, and ghost cells along a periodic x are a
    /// multiple of a lane's cells. With four in a word, both are multiples of four.
    Packed,
    /// Cells stay on the chip over many steps, in registers in two dimensions and in shared memory in three,
    /// and tiles send one another their rims. For volumes, or slabs, that the multiprocessors hold at
    /// once, of one scalar of four or eight bytes, read at most four cells away, between Dirichlet and
    /// periodic faces; a tile is [`CudaPolicy::chunk`] planes deep, and tiles divide periodic axes.
    Resident,
}

impl CudaKernel {
    /// Whether it computes by levels (`cuda/temporal/`), from one of two arrays into the other.
    pub(crate) const fn levels(self) -> bool {
        matches!(self, Self::Temporal | Self::Packed)
    }

    /// Whether it advances several steps between visits to memory; what is left of a number of steps is then
    /// done one by one, by [`CudaKernel::Direct`].
    pub(crate) const fn fuses(self) -> bool {
        matches!(self, Self::Temporal | Self::Packed | Self::Pipeline | Self::Resident)
    }
}
