//! Iterated neighbourhood updates.

#[cfg(test)]
extern crate self as warpweft;
#[cfg(test)]
use warpweft_core::element;
/// What macros name, in this crate's own tests.
#[cfg(test)]
mod stencil {
    pub use crate::*;
}
#[cfg(test)]
mod prelude {
    pub use warpweft_core::element::{Fields, Near, boundary, stencil};
    pub use warpweft_core::grid::Volume;
    pub use warpweft_core::machine::Machine;

    pub use crate::{Boundary, Face, Residual, Stencil, Steps, Target};
}

#[doc(hidden)]
pub mod agreement;
mod boundary;
mod checkpoint;
mod cone;
mod cpu;
pub mod cuda;
pub mod drive;
pub mod exchange;
mod executor;
mod fingerprint;
mod functions;
pub mod ghost_model;
mod halo;
mod identity;
mod model;
mod pace;
mod partition;
mod plan;
mod points;
mod policy;
mod reference;
mod residual;
mod run;
mod spec;
mod stage;
mod stencil_element;
mod total;
mod tune;
mod tuning_cache;
mod typed;

pub use boundary::{Boundaries, Boundary, Face, Ghost, Source};
pub use checkpoint::Checkpoint;
pub use cpu::{CpuSweeps, Slab};
pub use cuda::CudaSweeps;
pub use executor::SweepExecutor;
pub use functions::BoundaryFunction;
pub use halo::{Footprint, Margin, Reach, Span, footprints};
pub use model::Prediction;
pub use partition::Partition;
pub use plan::{Region, Sweep, sweeps};
pub use points::{PointSource, Probe};
pub use policy::{CpuPolicy, CudaKernel, CudaPolicy, Policy};
#[doc(hidden)]
pub use reference::run_reference;
pub use reference::{reference, reference_with_probes};
pub use residual::{Residual, Until};
pub use run::{Run, Settings, StencilPattern};
pub use spec::{Spec, Stencil, Steps};
pub use stage::{RawTap, Stage, StageList, Stages};
#[doc(hidden)]
pub use stencil_element::each_field;
pub use stencil_element::{StencilElement, Tap};
pub use tune::{Refused, Trial, Tuned, Tuning, tune};
pub use warpweft_core::run::{GpuList, Target};
