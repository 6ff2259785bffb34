//! What the element functions of a stencil may do that they must not do for cells that only garbage is known of. Not: how kernels
//! keep them from it (`cuda/temporal/frame`).

use crate::{Boundary, Spec};
use warpweft_core::element::Unit;

/// What may end a step with an error, or never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    /// Whether they may fault.
    pub faults: bool,
    /// Whether they have loops that depend on cells.
    pub loops: bool,
}

impl Guard {
    /// That of the element functions of `stencil`.
    pub fn of(stencil: &Spec) -> Self {
        let mut unit = Unit::new();
        for stage in &stencil.stages {
            stage.cuda(&mut unit);
        }
        Self { faults: unit.faults(), loops: unit.loops() }
    }

    /// Whether they are called for some cells alone.
    pub const fn any(self) -> bool {
        self.faults || self.loops
    }

    /// Whether the cells that stored ones depend on are a box, which it takes to know them: not where a face copies cells and
    /// a stage reads further to the one side of it than to the other.
    pub fn fits(self, stencil: &Spec) -> bool {
        // Faults are told apart by levels, of which there are at most 32 of each stage in a pass.
        const STAGES: usize = 31;
        let copies = |axis: usize| {
            let faces = stencil.boundaries.0[axis];
            faces.iter().any(|face| matches!(face, Boundary::Neumann | Boundary::Mirror))
        };
        let even = |axis: usize| {
            stencil.stages.iter().all(|stage| {
                let [below, above] = stage.radius()[axis];
                below == above
            })
        };
        let few = stencil.stages.len() <= STAGES;
        !self.any() || few && (0..stencil.rank()).all(|axis| even(axis) || !copies(axis))
    }
}
