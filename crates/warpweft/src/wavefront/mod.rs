//! Recurrences over a rectangle: each cell depends on cells computed before it.
//!
//! Cell `[i, j]` is a function of its earlier neighbours, of one input a row, one a column and one a
//! cell, and, where sweeps follow one another, of what later cells held before. See [`Keep`] for what
//! a run returns, and [`traceback`] for the path that leads to a cell. Time tiles are not here yet.

mod border;
mod bytes;
mod check;
pub mod conformance;
pub mod cpu;
pub mod cuda;
mod dependence;
mod earlier;
mod edges;
mod element;
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

pub use border::{Band, Border, BorderFunction};
pub use dependence::{Dependence, Reach, precedences, skew};
pub use earlier::{Earlier, Old};
pub use edges::Edges;
#[doc(hidden)]
pub use element::words_of;
pub use element::{Cells, WavefrontElement};
pub use executor::WavefrontExecutor;
pub use frame::Frame;
pub use policy::{CpuPolicy, CudaPolicy, Method, Policy, ScanPolicy, TilePolicy};
pub use rank::{Best, Extreme, Ranked};
pub use ranks::RankExecutor;
pub use reference::reference;
pub use relative::{Difference, Relative, Term};
pub use spec::{Keep, Kept, MAX_EXTENT, Wavefront, no_inputs};

#[doc(inline)]
pub use warpweft_macros::{Ranked, wavefront};
