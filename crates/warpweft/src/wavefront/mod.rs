//! Recurrences over a rectangle: each cell depends on cells computed before it.
//!
//! Cell `[i, j]` is a function of its earlier neighbours, of one input a row and of one a column.
//! Time tiles, traceback and several devices are not here yet; see [`Keep`] for what a run returns.

pub mod conformance;
pub mod cpu;
pub mod cuda;
mod dependence;
mod element;
mod executor;
mod policy;
mod rank;
mod reference;
mod report;
mod run;
mod spec;

pub use dependence::{Dependence, skew};
pub use element::{Earlier, WavefrontElement};
pub use executor::WavefrontExecutor;
pub use policy::{CpuPolicy, CudaPolicy, Policy};
pub use rank::{Best, Ranked};
pub use reference::reference;
pub use spec::{Border, Keep, Kept, Wavefront};
