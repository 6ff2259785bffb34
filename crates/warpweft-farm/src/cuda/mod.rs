//! Farms on GPUs: the executor of functions that are translated, and kernels of users. All other kernels are the tasks' own.

mod function;
mod kernel;

pub use function::{SliceUse, TaskFunction, compile_check, translated};
#[doc(hidden)]
pub use kernel::define_threads;
pub use kernel::{
    BlockArray, DeviceWords, HostMemory, KernelFunction, KernelLane, Thread, Words, WordsUse,
    kernel_compile_check,
};
