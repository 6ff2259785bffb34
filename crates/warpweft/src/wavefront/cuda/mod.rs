//! Wavefronts on one NVIDIA GPU: register strips, scans for sums, and batches of small ones.
//!
//! The element's C++ text, a few lines that name its types (`text`) and the skeleton `strip.cuh`
//! make one translation unit, compiled for the device at hand. Not here: the five methods of the
//! PeerWave paper, and several devices.

mod batch;
mod executor;
mod pairs;
pub mod scan;
mod shape;
mod text;
pub mod tiles;

pub use batch::compile_check as compile_batch_check;
pub use executor::CudaExecutor;
pub use shape::misses;
pub use text::compile_check;
