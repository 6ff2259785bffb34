//! The skeletons run by the host's compiler, thread for thread: the kernels' indexing is checked
//! on machines with no GPU.

mod engine;
mod functions;
mod guarded;
pub(super) mod host;
mod launch;
mod packed;
mod partial;
mod summed;
mod taken;

use self::launch::launch;
use crate::prelude::*;
use crate::{CudaKernel, CudaPolicy, Region, Span, StencilElement, reference};
use warpweft_core::element::Scalar;
use warpweft_core::grid::{Axes, Volume};

fn policy(kernel: CudaKernel, cells: [u32; 3], warps: u32) -> CudaPolicy {
    CudaPolicy {
        kernel,
        cells,
        warps,
        min_blocks: 1,
        chunk: 5,
        prefetch: 2,
        temporal_depth: 1,
        phases: 0,
        contraction: false,
    }
}

/// The whole, boxes at its ends and one inside; of a time block's own steps' width from the ends, or less.
fn regions(extents: Axes<usize>, depth: usize) -> Vec<Region> {
    let dims = extents.rank();
    let part = |from: usize, to: usize| {
        let low = extents.map(|n| from.min(n - 1));
        Region { low, high: Axes::from_fn(dims, |d| (extents[d] - to).max(low[d] + 1)) }
    };
    vec![part(0, 0), part(0, depth + 1), part(depth, 0), part(depth + 1, depth), part(1, 2)]
}

/// The cells of `found` that are not those of the volume that is `wanted` there.
fn differing<'v, T: Scalar, const D: usize>(
    found: &Volume<T, D>,
    wanted: impl Fn(Axes<isize>) -> Option<&'v Volume<T, D>>,
) -> Vec<Axes<isize>> {
    let all = Span::from(Region::whole(found.extents().into()));
    let differs = |at: &Axes<isize>| {
        let cell = at.map(|n| n as usize).array();
        wanted(*at).is_some_and(|wanted| found.get(cell).unwrap() != wanted.get(cell).unwrap())
    };
    all.iter().filter(differs).collect()
}

