//! Fork-join tasks on one GPU, in one persistent kernel, which `tasks.cuh` describes.

mod executor;
mod proof;
mod tasks;
mod text;

pub use executor::CudaExecutor;
pub use text::compile_check;
