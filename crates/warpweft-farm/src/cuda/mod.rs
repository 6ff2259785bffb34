//! Farms on GPUs: what a task's executor is given of a device, and the executor of functions that are translated. All
//! other kernels are the tasks' own.

mod function;
mod lane;

pub use function::{TaskFunction, compile_check, translated};
pub use lane::GpuLane;
pub(super) use lane::Site;
