//! The boxes that launches cover: what kernels are told of a region, and how many blocks they take.

use super::layout::{Layout, axes};
use super::sweeps::clamped;
use super::text::{TripShape, grid, trip_grid};
use crate::{Boundary, CudaPolicy, Region, Spec};
use warpweft_core::grid::Axes;

/// Half the range, so that sums with it do not overflow: where no face holds cells.
pub(super) const FAR: i32 = i32::MAX / 2;

/// Bytes of a sector of memory: `sector` in pipeline.cuh.
pub(super) const SECTOR: usize = 32;

/// The box as (w, z, y, x): first cell and extents.
pub(super) fn placed(region: &Region) -> ([usize; 4], [usize; 4]) {
    let mut low = [0; 4];
    let mut size = [1; 4];
    for (to, axis) in axes(region.rank()).into_iter().enumerate() {
        if let Some(axis) = axis {
            (low[to], size[to]) = (region.low[axis], region.high[axis] - region.low[axis]);
        }
    }
    (low, size)
}

/// All cells of a layout.
pub(super) fn whole(layout: &Layout) -> Region {
    let mut high = Axes::filled(layout.dims, 0);
    for (axis, n) in axes(layout.dims).into_iter().zip(layout.extents) {
        if let Some(axis) = axis {
            high[axis] = n;
        }
    }
    Region::whole(high)
}

/// Blocks of a single step over `region`, and the first cell and the end (w, z, y, x) of it.
pub(super) fn step_box(
    layout: &Layout,
    policy: &CudaPolicy,
    region: &Region,
) -> ([u32; 3], [[i32; 4]; 2]) {
    let (low, size) = placed(region);
    let mut extents = size;
    // Tiles begin at a whole vector below the first cell.
    extents[3] += low[3] % policy.cells[0].max(1) as usize;
    let blocks = clamped(grid(&Layout { extents, ..*layout }, policy));
    let high = std::array::from_fn(|d| (low[d] + size[d]) as i32);
    (blocks, [low.map(|n| n as i32), high])
}

/// What a trip of several steps covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TripBox {
    /// The first cell (w, z, y, x).
    pub begin: [usize; 4],
    /// Blocks.
    pub blocks: [u32; 3],
    /// Of `struct Trip`, along z, y and x and from the first cell on: extents, and the first cell that
    /// no face holds and the first after it that one does.
    pub numbers: [[i32; 3]; 3],
}

impl TripBox {
    /// For the cells of `region`, given what faces hold ([`hold`]). Rows begin on sectors of memory, and
    /// a face that the steps of the trip come by is an end.
    pub fn new(
        (layout, size): (&Layout, usize),
        (policy, shape): (&CudaPolicy, &TripShape),
        region: &Region,
        hold: [[i32; 3]; 2],
    ) -> Self {
        let depth = policy.temporal_depth as usize;
        let (mut begin, mut extents) = placed(region);
        let mut numbers = [[0; 3], [-FAR; 3], [FAR; 3]];
        for d in 0..4 {
            let (low, high, all) = (begin[d], begin[d] + extents[d], layout.extents[d]);
            let begins = low < depth;
            let ends = high + depth > all;
            begin[d] = if begins { 0 } else { low };
            if d == 3 {
                begin[d] -= begin[d] % (SECTOR / size);
            }
            extents[d] = if ends { all } else { high } - begin[d];
            let Some(d) = d.checked_sub(1) else { continue };
            numbers[0][d] = extents[d + 1] as i32;
            // Other faces are too far away for the trip to see.
            if begins {
                numbers[1][d] = hold[0][d];
            }
            if ends && hold[1][d] < FAR {
                numbers[2][d] = hold[1][d] - begin[d + 1] as i32;
            }
        }
        let blocks = clamped(trip_grid(&Layout { extents, ..*layout }, policy, shape));
        Self { begin, blocks, numbers }
    }
}

/// Along z, y and x, the first cell that is not held by a Dirichlet face, and the first that is again.
pub(super) fn hold(stencil: &Spec, layout: &Layout) -> [[i32; 3]; 2] {
    let fixed = |axis: usize, side: usize| {
        let own = axes(stencil.rank())[axis + 1]?;
        // Another device's cells beyond a shared face change as any others do.
        let held = matches!(stencil.boundaries.0[own][side], Boundary::Dirichlet(_));
        (held && !layout.shared[axis + 1][side]).then_some(())
    };
    let end = |d: usize| layout.extents[d + 1] as i32;
    [
        std::array::from_fn(|d| fixed(d, 0).map_or(-FAR, |()| 0)),
        std::array::from_fn(|d| fixed(d, 1).map_or(FAR, |()| end(d))),
    ]
}
