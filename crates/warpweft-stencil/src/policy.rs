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
    /// Fused steps: how many steps a sweep advances while its tiles are in cache, at most [`CpuPolicy::DEEPEST`]; 1 means no
    /// temporal blocking.
    pub temporal_depth: usize,
    /// Rows of a tile, at most [`CpuPolicy::LARGEST`].
    pub tile_rows: usize,
    /// Planes a wave advances, at most [`CpuPolicy::LARGEST`].
    pub slab_planes: usize,
    /// Cells of a tile along the contiguous axis, at most [`CpuPolicy::LARGEST`].
    pub tile_cells: usize,
    /// Planes computed together in registers, an unroll-and-jam factor: 1, 2 or 4.
    pub unroll_and_jam: usize,
}

impl CpuPolicy {
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
    /// Planes that a block of a streaming kernel computes one after another, or planes of a tile of a persistent kernel; 0
    /// for other kernels.
    pub chunk: u32,
    /// Planes requested ahead of use.
    pub prefetch: u32,
    /// How many positions of its register queue a streaming kernel unrolls, each with a copy of the element function. More
    /// unrolling needs fewer register moves but longer compilation; 0 unrolls all, and is used for kernels that do not stream.
    #[serde(default)]
    pub phases: u32,
    /// Steps fused in one pass over memory, or between two halo messages of the tiles of a persistent kernel. Above 1 only for
    /// [`CudaKernel::Temporal`], [`CudaKernel::Packed`] and [`CudaKernel::Resident`].
    pub temporal_depth: u32,
    /// Whether the compiler may fuse a multiplication and an addition (FMA), which then round only once. This is the only tuning
    /// parameter that changes results: with `false`, floating-point results have the bits of the CPU; with `true` (the
    /// default), the last bits may differ, also between kernels. Integers never differ.
    pub contraction: bool,
}

impl CudaPolicy {
    /// The largest number of steps in one launch of [`CudaKernel::Resident`], so that a launch does not occupy the device
    /// for long.
    pub const RESIDENT_STEPS: u64 = 1 << 14;
}

/// A skeleton of the stencil kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", try_from = "String")]
pub enum CudaKernel {
    /// Each thread a block of cells in registers, neighbours through vector loads and L1.
    Direct,
    /// Streaming along the slowest axis, own columns in a register queue, other planes copied ahead into shared
    /// memory by the copy engine.
    Planes,
    /// Several steps fused in one pass over memory, each a level in registers. For any fields, stages, scalars and boundaries;
    /// any footprint in one and two dimensions; in three, stars, and any footprint if the function has no branches and does
    /// not ask for its index or the step. If an element function may fault, or has a loop until a condition is met, every
    /// stage must read as far below a cell as above it along axes with Neumann or mirror faces; functions of faces may do
    /// neither. In one dimension, each warp computes a tile of its own; in two, some of the steps, so
    /// [`CudaPolicy::temporal_depth`] is a multiple of [`CudaPolicy::warps`]; in three, some of the rows.
    Temporal,
    /// As [`CudaKernel::Temporal`] in two dimensions, but each operation on a 32-bit word computes several cells. For one
    /// field of `u8` whose values are proved to stay small, functions without branches, and faces along x that are periodic
    /// or hold one value. If a lane has 32 or 64 cells, which must be 0 or 1, a word holds 32 cells, one per bit; otherwise
    /// it holds four cells, one per byte. With 32 cells per word, the length of a row is a multiple of 32, and the number
    /// of ghost cells along a periodic x is a multiple of a lane's cells. With four cells per word, both are multiples of four.
    Packed,
    /// A persistent kernel: cells stay in registers (two dimensions) or shared memory (three) over many steps, and tiles
    /// exchange their halos. For volumes, or subdomains, that fit into the multiprocessors at once; cells of one scalar of
    /// four or eight bytes; offsets of at most four cells; and Dirichlet or periodic faces. A tile is [`CudaPolicy::chunk`]
    /// planes deep, and the extents of periodic axes are multiples of the tile's.
    Resident,
}

impl TryFrom<String> for CudaKernel {
    type Error = String;

    fn try_from(name: String) -> std::result::Result<Self, String> {
        match name.as_str() {
            "direct" => Ok(Self::Direct),
            "planes" => Ok(Self::Planes),
            "temporal" => Ok(Self::Temporal),
            "packed" => Ok(Self::Packed),
            "resident" => Ok(Self::Resident),
            _ => Err(format!(
                "there is no kernel `{name}`: use direct, planes, temporal, packed or resident"
            )),
        }
    }
}

impl CudaKernel {
    /// Whether it computes by levels (`cuda/temporal/`), from one of two arrays into the other.
    pub(crate) const fn levels(self) -> bool {
        matches!(self, Self::Temporal | Self::Packed)
    }

    /// Whether it advances several steps between visits to memory; what is left of a number of steps is then
    /// done one by one, by [`CudaKernel::Direct`].
    pub(crate) const fn fuses(self) -> bool {
        matches!(self, Self::Temporal | Self::Packed | Self::Resident)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_read_by_the_names_that_they_are_written_with() {
        let read = |name: &str| serde_json::from_value::<CudaKernel>(name.into());
        for kernel in [CudaKernel::Direct, CudaKernel::Temporal, CudaKernel::Packed] {
            let name = serde_json::to_value(kernel).unwrap();
            assert_eq!(read(name.as_str().unwrap()).unwrap(), kernel);
        }
        assert!(read("Direct").unwrap_err().to_string().contains("no kernel `Direct`"));
    }
}
