//! What a step changed in one slab, for residuals.

use super::{Problem, Slab};
use crate::Residual;
use crate::cuda::residual::Change;
use crate::total::Total;
use warpweft_core::error::{Error, Result};

impl Slab {
    /// Makes room for what [`Slab::keep`] keeps.
    pub(in super::super) fn prepare_change<const D: usize>(
        &mut self,
        problem: &Problem<D>,
    ) -> Result<()> {
        if self.change.is_none() {
            self.kept = self.arrays.copies(&problem.stencil, &self.stream)?;
            self.change = Some(Change::new(&self.stream, &self.tools, &self.arrays.layout)?);
        }
        Ok(())
    }

    /// Keeps what [`Slab::changes`] needs of `state`, before the step.
    pub(in super::super) fn keep<const D: usize>(
        &mut self,
        problem: &Problem<D>,
        state: usize,
    ) -> Result<()> {
        self.prepare_change(problem)?;
        for (f, kept) in self.kept.iter().enumerate() {
            if let Some(kept) = kept {
                self.stream.copy(kept, 0, self.arrays.now(f, state), 0, kept.bytes())?;
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
