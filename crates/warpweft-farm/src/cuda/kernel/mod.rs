//! Functions that `#[kernel]` was put on: launched on a lane with typed arguments, or played on the host for tests.
//!
//! Buffers are named by numbers that know their type ([`Words`]); a launch looks them up, so that none is of other memory or of
//! another type. Not for single tasks by threads: those are `#[task]`s.

mod lane;
mod memory;
mod thread;

pub use lane::KernelLane;
pub use memory::{DeviceWords, Words, WordsUse};
pub use thread::{BlockArray, HostMemory, Thread};

use warpweft_core::cuda::{Cubin, Options, compile};
use warpweft_core::element::Unit;
use warpweft_core::error::Result;

use crate::kernels::Characterisation;

/// A function that `#[kernel]` was put on: the type of its name, with its buffers and constants.
///
/// # Safety
/// The C++ struct that `cuda` names has the layout of `Self`, and its call reads the buffers of `uses` in this order.
pub unsafe trait KernelFunction: Copy + Send + Sync + 'static {
    /// The buffers on the host.
    type Buffers: Send + Sync;
    /// The arrays of a block on the host.
    type Arrays: Send + Sync;
    /// The function's name.
    const NAME: &'static str;
    /// What characterises it.
    const WORDS: Characterisation;
    /// Its buffers, in the order of its parameters.
    fn uses(&self) -> Vec<WordsUse>;
    /// Its buffers in `memory`.
    ///
    /// # Errors
    /// One is of other memory.
    fn bind(&self, memory: &HostMemory) -> Result<Self::Buffers>;
    /// The arrays of one block.
    fn arrays() -> Self::Arrays;
    /// Runs it as one thread on the host.
    fn on_host(&self, at: &Thread<'_>, buffers: &Self::Buffers, arrays: &Self::Arrays);
    /// The C++ name of a struct whose call is one thread; it and all it calls are added to `unit` on first use.
    fn cuda(unit: &mut Unit) -> String;
}

/// Adds the C++ of [`Thread`] and of words to a unit.
#[doc(hidden)]
pub fn define_threads(unit: &mut Unit) {
    warpweft_core::element::define_shared(unit);
    unit.define("threads of kernels", "threads", |_, _| include_str!("../threads.cuh").into());
}

/// CUDA C++ of a kernel, and where it may fault.
fn source<K: KernelFunction>() -> (String, Unit) {
    let mut unit = Unit::new();
    define_threads(&mut unit);
    let name = K::cuda(&mut unit);
    // A fault is its own thread's: each has a word of the block's shared memory.
    let text = format!(
        "#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
extern __shared__ unsigned int ww_thread_faults[];
#define WW_THREAD_FAULT ww_thread_faults[threadIdx.x]
#endif
#define WW_FAULTED (WW_THREAD_FAULT != 0u)
#define WW_FAIL(site) (void)(WW_FAULTED ? 0u : WW_THREAD_FAULT = (site))
{}
using ww_kernel = {name};
#define WW_KERNEL_BYTES {}
{}",
        unit.source(),
        size_of::<K>().max(1),
        include_str!("../kernel.cuh"),
    );
    (text, unit)
}

/// Compiles a kernel for `arch`, without a device.
///
/// # Errors
/// The compiler's.
pub fn kernel_compile_check<K: KernelFunction>(arch: &str) -> Result<Cubin> {
    compile(&source::<K>().0, K::NAME, arch, &Options::default())
}
