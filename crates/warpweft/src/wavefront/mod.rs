//! Recurrences over a rectangle: each cell depends on cells computed before it.
//!
//! Cell `[i, j]` is a function of its earlier neighbours, of one input a row, one a column and one a
//! cell, and, where sweeps follow one another, of what later cells held before. Time tiles,
//! traceback and several devices are not here yet; see [`Keep`] for what a run returns.

mod border;
pub mod conformance;
pub mod cpu;
pub mod cuda;
mod dependence;
mod earlier;
mod element;
mod executor;
mod frame;
pub mod model;
mod policy;
mod rank;
mod reference;
mod report;
mod run;
mod spec;

pub use border::{Band, Border, BorderFunction};
pub use dependence::{Dependence, Reach, precedences, skew};
pub use earlier::{Earlier, Old};
#[doc(hidden)]
pub use element::words_of;
pub use element::{Cells, WavefrontElement};
pub use executor::WavefrontExecutor;
pub use frame::Frame;
pub use policy::{CpuPolicy, CudaPolicy, Method, Policy, ScanPolicy, TilePolicy};
pub use rank::{Best, Extreme, Ranked};
pub use reference::reference;
pub use spec::{Keep, Kept, MAX_EXTENT, Wavefront, no_inputs};

#[doc(inline)]
pub use warpweft_macros::{Ranked, wavefront};