/// Mixed numbers of so many bits fewer than 64.
fn noise<T: Scalar, const D: usize>(extents: [usize; D], shift: u32) -> Volume<T, D> {
    Volume::from_fn(extents, |at| {
        let mixed = at.iter().fold(17u64, |h, &i| {
            (h ^ i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
        });
        T::from_f64((mixed >> shift) as f64 / if shift == 44 { 4096.0 } else { 1.0 })
    })
}

/// One launch of every policy under every boundary over several boxes, bitwise.
fn check<T: Scalar, const D: usize>(
    element: impl StencilElement<D, State = T>,
    extents: [usize; D],
    policies: &[CudaPolicy],
) {
    let (shift, held) = packed::range(&policies[0]);
    let start = noise::<T, D>(extents, shift);
    let folder = tempfile::tempdir().unwrap();
    for boundary in [Boundary::Dirichlet(held), Boundary::Periodic, Boundary::Mirror] {
        let stencil = Stencil::of(element.clone()).boundary(boundary);
        for policy in policies {
            let packs = policy.kernel == CudaKernel::Packed;
            let stencil = if packs { packed::faces(&stencil, boundary) } else { stencil.clone() };
            let mut expect = start.clone();
            reference(&stencil, &mut expect, u64::from(policy.temporal_depth)).unwrap();
            let depth = policy.temporal_depth as usize;
            let regions = regions(extents.into(), depth).into_iter();
            let regions = regions.take(if packs { 1 } else { usize::MAX });
            for region in regions {
                let found = launch::<T, D>(&stencil, &start, policy, &region, folder.path());
                let Some(found) = found else {
                    return println!("skipped: no C++ compiler");
                };
                let inside = Span::from(region);
                // A time block leaves elsewhere what it likes, a step what there was.
                let wanted = |at: Axes<isize>| match inside.contains(at) {
                    true => Some(&expect),
                    false => (depth == 1).then_some(&start),
                };
                let bad = differing(&found, wanted);
                let few = &bad[..bad.len().min(4)];
                let of = (boundary, policy, region);
                assert!(
                    bad.is_empty(),
                    "{} cells of {extents:?} differ: {few:?}, {of:?}",
                    bad.len()
                );
            }
        }
    }
}

#[stencil]
fn flat(u: Near<f32, 2>, rate: f32) -> f32 {
    let across = 0.3 * u[[0, -1]] + 0.2 * u[[0, 1]];
    u[[0, 0]] + rate * (across + 0.7 * u[[-1, 0]] - 0.4 * u[[1, 0]])
}

#[stencil]
fn deep(u: Near<f64, 3>, rate: f64) -> f64 {
    let across = 0.3 * u[[0, 0, -1]] + 0.2 * u[[0, 0, 1]] + 0.1 * u[[0, 1, 0]];
    u[[0, 0, 0]] + rate * (across + 0.7 * u[[-1, 0, 0]] - 0.4 * u[[1, 0, 0]] - u[[0, -1, 0]])
}

#[stencil]
fn skew(u: Near<i32, 3>, by: i32) -> i32 {
    u[[0, 0, 0]] * by + u[[-1, 2, 0]] - u[[2, 0, -3]] * 5 + u[[0, 0, 1]] + u[[1, -1, 1]]
}

#[stencil]
fn placed(u: Near<i32, 3>, #[at] at: [usize; 3], #[step] step: u64, by: i32) -> i32 {
    u[[0, 0, 1]] * by + (at[0] * 10_000 + at[1] * 100 + at[2]) as i32 + step as i32
}

#[stencil]
fn placed_flat(u: Near<i32, 2>, #[at] at: [usize; 2], by: i32) -> i32 {
    u[[1, 0]] * by + (at[0] * 100 + at[1]) as i32
}

#[test]
fn indices_of_cells() {
    let direct = |cells| policy(CudaKernel::Direct, cells, 2);
    check(placed(3), [7, 6, 75], &[direct([4, 2, 2]), direct([1, 3, 1])]);
    check(placed_flat(3), [9, 75], &[direct([4, 1, 2])]);
}

#[test]
fn direct() {
    let policies =
        [policy(CudaKernel::Direct, [4, 2, 2], 2), policy(CudaKernel::Direct, [1, 3, 1], 3)];
    check(skew(3), [7, 6, 75], &policies);
    check(deep(0.25), [7, 6, 75], &policies);
}

/// A star of radius two and three, deeper on one side.
#[stencil]
fn star(u: Near<f32, 3>, rate: f32) -> f32 {
    let far = u[[-2, 0, 0]] - u[[3, 0, 0]] + u[[0, -3, 0]] - u[[0, 2, 0]] + u[[0, 0, -1]];
    let near = u[[-1, 0, 0]] + u[[0, 1, 0]] - u[[0, 0, 5]] + u[[0, 0, 1]];
    u[[0, 0, 0]] + rate * (0.3 * far + 0.7 * near)
}

/// Its own column is not read off the plane.
#[stencil]
fn disc(u: Near<f64, 3>, rate: f64) -> f64 {
    rate * (u[[0, 0, -1]] + u[[0, 1, 0]] + 0.5 * u[[0, 0, 0]])
}

#[test]
fn planes_in_a_ring() {
    let planes = |cells, phases| CudaPolicy { phases, ..policy(CudaKernel::Planes, cells, 2) };
    let eager = CudaPolicy { prefetch: 0, ..planes([1, 3, 1], 4) };
    let narrow = planes([1, 1, 1], 1);
    check(star(0.25), [12, 9, 140], &[planes([4, 2, 1], 0), planes([2, 1, 1], 2), eager]);
    check(star(0.25), [7, 6, 35], &[narrow]);
    check(skew(3), [7, 6, 75], &[planes([4, 2, 1], 1)]);
    check(disc(0.25), [7, 6, 75], &[planes([2, 2, 1], 0)]);
}

/// Reads a box, deeper on one side.
#[stencil]
fn slanted(u: Near<i32, 2>, by: i32) -> i32 {
    u[[0, 0]] * by + u[[-1, 2]] - 3 * u[[2, -1]] + u[[0, -1]] + 5 * u[[1, 1]]
}

/// Further on one side.
#[stencil]
fn line(u: Near<f32, 1>, rate: f32) -> f32 {
    u[[0]] + rate * (0.3 * u[[-1]] + 0.2 * u[[1]] - 0.7 * u[[2]])
}

#[stencil]
fn far(u: Near<i64, 1>, by: i64) -> i64 {
    u[[0]] * by + u[[-3]] - 5 * u[[1]] + u[[3]]
}

fn fused(cells: [u32; 3], warps: u32, temporal_depth: u32, prefetch: u32) -> CudaPolicy {
    CudaPolicy { temporal_depth, prefetch, ..policy(CudaKernel::Temporal, cells, warps) }
}

#[test]
fn fused_lines() {
    for extents in [[2_000], [433], [21]] {
        check(line(0.25), extents, &[fused([4, 1, 1], 3, 5, 1), fused([16, 1, 1], 2, 3, 1)]);
        check(far(3), extents, &[fused([4, 1, 1], 1, 4, 1)]);
    }
}

#[test]
fn fused_rows() {
    check(flat(0.25), [23, 250], &[fused([4, 1, 1], 2, 4, 3)]);
    // Three rows a level, or four where a mirror copies: of twelve in flight both are whole groups.
    check(slanted(3), [11, 141], &[CudaPolicy { chunk: 50, ..fused([4, 1, 1], 1, 2, 11) }]);
}

#[test]
fn fused_planes() {
    check(deep(0.25), [7, 12, 141], &[fused([2, 3, 1], 3, 2, 2)]);
}
