//! Wavefronts on NVIDIA GPUs: register strips on one or several, scans for sums and batches of small
//! ones on one.
//!
//! The element's C++ text, a few lines that name its types (`text`) and the skeleton `strip.cuh`
//! make one translation unit, compiled for the device at hand. `tiles` has the five methods of the
//! PeerWave paper, on one GPU. Not here: several processes.

mod batch;
mod choose;
mod executor;
mod filled;
mod names;
mod pairs;
mod part;
mod record;
pub mod scan;
mod shape;
mod shared;
mod text;
pub mod tiles;
mod turns;
mod upload;
mod winner;

pub use batch::compile_check as compile_batch_check;
pub use executor::{CudaExecutor, Extras};
pub use record::compile_check as compile_recording_check;
pub use shape::misses;
pub(super) use shape::unfit;
pub use text::{Variant, compile_check, compile_check_as};
