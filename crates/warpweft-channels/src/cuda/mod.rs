//! Fork-join tasks on one GPU, in one persistent kernel, which `tasks.cuh` describes, or level by level (`levels`).

mod executor;
mod lent;
mod levels;
mod proof;
mod tasks;
mod text;

pub use executor::CudaExecutor;
pub use lent::Lent;
pub use levels::{LevelsExecutor, compile_levels_check};
pub use text::compile_check;
