//! One Rust function for one element, run on every core, GPU and node.
//!
//! A user writes the function that updates *one element*; Warpweft runs it over a whole domain in
//! one of its patterns and tunes itself. See [`prelude`] for the names a program needs.

extern crate self as warpweft;

pub mod prelude;

/// Fork-join tasks.
pub mod channels {
    pub use warpweft_channels::*;
}
pub use warpweft_channels::{spawn, sync};
pub use warpweft_core::{
    Error, Result, cluster, cpu, cuda, element, error, grid, machine, memory, report, run, trace,
    tune,
};
#[doc(inline)]
pub use warpweft_farm as farm;
#[doc(inline)]
pub use warpweft_stencil as stencil;
#[doc(inline)]
pub use warpweft_wavefront as wavefront;

/// The examples of the README run as they stand there.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Those of the guide too.
#[cfg(doctest)]
mod guide {
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
