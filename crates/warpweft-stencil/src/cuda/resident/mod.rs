//! Kernels that keep the cells on the chip over many steps (resident.cuh): which stencils and shapes
//! can, and how a launch over one slab of a volume is made.

mod candidates;
mod shape;
mod slab;
#[cfg(test)]
mod tests;

pub use candidates::for_volume;
pub use shape::{ResidentShape, resides, write_resident};
pub use slab::Resident;
