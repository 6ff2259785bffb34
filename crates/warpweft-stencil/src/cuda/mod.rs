//! Stencil sweeps on one NVIDIA GPU.
//!
//! A step becomes one translation unit: the element functions as the macros translated them, a
//! skeleton (one of the `.cuh` files here), and per stage a few lines that join the two (`text`).
//! Volumes lie padded in device memory (`layout`), with ghost cells that hold the boundaries
//! (`ghosts`), so that no sweep branches on a boundary. Not here: several devices (`drive`), what to do
//! about the compute capability a user's machine has (`cuda`).

mod arrays;
mod boxes;
mod chunks;
mod executor;
mod faces;
mod ghosts;
mod halo;
mod halves;
mod layout;
mod parts;
mod peers;
mod policy;
mod queue;
mod resident;
mod residual;
mod staging;
mod stay;
mod sweeps;
mod temporal;
#[cfg(test)]
mod tests;
mod text;
mod turn;

pub use sweeps::CudaSweeps;
pub use text::{compile_check, compile_check_in, device_bytes};
