//! Farms on GPUs: the executor of functions that are translated. All other kernels are the tasks' own.

mod function;

pub use function::{TaskFunction, compile_check, translated};
