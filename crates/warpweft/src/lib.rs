//! One Rust function for one element, run on every core, GPU and node.
//!
//! A user writes the function that updates *one element*; Warpweft runs it over a whole domain in
//! one of its patterns and tunes itself. See [`prelude`] for the names a program needs.

extern crate self as warpweft;

pub mod cluster;
pub mod cpu;
pub mod cuda;
pub mod element;
pub mod error;
pub mod grid;
pub mod machine;
pub mod prelude;
pub mod report;
pub mod stencil;
pub mod trace;
pub mod tune;
pub mod wavefront;

pub use error::{Error, Result};

/// The example of the README runs as it stands there.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
