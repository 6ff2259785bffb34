//! Stencil sweeps on one NVIDIA GPU.
//!
//! A step becomes one translation unit: the element functions as the macros translated them, a
//! skeleton (one of the files in `kernels/`), and per stage a few lines that join the two (`text`).
//! Volumes lie padded in device memory (`memory`), with ghost cells that hold the boundaries
//! (`launch::ghosts`), so that no sweep branches on a boundary. Not here: several devices (`drive`), what to do
//! about the compute capability a user's machine has (`cuda`).

mod adopted;
mod compile_ahead;
mod fold;
mod fused;
mod halo;
mod launch;
mod launches;
mod limits;
mod memory;
mod peers;
mod policy;
mod resident;
mod single;
mod summing;
mod sums;
mod sweeps;
mod tables;
mod temporal;
#[cfg(test)]
mod tests;
mod text;
mod transfer;

pub use policy::kernels::{Compile, Kernels};
pub(crate) use policy::modelled::Known;
pub use sweeps::CudaSweeps;
pub use text::{compile_check, compile_check_in, device_bytes};
