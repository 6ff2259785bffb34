//! The boxes that launches cover: what kernels are told of a region, and how many blocks they take.

use crate::cuda::limits::clamped;
use crate::cuda::memory::layout::{Layout, axes};
use crate::cuda::text::grid;
use crate::{Boundary, CudaPolicy, Region, Spec};
use warpweft_core::grid::Axes;

/// Half the range, so that sums with it do not overflow: where no face holds cells.
pub(crate) const FAR: i32 = i32::MAX / 2;

/// The box as (w, z, y, x): first cell and extents.
pub(crate) fn placed(region: &Region) -> ([usize; 4], [usize; 4]) {
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
pub(crate) fn whole(layout: &Layout) -> Region {
    let mut high = Axes::filled(layout.dims, 0);
    for (axis, n) in axes(layout.dims).into_iter().zip(layout.extents) {
        if let Some(axis) = axis {
            high[axis] = n;
        }
    }
    Region::whole(high)
}

/// Blocks of a single step over `region`, and the first cell and the end (w, z, y, x) of it. Tiles begin at
/// multiples of `start` cells along x.
pub(crate) fn step_box(
    layout: &Layout,
    (policy, start): (&CudaPolicy, usize),
    region: &Region,
) -> ([u32; 3], [[i32; 4]; 2]) {
    let (low, size) = placed(region);
    let mut extents = size;
    extents[3] += low[3] % start;
    let blocks = clamped(grid(&Layout { extents, ..*layout }, policy));
    let high = std::array::from_fn(|d| (low[d] + size[d]) as i32);
    (blocks, [low.map(|n| n as i32), high])
}

/// Along z, y and x, the first cell that is not held by a Dirichlet face, and the first that is again.
pub(crate) fn hold(stencil: &Spec, layout: &Layout) -> [[i32; 3]; 2] {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::policy::rings::ring_fits;
    use crate::cuda::text::{StageShape, layout_of, step_text};
    use crate::prelude::{Near, stencil};
    use crate::{CudaKernel, Stencil};

    #[stencil]
    fn single(u: Near<f32, 3>) -> f32 {
        u[[0, 0, -4]] + u[[0, 2, 0]] - u[[0, 0, 3]] - u[[1, 0, 0]]
    }

    #[stencil]
    fn double(u: Near<f64, 3>) -> f64 {
        u[[0, 0, -3]] + u[[0, 1, 0]] - u[[0, 0, 2]] - u[[1, 0, 0]]
    }

    #[stencil]
    fn byte(u: Near<bool, 3>) -> bool {
        u[[0, 0, -1]] ^ u[[0, 1, 0]] ^ u[[1, 0, 0]]
    }

    /// The rules of the copy engine (cuda::TensorMap) for all tiles of the ring over `region`, and that the tiles
    /// cover it.
    fn check(
        spec: &Spec,
        layout: &Layout,
        policy: &CudaPolicy,
        shape: &StageShape,
        region: &Region,
    ) {
        let (blocks, [low, high]) = step_box(layout, (policy, shape.start), region);
        let (vx, first) = (policy.cells[0] as usize, low[3] as usize / shape.start * shape.start);
        let [(field, [width, rows])] = shape.ringed[..] else { panic!("one field is read beside") };
        let size = spec.cell.size(field);
        assert!(
            (width * size).is_multiple_of(16) && width <= 256 && rows <= 256,
            "{width} x {rows}"
        );
        let west = (width - 32 * vx) - spec.radius()[2][1].next_multiple_of(16 / size);
        for tile in 0..blocks[0] as usize {
            // Not below 0, where ghosts and pads end, as no copy begins beyond the row.
            let begin = layout.west + first + tile * 32 * vx - west;
            assert_eq!(begin * size % 16, 0, "{region:?} {policy:?}");
            assert!(begin < layout.strides[2]);
        }
        assert!(
            first <= low[3] as usize && high[3] as usize <= first + blocks[0] as usize * 32 * vx
        );
    }

    #[test]
    fn copies_of_any_box_begin_and_end_on_units_of_the_copy_engine() {
        let specs: [Spec; 3] = [
            (*Stencil::of(single())).clone(),
            (*Stencil::of(double())).clone(),
            (*Stencil::of(byte())).clone(),
        ];
        for spec in &specs {
            for vx in [1, 2, 4, 8] {
                let policy = CudaPolicy {
                    kernel: CudaKernel::Planes,
                    cells: [vx, 1, 1],
                    warps: 4,
                    min_blocks: 1,
                    chunk: 6,
                    prefetch: 4,
                    temporal_depth: 1,
                    phases: 1,
                    contraction: false,
                };
                if !ring_fits(spec, [11, 13, 75].into(), &policy, (9, 0)) {
                    continue;
                }
                let layout = layout_of(spec, [11, 13, 75].into(), &policy).unwrap();
                let text = step_text(spec, &policy, false);
                for begin in 0..75 {
                    for end in [begin + 1, begin + 4, 75].into_iter().filter(|&end| end <= 75) {
                        let region =
                            Region { low: [0, 1, begin].into(), high: [11, 13, end].into() };
                        check(spec, &layout, &policy, &text.stages[0], &region);
                    }
                }
            }
        }
    }
}
