//! Kernels that fuse several steps of any stencil in one pass over memory (levels.cuh; line.cuh, rows.cuh,
//! volumes.cuh, partial.cuh; functions.cuh): which stencils they take, their shape, their text, and the launch over a region.

mod block;
mod candidates;
mod frame;
mod functions;
mod parameters;
mod partial;
mod shape;
mod text;

pub use block::TimeBlock;
pub use candidates::temporal_shapes;
pub use frame::{Clocks, FAULTS, frame, takes_parts};
pub use functions::{FaceTable, FaceValues, functors};
#[cfg(test)]
pub use parameters::held_values;
pub use parameters::{Given, arguments, parameters};
#[cfg(test)]
pub use partial::parts;
pub use shape::{TemporalShape, fuses, packs_cells};
pub use text::{KERNEL, PACKED, write_temporal};
