//! Register strips: a lane owns rows in registers, warps and blocks follow one another by flags.
//!
//! The element's C++ text, a few lines that name its types (`text`) and the skeleton
//! `kernel/strip.cuh` make one translation unit, compiled for the device at hand. `batch` runs many
//! small problems, a warp each. Not here: several processes.

mod assignment;
mod batch;
pub(super) mod carried;
mod choose;
mod executor;
mod packed;
mod record;
mod recording;
mod results;
mod shape;
mod shared;
mod subdomain;
mod text;

pub use batch::{compile_check as compile_batch_check, compile_paths_check, compile_search_check};
pub use executor::{CudaExecutor, Extras};
pub use record::compile_check as compile_recording_check;
pub use shape::misses;
pub(crate) use shape::unfit;
pub use text::{Variant, compile_check, compile_check_as};
