//! The text of a kernel that takes several steps in one pass over memory, or in one launch. It is a text of its own:
//! it takes seconds to compile where that of single steps takes milliseconds.

use super::glue::CELLS;
use crate::cuda::memory::arrays::{FUSED, STEP};
use crate::cuda::resident::{ResidentShape, write_resident};
use crate::cuda::temporal::{self, FAULTS, PACKED, TemporalShape, write_temporal};
use crate::spec::proof::guard::Guard;
use crate::{CudaKernel, CudaPolicy, Spec};
use warpweft_core::element::Unit;
use warpweft_core::grid::Axes;

const STRIPS: &str =
    concat!(include_str!("../resident/resident.cuh"), include_str!("../resident/strips.cuh"));
const PATCHES: &str = concat!(
    include_str!("../resident/resident.cuh"),
    include_str!("../resident/sealed.cuh"),
    include_str!("../resident/patches.cuh")
);

/// What host and kernel agree on.
#[allow(clippy::large_enum_variant)] // One of each kernel: its size does not matter.
#[derive(Clone, Debug)]
pub enum FusedShape {
    /// `ww_time_block`.
    Temporal(TemporalShape),
    /// `ww_resident`: tiles that stay on the chip.
    Resident(ResidentShape),
}

impl FusedShape {
    /// That of `policy`; none if its kernel takes one step, or has no such shape.
    pub fn of(stencil: &Spec, extents: Axes<usize>, policy: &CudaPolicy) -> Option<Self> {
        let one = stencil.stages.len() == 1;
        match policy.kernel {
            CudaKernel::Temporal | CudaKernel::Packed => {
                TemporalShape::of(stencil, policy, extents).map(Self::Temporal)
            }
            CudaKernel::Resident if one => ResidentShape::of(stencil, policy).map(Self::Resident),
            _ => None,
        }
    }

    /// The kernel's name.
    pub fn kernel(&self) -> &'static str {
        match self {
            Self::Temporal(_) => temporal::KERNEL,
            Self::Resident(_) => "ww_resident",
        }
    }

    /// Bytes of dynamic shared memory of a block.
    pub fn shared(&self) -> usize {
        match self {
            Self::Temporal(shape) => shape.shared,
            Self::Resident(shape) => shape.shared,
        }
    }

    /// What a launch changes of the state of the arrays.
    pub fn change(&self) -> usize {
        if matches!(self, Self::Temporal(_)) { FUSED } else { STEP }
    }
}

/// A kernel that takes several steps.
#[derive(Clone, Debug)]
pub struct FusedText {
    /// CUDA C++.
    pub source: String,
    /// Its shape.
    pub shape: FusedShape,
}

/// Writes the kernel of `policy`, if that takes several steps.
pub fn fused_text(stencil: &Spec, extents: Axes<usize>, policy: &CudaPolicy) -> Option<FusedText> {
    let policy = &policy.reduced(stencil.rank());
    let mut shape = FusedShape::of(stencil, extents, policy)?;
    if let FusedShape::Temporal(shape) = &mut shape {
        shape.guard = Guard::of(stencil);
    }
    let mut unit = Unit::new();
    let names: Vec<String> = stencil.stages.iter().map(|stage| stage.cuda(&mut unit)).collect();
    let faces = temporal::functors(stencil, &mut unit);
    let mut source = unit.source();
    if policy.kernel == CudaKernel::Packed {
        // Calls in element functions find what stands before them.
        source.insert_str(Unit::new().source().len(), PACKED);
    }
    if matches!(&shape, FusedShape::Temporal(shape) if shape.guard.faults) {
        source.insert_str(0, &format!("#define WW_THREADS {}\n{FAULTS}", 32 * policy.warps));
    }
    source.push_str(CELLS);
    let stage = &*stencil.stages[0];
    // Writing to a string can't fail.
    let _ = match &shape {
        FusedShape::Temporal(shape) => {
            write_temporal(&mut source, stencil, (&names, &faces), (policy, shape))
        }
        FusedShape::Resident(shape) => {
            source.push_str(if stencil.rank() == 2 { STRIPS } else { PATCHES });
            write_resident(&mut source, stage, &names[0], policy, shape)
        }
    };
    Some(FusedText { source: source.replace("#pragma once\n", ""), shape })
}
