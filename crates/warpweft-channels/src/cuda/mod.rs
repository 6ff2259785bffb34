//! Fork-join tasks on one GPU, in one persistent kernel, which `tasks.cuh` describes.

mod executor;
mod lent;
mod proof;
mod tasks;
mod text;

pub use executor::CudaExecutor;
pub use lent::Lent;
pub use text::compile_check;
