//! Fork-join tasks on one GPU, in one persistent kernel, which `stacks.cuh` describes.

mod executor;
mod launch;
mod plan;
mod proof;
mod sums;
mod text;

pub use executor::CudaExecutor;
pub use text::compile_check;
