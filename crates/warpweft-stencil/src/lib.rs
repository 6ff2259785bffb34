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
    pub use warpweft_core::element::{Fields, Near, boundary, reduction, stencil};
    pub use warpweft_core::grid::Volume;
    pub use warpweft_core::machine::Machine;

    pub use crate::{Boundary, Face, Residual, Stencil, Steps, Target};
}

mod checkpoint;
mod cpu;
pub mod cuda;
pub mod drive;
pub mod exchange;
mod executor;
mod linear;
mod model;
mod plan;
mod policy;
mod reference;
mod run;
mod spec;
mod tune;

pub use checkpoint::Checkpoint;
pub use cpu::{CpuSweeps, Slab};
pub use cuda::CudaSweeps;
pub use executor::SweepExecutor;
pub use model::{Prediction, ghost as ghost_model};
pub use plan::halo::{Footprint, Margin, Reach, Span, footprints};
pub use plan::partition::Partition;
pub use plan::{Region, Sweep, sweeps};
pub use policy::{CpuPolicy, CudaKernel, CudaPolicy, Policy};
#[doc(hidden)]
pub use reference::{agreement, run_reference};
pub use reference::{reference, reference_with_probes};
pub use run::advance::Advance;
pub use run::session::Session;
pub use run::{Run, Settings, StencilPattern};
pub use spec::boundary::{Boundaries, Boundary, Face, Ghost, Source};
pub use spec::functions::BoundaryFunction;
pub use spec::place::{Knows, Place};
pub use spec::points::{PointSource, Probe};
pub use spec::reduction::fold::CellReduction;
pub use spec::reduction::scalar::SessionScalar;
pub use spec::residual::{Residual, Until};
#[doc(hidden)]
pub use spec::stage::with::Taken;
pub use spec::stage::with::{Parameter, With};
pub use spec::stage::{RawTap, Stage, StageList, Stages};
#[doc(hidden)]
pub use spec::stencil_element::each_field;
pub use spec::stencil_element::{StencilElement, Tap};
pub use spec::{Spec, Stencil, Steps};
pub use tune::{Refused, Trial, Tuned, Tuning};
pub use warpweft_core::run::{GpuList, Target};
