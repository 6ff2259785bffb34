//! Fused steps between faces that are functions of position and time.

use super::launch::launch_after;
use super::{differing, fused, noise};
use crate::prelude::*;
use crate::reference::run_reference;
use crate::{CudaPolicy, Region, Spec, StencilElement};

/// Steps that were done before.
const BEFORE: u64 = 3;

/// Nothing off the cell along two axes.
#[stencil]
fn cross(u: Near<i32, 2>, by: i32) -> i32 {
    u[[0, 0]] * by + u[[-1, 0]] - 3 * u[[2, 0]] + 7 * u[[0, -1]] - 5 * u[[0, 1]]
}

/// A box, deeper on one side.
#[stencil]
fn slanted(u: Near<i32, 2>, by: i32) -> i32 {
    u[[0, 0]] * by + u[[-1, 2]] - 3 * u[[2, -1]] + u[[0, -1]] + 5 * u[[1, 1]]
}

#[stencil]
fn star(u: Near<i32, 3>, by: i32) -> i32 {
    let far = u[[-2, 0, 0]] - 3 * u[[1, 0, 0]] + 5 * u[[0, -1, 0]] - 7 * u[[0, 2, 0]];
    u[[0, 0, 0]] * by + far + 11 * u[[0, 0, -1]] - 13 * u[[0, 0, 2]]
}

/// One plane is kept of it where no face needs more.
#[stencil]
fn ahead(u: Near<i32, 3>, by: i32) -> i32 {
    u[[0, 0, 0]] * by + 3 * u[[1, 0, 0]] - 5 * u[[0, 0, -1]] + 7 * u[[0, 0, 1]]
}

/// A box, deeper on one side of every axis.
#[stencil]
fn tilted(u: Near<i32, 3>, by: i32) -> i32 {
    let before = u[[-1, 1, 0]] * by + u[[-1, -1, -1]] - 3 * u[[0, 0, -1]];
    before + u[[0, 1, 2]] - 5 * u[[0, -1, 1]] + 7 * u[[1, 0, 0]] + 11 * u[[1, 1, 1]]
}

#[stencil]
fn line(u: Near<i32, 1>, by: i32) -> i32 {
    u[[0]] * by + u[[-1]] - 3 * u[[2]] + 5 * u[[1]]
}

#[boundary]
fn shelf(at: [i64; 1], step: u64, add: i32) -> i32 {
    at[0] as i32 * 17 + add * (step as i32 + 1)
}

#[boundary]
fn wall(at: [i64; 2], step: u64, add: i32) -> i32 {
    (at[0] * 1_000 + at[1]) as i32 * 17 + add * (step as i32 + 1)
}

#[boundary]
fn shore(at: [i64; 2], step: u64) -> i32 {
    (at[1] * 1_000 - at[0]) as i32 * 23 - step as i32 * 5
}

#[boundary]
fn hull(at: [i64; 3], step: u64, add: i32) -> i32 {
    (at[0] * 10_000 + at[1] * 100 + at[2]) as i32 * 29 + add * (step as i32)
}

/// One pass of fused steps after others, in all cells, against single ones.
fn check<const D: usize>(stencil: &Spec, extents: [usize; D], policy: &CudaPolicy) {
    let mut start = noise::<i32, D>(extents, 44);
    run_reference(stencil, start.raw_mut(), BEFORE).unwrap();
    let mut expect = noise::<i32, D>(extents, 44);
    let steps = BEFORE + u64::from(policy.temporal_depth);
    run_reference(stencil, expect.raw_mut(), steps).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let whole = Region::whole(extents.into());
    let found = launch_after(stencil, (&start, BEFORE), policy, (&whole, None), folder.path());
    let Some(found) = found else { return println!("skipped: no C++ compiler") };
    let (found, _) = found.expect("no fault");
    let bad = differing(&found, |_| Some(&expect));
    let few = &bad[..bad.len().min(4)];
    assert!(bad.is_empty(), "{} cells differ: {few:?}, {}", bad.len(), stencil.boundaries);
}

