//! Other stages over the same arrays, where these have room for them.

use super::{Canonical, CpuSweeps, canonical, shape_of, tile_axis};
use crate::Spec;
use crate::plan::cone::Cones;
use warpweft_core::error::Result;

impl CpuSweeps {
    /// [`crate::SweepExecutor::adopt`].
    pub(super) fn go_by(&mut self, stencil: &Spec) -> Result<bool> {
        let dims = self.extents.rank();
        stencil.check(self.extents)?;
        let (axes, tile) = (canonical(dims), tile_axis(dims));
        let Canonical { cells, ghosts, periodic } = Canonical::of(stencil, self.extents, axes);
        let workers = (&self.policy, self.pool.len());
        let shape = shape_of(stencil, (axes, tile), (cells, periodic), workers);
        let flips = shape.flips.iter().fold(0, |all, flips| all | flips);
        let room = self.arrays.layout.ghosts;
        let fits = (0..4).all(|d| ghosts[d][0] <= room[d][0] && ghosts[d][1] <= room[d][1]);
        if stencil.has_functions() || flips & !self.doubled != 0 || !fits {
            return Ok(false);
        }
        let deepest = if dims == 1 { 1 } else { self.policy.temporal_depth * stencil.stages.len() };
        // Ghosts of axes that repeat are as deep as a block reads.
        let deep_enough = |levels: &usize| {
            let deep = shape.filled(*levels);
            (0..2).all(|side| !shape.periodic[side] || deep[side] <= room[shape.axes[side]][0])
        };
        let Some(depth) = (1..=shape.shallow(deepest)).rev().find(deep_enough) else {
            return Ok(false);
        };
        // What the stages before wrote may be read next to a cell only now.
        self.stale |= self.written.iter().fold(0, |all, field| all | 1 << field);
        self.change.forget();
        self.cones = Cones::new(stencil, self.extents);
        self.stages.clone_from(&stencil.stages);
        self.written = stencil.written_fields();
        (self.shape, self.depth) = (shape, depth);
        Ok(true)
    }
}
