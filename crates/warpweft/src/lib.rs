//! Stencils, dynamic programming, task farms and fork-join tasks on CPU cores, NVIDIA GPUs and MPI ranks, from one Rust
//! function per element.
//!
//! A user writes the function that computes *one element*: a grid cell, a table cell, a task or a recursive call.
//! Warpweft runs it over the whole problem in one of four patterns and chooses tile sizes and kernels.
//!
//! | pattern | attribute | type | for |
//! |---|---|---|---|
//! | [`stencil`] | `#[stencil]` | [`Stencil`](stencil::Stencil) over a [`Volume`](grid::Volume) | a cell's new value from its neighbourhood, step after step |
//! | [`wavefront`] | `#[wavefront]` | [`Wavefront`](wavefront::Wavefront) | tables whose cells depend on earlier rows and on cells to the left |
//! | [`farm`] | `#[task]` | [`Farm`](farm::Farm) | independent tasks, each of 100 µs or more |
//! | [`channels`] | `#[spawning]` | [`Channels`](channels::Channels) | recursive fork-join tasks, as in Cilk |
//!
//! Each has the same three steps: describe what to compute, find the machine, run. A function with an attribute keeps
//! working as a Rust function, so a unit test can call it.
//!
//! ```
//! use warpweft::prelude::*;
//!
//! #[stencil]
//! fn average(u: Near<f32, 1>) -> f32 {
//!     (u[[-1]] + u[[0]] + u[[1]]) / 3.0
//! }
//!
//! # fn main() -> Result<()> {
//! let mut rod = Volume::from_fn([9], |[x]| if x == 4 { 27.0 } else { 0.0 });
//! let report = Stencil::of(average()).run(&mut rod, Steps(2), &Machine::detect()?)?;
//! assert_eq!((rod[[4]], rod[[2]], report.done), (9.0, 3.0, 2));
//! # Ok(())
//! # }
//! ```
//!
//! # Where things are
//!
//! - [`prelude`]: the names that most programs need.
//! - [`run`]: where and how to run, the same for all patterns: devices, threads, ranks, progress, interrupts, deadlines.
//! - [`machine`]: the cores and GPUs of this computer, found and measured.
//! - [`grid`]: volumes in memory, and files: NPY, PNG, VTI.
//! - [`report`], [`error`]: what a run did, and what stopped it. Bad input to a run is an [`Error`] with a hint, never a panic.
//! - [`tune`]: searches for the fastest policy, and the cache of results. [`cluster`]: ranks, as threads or as processes of
//!   MPI (feature `mpi`).
//! - [`element`], [`cpu`], [`cuda`], [`memory`], [`trace`]: the mechanisms below, for those who extend Warpweft.
//!
//! # Units and conventions
//!
//! Extents and offsets are in cells, the axis that changes slowest in memory first: `[z, y, x]`. Times are seconds, sizes
//! bytes. Results have the same bits as a sequential loop, whatever the number of threads, devices and ranks. Exceptions
//! are fused multiply-adds, functions such as `sin`, scans of floats on GPUs, and linear runs that take many steps at once.
//!
//! # Features
//!
//! Each pattern is a feature: `stencil`, `wavefront`, `farm`, `channels`. All are on by default; a program that needs one
//! alone builds faster with `default-features = false, features = ["wavefront"]`. `mpi` adds ranks of MPI.

#![deny(missing_docs)]

extern crate self as warpweft;

pub mod prelude;

/// Fork-join tasks, and kernels connected by bounded channels.
#[cfg(feature = "channels")]
pub mod channels {
    pub use warpweft_channels::*;
}
#[cfg(feature = "channels")]
pub use warpweft_channels::{spawn, sync};
pub use warpweft_core::{
    Error, Result, cluster, cpu, cuda, element, error, grid, machine, memory, report, run, trace,
    tune,
};
#[cfg(feature = "farm")]
#[doc(inline)]
pub use warpweft_farm as farm;
#[cfg(feature = "stencil")]
#[doc(inline)]
pub use warpweft_stencil as stencil;
#[cfg(feature = "wavefront")]
#[doc(inline)]
pub use warpweft_wavefront as wavefront;

/// The examples of the README run as they stand there.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The examples of the guide, as doc tests.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../../../docs/guide/start.md")]
    struct Start;
    #[doc = include_str!("../../../docs/guide/elements.md")]
    struct Elements;
    #[doc = include_str!("../../../docs/guide/stencil.md")]
    struct Stencil;
    #[doc = include_str!("../../../docs/guide/wavefront.md")]
    struct Wavefront;
    #[doc = include_str!("../../../docs/guide/farm.md")]
    struct Farm;
    #[doc = include_str!("../../../docs/guide/channels.md")]
    struct Channels;
    #[cfg(feature = "mpi")]
    #[doc = include_str!("../../../docs/guide/cluster.md")]
    struct Cluster;
}
