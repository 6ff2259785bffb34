//! One Rust function for one element, run on every core, GPU and node.
//!
//! A user writes the function that updates *one element*; Warpweft runs it over a whole domain in
//! one of its patterns and tunes itself. See [`prelude`] for the names a program needs.

extern crate self as warpweft;

pub mod channels;
pub mod cluster;
pub mod cpu;
pub mod cuda;
pub mod element;
pub mod error;
pub mod farm;
pub mod grid;
pub mod machine;
pub mod prelude;
pub mod report;
pub mod stencil;
pub mod trace;
pub mod tune;
pub mod wavefront;

pub use error::{Error, Result};

/// The examples of the README run as they stand there.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// Those of the guides too.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/element.md")]
struct Guide;

#[cfg(all(doctest, feature = "mpi"))]
#[doc = include_str!("../../../docs/cluster.md")]
struct Cluster;
