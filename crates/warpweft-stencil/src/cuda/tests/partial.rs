//! Fused steps of volumes whose functions are taken apart by planes.

use super::launch::launch;
use super::{check, differing, fused, noise};
use crate::cuda::temporal::parts;
use crate::prelude::*;
use crate::{CudaPolicy, Region, Spec, StencilElement, reference};
use warpweft_core::element::Scalar;

/// A weighted sum over 27 cells in the order of planes, rows and cells.
#[stencil]
fn ordered(u: Near<f64, 3>, rate: f64) -> f64 {
    let mut sum = 0.0;
    for z in -1..=1 {
        for y in -1..=1 {
            for x in -1..=1 {
                let weight = 0.1 + 0.3 * z as f64 - 0.2 * y as f64 + 0.15 * x as f64;
                sum += weight * u[[z, y, x]];
            }
        }
    }
    rate * sum
}

/// Sums of the same distance, as they are often written: each keeps its own partial sum.
#[stencil]
fn by_distance(u: Near<f32, 3>, near: f32, far: f32) -> f32 {
    let faces = u[[-1, 0, 0]] + u[[0, -1, 0]] + u[[0, 1, 0]] + u[[0, 0, -1]] + u[[0, 0, 1]];
    let edges = u[[-1, -1, 0]] + u[[-1, 1, 0]] + u[[0, 1, 1]] + u[[0, -1, -1]] + u[[1, 0, 1]];
    u[[0, 0, 0]] - near * (faces + u[[1, 0, 0]]) + far * edges
}

/// A choice by what is read, two planes up and one down, further along x than along y.
#[stencil]
fn chosen(u: Near<i32, 3>, by: i32) -> i32 {
    let before = u[[-2, 0, 1]] * by + u[[-2, -1, 0]];
    let here = if u[[0, 0, 2]] > u[[-1, 1, 0]] { u[[0, 1, -3]] } else { before };
    before + 3 * here - u[[1, 0, 0]] + u[[1, 1, 1]]
}

/// Nothing off the plane.
#[stencil]
fn within(u: Near<f32, 3>, rate: f32) -> f32 {
    rate * (u[[0, -1, -1]] + u[[0, 1, 1]] + u[[0, 1, -1]] + u[[0, -1, 1]])
}

/// Nothing before the plane after the cell's.
#[stencil]
fn after(u: Near<i32, 3>, by: i32) -> i32 {
    u[[1, 0, -1]] - by * u[[2, 1, 1]]
}

/// Adds the last planes first.
#[stencil]
fn backwards(u: Near<f64, 3>, rate: f64) -> f64 {
    rate * u[[1, 1, 0]] + u[[0, 0, 1]] - u[[-1, 0, 0]] * u[[0, 1, 1]] + u[[-1, -1, 0]]
}

fn words(stencil: &Spec) -> Vec<usize> {
    parts(stencil).unwrap().iter().map(|stage| stage.words()).collect()
}

#[test]
fn a_sum_in_the_order_of_planes_keeps_one_number_a_plane() {
    assert_eq!(words(&Stencil::of(ordered(0.5)).into_spec()), [4]);
    // Two sums, then they and the cell.
    assert_eq!(words(&Stencil::of(by_distance(0.5, 0.25)).into_spec()), [2 + 3]);
    assert_eq!(words(&Stencil::of(within(0.25)).into_spec()), [0]);
    // What was read of both planes before.
    assert_eq!(words(&Stencil::of(backwards(0.5)).into_spec()), [2 * 2 + 2 * 3]);
}

#[test]
fn fused_planes_of_boxes() {
    check(ordered(0.5), [7, 12, 125], &[fused([2, 3, 1], 3, 2, 2)]);
    check(chosen(3), [9, 14, 70], &[fused([4, 3, 1], 4, 2, 1)]);
}

/// What three fused steps come to, against single ones, with every kind of face.
fn check_faces<T: Scalar>(
    element: impl StencilElement<3, State = T>,
    extents: [usize; 3],
    policy: &CudaPolicy,
) {
    use Boundary::{Dirichlet, Mirror, Neumann, Periodic};
    let start = noise::<T, 3>(extents, 44);
    let folder = tempfile::tempdir().unwrap();
    let of_axes = [
        [[Neumann, Mirror], [Dirichlet(1.0), Neumann], [Mirror, Dirichlet(2.0)]],
        [[Mirror, Neumann], [Mirror, Dirichlet(1.0)], [Dirichlet(3.0), Neumann]],
        [[Dirichlet(1.0), Dirichlet(2.0)], [Neumann, Mirror], [Neumann, Neumann]],
        [[Periodic; 2], [Dirichlet(2.0), Dirichlet(3.0)], [Dirichlet(1.0), Mirror]],
    ];
    for axes in of_axes {
        let mut stencil = Stencil::of(element.clone());
        for (axis, [low, high]) in axes.into_iter().enumerate() {
            stencil = stencil.face(axis, Face::Low, low).face(axis, Face::High, high);
        }
        let mut expect = start.clone();
        reference(&stencil, &mut expect, u64::from(policy.temporal_depth)).unwrap();
        let region = Region::whole(extents.into());
        let found = launch::<T, 3>(&stencil, &start, policy, &region, folder.path());
        let Some(found) = found else { return println!("skipped: no C++ compiler") };
        let bad = differing(&found, |_| Some(&expect));
        assert!(bad.is_empty(), "{} cells differ between {axes:?}: {:?}", bad.len(), &bad[..1]);
    }
}

#[test]
fn faces_of_boxes_are_exact_in_every_step() {
    check_faces(by_distance(0.5, 0.25), [11, 17, 131], &fused([2, 2, 1], 5, 3, 2));
    check_faces(chosen(3), [13, 17, 71], &fused([4, 3, 1], 5, 2, 1));
    check_faces(after(2), [9, 12, 70], &fused([4, 3, 1], 3, 2, 2));
    check_faces(within(0.25), [5, 12, 70], &fused([4, 3, 1], 3, 2, 2));
    check_faces(backwards(0.5), [8, 12, 40], &fused([2, 3, 1], 3, 2, 2));
}
