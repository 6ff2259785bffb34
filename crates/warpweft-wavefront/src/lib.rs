//! Recurrences over a rectangle: each cell depends on cells computed before it.
//!
//! Cell `[i, j]` is a function of its earlier neighbours, of the inputs of its row, its column and the cell
//! itself, and, if there are several sweeps, of the values that later cells had in the sweep before. See [`Keep`] for what
//! a run returns, and [`traceback`] for the path that leads to a cell. Several sweeps are not fused (no temporal blocking).

#[cfg(test)]
extern crate self as warpweft;
#[cfg(test)]
use warpweft_core::element;
/// What macros name, in this crate's own tests.
#[cfg(test)]
mod wavefront {
    pub use crate::*;
}
/// The recurrences of the conformance suite.
#[cfg(test)]
#[path = "../../warpweft-conformance/src/wavefront/elements.rs"]
mod recurrences;

pub mod cpu;
pub mod cuda;
mod executor;
mod frame;
pub mod model;
mod path;
mod plan;
mod policy;
mod ranks;
mod recurrence;
mod reference;
mod report;
mod run;
mod spec;
pub mod traceback;
mod tune;

pub use executor::{Edges, Ends, Scores, WavefrontExecutor};
pub use frame::Frame;
pub use policy::{CpuPolicy, CudaPolicy, Method, Policy, ScanPolicy, TilePolicy};
pub use ranks::RankExecutor;
pub use recurrence::{
    Best, Cells, Dependence, Difference, Earlier, Extreme, Old, Parts, Ranked, Reach, Relative,
    Term, WavefrontElement, precedences, skew,
};
#[doc(hidden)]
pub use recurrence::{Both, Incomparable, Interval, Lookup, Same, words_of};
pub use reference::{Solution, reference};
pub use report::TotalReport;
pub use run::{Run, RunExecutor, WavefrontPattern};
pub use spec::{
    Band, Border, BorderFunction, Database, Keep, Kept, MAX_EXTENT, Pairs, Wavefront, no_inputs,
};
pub use tune::{Refused, Tuned};
pub use warpweft_core::run::Tuning;

#[doc(inline)]
pub use warpweft_macros::{Ranked, wavefront};
