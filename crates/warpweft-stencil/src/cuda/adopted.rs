//! Functions other than those of its own stencil that an executor can compute. Not: their steps (`sweeps::adopt`).

use std::any::TypeId;
use std::sync::Arc;

use super::launch::place::Placed;
use super::summing::Summing;
use super::text::StepText;
use crate::spec::stage::StageList;
use crate::{CudaPolicy, Spec, Stage};
use warpweft_core::cuda::{Global, Kernel};

/// Functions that the executor computes by, other than its own stencil's.
pub(super) struct Adopted {
    pub functions: Known,
    /// With the parameters of the last call; its `others` are all functions that the arrays have room for.
    pub stencil: Spec,
    pub policy: CudaPolicy,
    pub text: StepText,
    pub kernels: Vec<Kernel>,
    pub place: Option<Placed>,
    pub fault: Option<Global>,
    /// The kernels that take in a reduction.
    pub summing: Summing,
}

/// What kernels are made for: functions, each with the parameters that are numbers of the session.
pub(super) type Known = Vec<(TypeId, Vec<&'static str>)>;

pub(super) fn functions(stages: &StageList) -> Known {
    let taken = |stage: &Arc<dyn Stage>| stage.taken().into_iter().map(|(name, _)| name).collect();
    stages.iter().map(|stage| (stage.function(), taken(stage))).collect()
}
