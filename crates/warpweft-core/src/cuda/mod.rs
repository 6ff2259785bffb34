//! The CUDA mechanism: devices, streams, memory, compiling, launching. The only module with
//! unsafe calls of CUDA; nothing here knows a pattern.
//!
//! Driver and compiler are loaded at run time: a program that uses this module builds and starts
//! on a machine that has neither, and gets an [`crate::Error`] with a hint when it asks for one.
//!
//! ```no_run
//! use warpweft::cuda::{Args, Buffer, Device, Launch, Module, Options, Stream, compile};
//! # fn main() -> warpweft::Result<()> {
//! let device = Device::open(0)?;
//! let source = r#"extern "C" __global__ void twice(int* x) { x[threadIdx.x] *= 2; }"#;
//! let module = Module::load(&device, &compile(source, "twice", &device.arch()?, &Options::default())?)?;
//! let stream = Stream::new(&device)?;
//! let numbers = Buffer::from_slice(&stream, &[1i32, 2, 3])?;
//! let mut args = Args::new();
//! args.buffer(&numbers);
//! // SAFETY: the kernel takes one pointer, to as many integers as there are threads.
//! unsafe { stream.launch(&module.kernel("twice")?, Launch::line(1, 3), &args)? };
//! let mut doubled = [0i32; 3];
//! stream.download(&numbers, 0, &mut doubled)?;
//! assert_eq!(doubled, [2, 4, 6]);
//! # Ok(())
//! # }
//! ```

mod compile;
mod device;
mod fourier;
mod graph;
mod launch;
mod library;
mod memory;
mod module;
mod watchdog;

pub use compile::{Cache, folder, trusted_folder, write_whole};
pub use compile::{
    Cubin, Options, Request, cached, compile, compile_all, compile_in, compiler, leave_to_compile,
};
pub use device::{
    Attribute, Device, Event, Priority, SharedMemory, Stream, Together, available, undisturbed,
};
pub use fourier::{Fourier, Precision};
pub use graph::Graph;
pub use launch::{Args, Launch};
pub use memory::{
    Buffer, Element, Exported, Extents, Imported, Locked, Pinned, Plain, Rows, Swizzle, TensorMap,
    Tiled, Words,
};
pub use module::{Attributes, Global, Kernel, Module};
pub use watchdog::{Stuck, Watchdog};
