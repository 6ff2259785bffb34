//! Farms on GPUs: what a task's executor is given of a device. Kernels are the tasks' own.

mod lane;

pub use lane::GpuLane;
pub(super) use lane::Site;
