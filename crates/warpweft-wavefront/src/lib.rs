//! Recurrences over a rectangle: each cell depends on cells computed before it.
//!
//! Cell `[i, j]` is a function of its earlier neighbours, of one input a row, one a column and one a
//! cell, and, where sweeps follow one another, of what later cells held before. See [`Keep`] for what
//! a run returns, and [`traceback`] for the path that leads to a cell. Time tiles are not here yet.

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
#[path = "../../warpweft-lab/src/conformance/wavefront/elements.rs"]
mod recurrences;

mod border;
mod bytes;
mod check;
pub mod cpu;
pub mod cuda;
mod dependence;
mod earlier;
mod edges;
mod erased;
mod executor;
mod frame;
pub mod model;
mod policy;
mod rank;
mod ranks;
mod reference;
mod relative;
mod report;
mod run;
mod spec;
pub mod traceback;
mod wavefront_element;

pub use border::{Band, Border, BorderFunction};
pub use dependence::{Dependence, Reach, precedences, skew};
pub use earlier::{Earlier, Old};
pub use edges::Edges;
pub use executor::WavefrontExecutor;
pub use frame::Frame;
pub use policy::{CpuPolicy, CudaPolicy, Method, Policy, ScanPolicy, TilePolicy};
pub use rank::{Best, Extreme, Ranked};
pub use ranks::RankExecutor;
pub use reference::reference;
pub use relative::{Difference, Relative, Term};
pub use spec::{Keep, Kept, MAX_EXTENT, Wavefront, no_inputs};
#[doc(hidden)]
pub use wavefront_element::words_of;
pub use wavefront_element::{Cells, WavefrontElement};

#[doc(inline)]
pub use warpweft_macros::{Ranked, wavefront};
