//! Stencil sweeps over several NVIDIA GPUs of one host, with the bits of one.
//!
//! A volume is cut into slabs across an axis (`axis`), one a GPU, each padded as on a single one. All
//! here but `executor` knows only the slowest (`cut`): cut across another, the volume is turned first
//! (`stencil::turn`). What a stage needs of a neighbour's planes travels either by the kernels themselves
//! ([`Exchange::Flags`], [`Exchange::Words`]), with no host in the loop, or by copies between
//! launches; before every stage, or every trip of several steps. Not here: several hosts
//! (`distribute`), and what a single GPU does.

mod axis;
mod candidates;
mod compile;
#[cfg(test)]
mod corners;
mod cut;
mod edges;
mod executor;
mod policy;
#[cfg(test)]
mod protocol;
mod slab;
mod stay;
mod steps;
mod sweeps;
mod words;

pub use compile::compile_check;
pub use executor::MultiCudaSweeps;
pub use policy::{Exchange, MultiCudaPolicy};
pub(super) use policy::{columns, corners, near, reads_corners, tile, trip_columns};
pub use warpweft_core::run::GpuList;
