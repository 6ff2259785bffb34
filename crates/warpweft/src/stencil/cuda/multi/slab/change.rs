//! What a step changed in one slab, for residuals.

use super::{Problem, Slab};
use crate::cuda::Buffer;
use crate::error::{Error, Result};
use crate::stencil::Residual;
use crate::stencil::cuda::residual::Change;
use crate::stencil::total::Total;

impl Slab {
    /// Whether a step leaves the state before it in the other array of field `f`.
    fn survives<const D: usize>(&self, problem: &Problem<D>, f: usize) -> bool {
        let stages = &problem.stencil.stages;
        let written = stages.iter().filter(|stage| stage.writes().contains(&f)).count();
        written == 1 && self.arrays.flips(f)
    }

    /// Keeps what [`Slab::changes`] needs of `state`, before the step.
    pub(in super::super) fn keep<const D: usize>(
        &mut self,
        problem: &Problem<D>,
        state: usize,
    ) -> Result<()> {
        if self.change.is_none() {
            self.change = Some(Change::new(&self.stream, &self.tools, &self.arrays.layout)?);
        }
        for f in problem.stencil.written_fields() {
            if self.survives(problem, f) {
                continue;
            }
            let now = self.arrays.now(f, state);
            if self.kept[f].is_none() {
                self.kept[f] = Some(Buffer::new(self.stream.device(), now.bytes())?);
            }
            if let Some(kept) = &self.kept[f] {
                self.stream.copy(kept, 0, now, 0, kept.bytes())?;
            }
        }
        Ok(())
    }

    /// Begins to measure what the step to `state` changed. Does not wait.
    pub(in super::super) fn measure<const D: usize>(
        &self,
        problem: &Problem<D>,
        kind: Residual,
        state: usize,
    ) -> Result<()> {
        let change = self.measured()?;
        change.clear(&self.stream)?;
        for f in problem.stencil.written_fields() {
            let current = self.arrays.current(f, state);
            let before = match &self.kept[f] {
                Some(kept) => self.arrays.cell(f, kept),
                None => self.cell(f, 1 - current),
            };
            let (scalar, pair) = (self.arrays.kind_of(f), [before, self.cell(f, current)]);
            let extents = self.arrays.layout.extents;
            // SAFETY: both are cells (0, 0, 0, 0) of arrays of this field in this layout.
            unsafe { change.add(&self.stream, kind, scalar, pair, extents)? };
        }
        Ok(())
    }

    /// What [`Slab::measure`] found.
    pub(in super::super) fn changes(&self) -> Result<Total> {
        self.measured()?.total(&self.stream)
    }

    fn measured(&self) -> Result<&Change> {
        self.change.as_ref().ok_or_else(|| {
            Error::spec(
                "a residual of a step whose change was not kept",
                "announce the step with `Sweep::keep_change`",
            )
        })
    }
}
