//! Cells of a subdomain and its ghost zones: the geometry in equations (2), (3), (5) and (6).

use super::Geometry;
use crate::plan::halo::{Margin, Reach};
use crate::plan::partition::Partition;
use warpweft_core::grid::Axes;

/// A part as the model sees it: B = (B_z, B_y, B_x), slowest axis first, and δ a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Subdomain {
    /// Own cells along each axis.
    pub extents: Axes<usize>,
    /// Cells that a step reads beyond the part, per axis `[below, above]`; zero along uncut axes.
    pub delta: Margin,
    /// Bytes of a cell that travel in a swap.
    pub cell_bytes: f64,
}

impl Subdomain {
    /// The largest part of a partition, with neighbours on both sides of every cut axis: the one
    /// that the others wait for. `one_step` is the reach of one step.
    pub fn largest(partition: &Partition, one_step: &Reach, cell_bytes: f64) -> Self {
        let dims = partition.rank();
        let (extents, grid) = (partition.extents(), partition.parts_per_axis());
        let mut delta = one_step.deepest();
        for d in 0..dims {
            if !partition.is_cut(d) {
                delta[d] = [0; 2];
            }
        }
        Self { extents: Axes::from_fn(dims, |d| extents[d].div_ceil(grid[d])), delta, cell_bytes }
    }

    /// Π(B + steps·(δ below + δ above)) over the axes from `first`.
    fn grown(&self, steps: usize, first: usize) -> f64 {
        let dims = self.extents.rank();
        (first..dims)
            .map(|d| (self.extents[d] + steps * (self.delta[d][0] + self.delta[d][1])) as f64)
            .product()
    }
}

impl Geometry for Subdomain {
    /// ΠB.
    fn cells(&self) -> f64 {
        self.grown(0, 0)
    }

    /// Equation (2)'s sum, Σ_{i=1..R} Π(B + 2(R−i)δ): the region shrinks by δ a step.
    fn shrinking_cells(&self, depth: usize) -> f64 {
        (0..depth).map(|left| self.grown(left, 0)).sum()
    }

    /// Equation (3)'s R·Π(B + 2Rδ): the whole zone every step.
    fn whole_cells(&self, depth: usize) -> f64 {
        depth as f64 * self.grown(depth, 0)
    }

    /// Equation (5)'s Π(B + 2Rδ) − ΠB, in bytes: the ghost zone.
    fn halo_bytes(&self, depth: usize) -> f64 {
        (self.grown(depth, 0) - self.cells()) * self.cell_bytes
    }

    /// Equation (6)'s Π(B + 2Rδ) + B_z·(B_y + 2Rδ)(B_x + 2Rδ): all to the device, and back all but
    /// the stale planes at the ends of the slowest axis.
    fn staged_bytes(&self, depth: usize) -> f64 {
        (self.grown(depth, 0) + self.grown(depth, 1) * self.extents[0] as f64) * self.cell_bytes
    }

    /// Cells that can be computed while halos fly: those that no neighbour waits for in R steps.
    ///
    /// At the end of a swap's steps the outermost Rδ own cells must be ready; the steps before
    /// must have computed δ more each. What is inside of that is the core.
    fn core_cells(&self, depth: usize) -> f64 {
        let at = |left: usize| {
            (0..self.extents.len())
                .map(|d| {
                    let rim = (depth + left) * (self.delta[d][0] + self.delta[d][1]);
                    self.extents[d].saturating_sub(rim) as f64
                })
                .product::<f64>()
        };
        (0..depth).map(at).sum()
    }
}
