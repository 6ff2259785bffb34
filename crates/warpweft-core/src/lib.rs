//! The mechanisms that all patterns share. This crate knows no pattern.
//!
//! Programs depend on the crate `warpweft`, which re-exports what users need from here.

extern crate self as warpweft;

pub mod cluster;
pub mod cpu;
pub mod cuda;
pub mod element;
pub mod error;
pub mod grid;
pub mod machine;
pub mod memory;
pub mod report;
pub mod run;
pub mod trace;
pub mod tune;

pub use error::{Error, Result};
