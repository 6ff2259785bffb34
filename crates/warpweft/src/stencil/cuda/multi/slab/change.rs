//! What a step changed in one slab, for residuals.

use super::{Problem, Slab};
use crate::cuda::Buffer;
use crate::error::{Error, Result};
use crate::stencil::Residual;
use crate::stencil::cuda::residual::Change;

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

    /// A total a plane of the change that the step to `state` made to field `f`.
    pub(in super::super) fn changes(
        &self,
        kind: Residual,
        f: usize,
        state: usize,
    ) -> Result<Vec<f64>> {
        let Some(change) = &self.change else {
            return Err(Error::spec(
                "a residual of a step whose change was not kept",
                "announce the step with `Sweep::keep_change`",
            ));
        };
        let current = self.arrays.current(f, state);
        let before = match &self.kept[f] {
            Some(kept) => self.arrays.cell(f, kept),
            None => self.cell(f, 1 - current),
        };
        let pair = [before, self.cell(f, current)];
        // SAFETY: both are cells (0, 0, 0, 0) of arrays of this field in this layout.
        unsafe { change.planes(&self.stream, kind, self.arrays.kind_of(f), pair, self.axis) }
    }
}
