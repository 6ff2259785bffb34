//! Calls on one GPU, in one persistent kernel: `stacks.cuh` says how.

mod executor;
mod plan;
mod text;

pub use executor::CudaExecutor;
pub use text::compile_check;
#[cfg(all(test, loom))]
mod twin;
