//! Iterated neighbourhood updates.

mod boundary;
pub mod conformance;
mod cpu;
pub mod cuda;
pub mod distribute;
mod element;
mod executor;
pub mod ghost_model;
mod halo;
mod model;
mod partition;
mod plan;
mod policy;
mod reference;
mod residual;
mod run;
mod spec;
mod stage;
mod tune;
mod wisdom;

pub use boundary::{Boundaries, Boundary, Face, Source};
pub use cpu::{CpuSweeps, Slab};
pub use cuda::CudaSweeps;
pub use element::{StencilElement, Tap};
pub use executor::SweepExecutor;
pub use halo::{Footprint, Margin, Reach, Span, footprints};
pub use model::Prediction;
pub use partition::Partition;
pub use plan::{Region, Sweep, sweeps};
pub use policy::{CpuPolicy, CudaKernel, CudaPolicy, Policy};
pub use reference::reference;
pub use residual::Residual;
pub use run::{Run, Target};
pub use spec::{Stencil, Steps, Until};
pub use stage::{Stage, StageList, Stages};
pub use tune::{Tuned, Tuning, tune};
