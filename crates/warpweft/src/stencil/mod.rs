//! Iterated neighbourhood updates.

mod boundary;
mod element;
mod executor;
mod plan;
mod policy;
mod reference;
mod residual;
mod spec;
mod stage;

pub use boundary::{Boundaries, Boundary, Face, Source};
pub use element::{StencilElement, Tap};
pub use executor::SweepExecutor;
pub use plan::{Region, Sweep, sweeps};
pub use policy::{CpuPolicy, CudaKernel, CudaPolicy, Policy};
pub use reference::reference;
pub use residual::Residual;
pub use spec::{Stencil, Steps, Until};
pub use stage::{Stage, StageList, Stages};
