//! A volume cut into slabs, one a device, across its slowest axis. Pure geometry.

use std::ops::Range;

use super::policy::{Exchange, MultiCudaPolicy};
use crate::cuda::layout::Layout;
use crate::cuda::text::layout_of;
use crate::{Boundary, CudaKernel, CudaPolicy, Spec};
use warpweft_core::error::{Error, Result};

/// The slowest axis of a `D`-dimensional volume among (w, z, y, x).
pub(super) const fn slowest<const D: usize>() -> usize {
    if D == 4 { 0 } else { 1 }
}

/// Planes that a tile of `policy` is deep along the slowest axis; a chunk, of kernels that march.
pub(super) fn tile_depth<const D: usize>(policy: &CudaPolicy) -> usize {
    let deep = match policy.kernel {
        CudaKernel::Direct if D == 2 => policy.warps * policy.cells[2],
        CudaKernel::Direct => policy.cells[2],
        CudaKernel::March | CudaKernel::Planes | CudaKernel::Pipeline | CudaKernel::Resident => {
            policy.chunk
        }
    };
    // The tiles of four-dimensional sweeps are one cell deep along w.
    if D == 4 { 1 } else { deep.max(1) as usize }
}

/// The planes of each of `parts` slabs: as equal as they come, in whole tiles of `tile` planes
/// where a slab has `least` of them or more, so that this costs no balance.
///
/// # Errors
/// Slabs that would be no deeper than the `reach` of the stencil across the cut.
pub(super) fn slabs(
    planes: usize,
    parts: usize,
    (tile, least): (usize, usize),
    reach: usize,
) -> Result<Vec<Range<usize>>> {
    // A mirror takes its values from one plane beyond its own depth.
    let most = planes / (reach + 1);
    if parts == 0 || parts > most.max(1) {
        return Err(Error::spec(
            format!(
                "{planes} planes over {parts} GPUs, of which each needs at least {}",
                reach + 1
            ),
            format!("name 1 to {} GPUs, or cut across a longer axis", most.max(1)),
        ));
    }
    let unit = if planes / parts >= least * tile { tile } else { 1 };
    let at = |i: usize| match i * planes / parts {
        end if i == parts => end,
        even => (even + unit / 2) / unit * unit,
    };
    Ok((0..parts).map(|i| at(i)..at(i + 1)).collect())
}

/// How deep the ghost zones at a cut are, `[below, above]`: as far as one stage reads, or all the
/// steps between exchanges.
pub(super) fn reach<const D: usize>(stencil: &Spec<D>, policy: &MultiCudaPolicy) -> [usize; 2] {
    stencil.radius()[0].map(|cells| cells * policy.steps_a_turn() as usize)
}

/// Whether slab `part` of `parts` has a neighbour below and above it.
pub(super) fn shared<const D: usize>(stencil: &Spec<D>, part: usize, parts: usize) -> [bool; 2] {
    let around = stencil.boundaries.0[0][0] == Boundary::Periodic && parts > 1;
    [part > 0 || around, part + 1 < parts || around]
}

/// The layout of slab `part` of `parts` over `planes`.
///
/// # Errors
/// As [`layout_of`].
pub(super) fn layout<const D: usize>(
    stencil: &Spec<D>,
    policy: &MultiCudaPolicy,
    extents: [usize; D],
    planes: &Range<usize>,
    [part, parts]: [usize; 2],
) -> Result<Layout> {
    let mut of_slab = extents;
    of_slab[0] = planes.len();
    let mut layout = match policy.exchange {
        Exchange::Words => Layout::of(stencil, of_slab, policy.steps_a_turn() as usize, [0; 2])?,
        _ => layout_of(stencil, of_slab, &policy.cuda)?,
    };
    let slowest = slowest::<D>();
    layout.shared[slowest] = shared(stencil, part, parts);
    layout.begin[slowest] += planes.start as i64;
    if stencil.boundaries.0[0][0] == Boundary::Periodic {
        layout.period[slowest] = extents[0] as i64;
    }
    Ok(layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_are_even_and_in_whole_tiles_where_that_costs_nothing() {
        let lengths = |planes, parts, tile| -> Vec<usize> {
            slabs(planes, parts, (tile, 16), 1).unwrap().iter().map(|slab| slab.len()).collect()
        };
        assert_eq!(lengths(128, 4, 4), [32; 4]);
        assert_eq!(lengths(1000, 4, 4), [252, 248, 252, 248]);
        assert_eq!(lengths(100, 3, 8), [33, 33, 34]);
        assert_eq!(lengths(9, 1, 4), [9]);
        for (planes, parts, tile) in [(1001, 4, 7), (67, 3, 1), (12, 4, 2)] {
            let all = slabs(planes, parts, (tile, 16), 2).unwrap();
            assert_eq!((all[0].start, all[parts - 1].end), (0, planes));
            assert!(all.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
    }

    #[test]
    fn slabs_thinner_than_the_footprint_are_refused_with_the_most_there_can_be() {
        let error = slabs(10, 4, (1, 16), 2).unwrap_err().to_string();
        assert!(error.contains("name 1 to 3 GPUs"), "{error}");
    }
}