fn check_flat(element: impl StencilElement<2, State = i32>, policy: &CudaPolicy) {
    use Boundary::{Dirichlet, Mirror, Neumann, Periodic};
    let of = |boundary| Stencil::of(element.clone()).boundary(boundary);
    let extents = [23, 150];
    check(&Stencil::of(element.clone()).boundary_by(wall(3)), extents, policy);
    let beside = |side| of(Neumann).face_by(1, side, wall(7));
    check(&beside(Face::Low).face(1, Face::High, Mirror), extents, policy);
    check(&beside(Face::High).face_by(0, Face::Low, shore()), extents, policy);
    check(
        &of(Periodic).face_by(0, Face::Low, wall(2)).face_by(0, Face::High, shore()),
        extents,
        policy,
    );
    let around = of(Periodic).face_by(1, Face::Low, wall(2)).face_by(1, Face::High, shore());
    check(&around, extents, policy);
    check(
        &of(Mirror).face_by(0, Face::High, wall(1)).face(1, Face::Low, Dirichlet(4.0)),
        extents,
        policy,
    );
}

#[test]
fn rows_between_functions() {
    check_flat(cross(3), &fused([4, 1, 1], 2, 4, 11));
    // Few of so many tiles are at faces: these go first.
    check(&Stencil::of(cross(3)).boundary_by(wall(3)), [23, 1150], &fused([4, 1, 1], 2, 4, 11));
    check_flat(slanted(3), &CudaPolicy { chunk: 9, ..fused([4, 1, 1], 1, 2, 11) });
}

#[test]
fn volumes_between_functions() {
    use Boundary::{Mirror, Neumann, Periodic};
    let (extents, policy) = ([11, 16, 70], fused([4, 4, 1], 4, 2, 2));
    check(&Stencil::of(star(3)).boundary_by(hull(3)), extents, &policy);
    check(&Stencil::of(ahead(3)).boundary_by(hull(3)), extents, &policy);
    let mixed = Stencil::of(star(3)).boundary(Neumann).face_by(1, Face::High, hull(5));
    check(&mixed.face(2, Face::High, Mirror).face_by(2, Face::Low, hull(2)), extents, &policy);
    let around = Stencil::of(star(3)).boundary(Periodic);
    let around = around.face_by(1, Face::Low, hull(2)).face_by(1, Face::High, hull(4));
    check(&around, extents, &policy);
}

#[test]
fn boxes_between_functions() {
    use Boundary::{Dirichlet, Mirror, Neumann, Periodic};
    let (extents, policy) = ([11, 16, 70], fused([4, 3, 1], 4, 2, 2));
    check(&Stencil::of(tilted(3)).boundary_by(hull(3)), extents, &policy);
    let mixed = Stencil::of(tilted(3)).boundary(Neumann).face_by(1, Face::High, hull(5));
    check(&mixed.face(2, Face::High, Mirror).face_by(2, Face::Low, hull(2)), extents, &policy);
    let ends = Stencil::of(tilted(3)).boundary(Mirror).face_by(0, Face::Low, hull(7));
    let ends = ends.face(0, Face::High, Dirichlet(5.0)).face_by(1, Face::Low, hull(9));
    check(&ends.face_by(2, Face::High, hull(4)), extents, &policy);
    let around = Stencil::of(tilted(3)).boundary(Periodic);
    let around = around.face_by(1, Face::Low, hull(2)).face_by(1, Face::High, hull(4));
    check(&around, extents, &policy);
}

#[test]
fn lines_between_functions() {
    let policy = fused([4, 1, 1], 3, 5, 1);
    for extents in [[431], [7], [130]] {
        check(&Stencil::of(line(3)).boundary_by(shelf(3)), extents, &policy);
        let one = Stencil::of(line(3)).boundary(Boundary::Mirror).face_by(0, Face::Low, shelf(7));
        check(&one, extents, &policy);
    }
}

#[test]
fn parts_tell_functions_where_they_are() {
    let mut stencil = Stencil::of(slanted(3)).boundary_by(wall(3)).into_spec();
    stencil.functions.frame.begin = [70, -1].into();
    stencil.functions.frame.period = [72, 0].into();
    check(&stencil, [23, 150], &fused([4, 1, 1], 1, 2, 11));
}
