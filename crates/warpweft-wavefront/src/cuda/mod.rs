//! Wavefronts on NVIDIA GPUs: register strips on one or several (`strips`), scans for sums (`scan`), and
//! tiles for any legal set of vectors (`tiles`).
//!
//! Not here: several processes, see `ranks`.

mod filled;
mod names;
pub mod scan;
mod signature;
mod strips;
mod tables;
pub mod tiles;
mod upload;
mod winner;

pub(crate) use strips::unfit;
pub use strips::{
    CudaExecutor, Extras, Variant, compile_batch_check, compile_check, compile_check_as,
    compile_paths_check, compile_recording_check, compile_search_check, misses,
};
