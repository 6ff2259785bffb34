//! Fused steps of functions that ask where their cell is, may fault, or loop until a condition is met.

use super::launch::launch_after;
use super::{differing, fused, noise};
use crate::prelude::*;
use crate::reference::run_reference;
use crate::{CudaPolicy, Region, Spec, StencilElement};
use warpweft_core::grid::Volume;

/// Steps that were done before.
const BEFORE: u64 = 3;

#[stencil]
fn located(u: Near<i32, 2>, #[at] at: [usize; 2], #[step] step: u64, by: i32) -> i32 {
    let here = (at[0] * 1_000 + at[1]) as i32;
    (u[[0, 1]] * by + u[[-1, 0]]) ^ (here + 7 * step as i32)
}

#[stencil]
fn located_deep(u: Near<i32, 3>, #[at] at: [usize; 3], #[step] step: u64, by: i32) -> i32 {
    let here = (at[0] * 10_000 + at[1] * 100 + at[2]) as i32;
    (u[[0, 0, 1]] * by + u[[-1, 0, 0]] - u[[0, 1, 0]]) ^ (here + 7 * step as i32)
}

#[stencil]
fn located_line(u: Near<i32, 1>, #[at] at: [usize; 1], #[step] step: u64, by: i32) -> i32 {
    (u[[2]] - by * u[[-1]]) ^ (at[0] as i32 + 7 * step as i32)
}

/// Divides by what is never 0 in a cell, and is 0 in rows that are not there yet.
#[stencil]
fn divided(u: Near<i32, 2>, by: i32) -> i32 {
    let near = u[[-1, 0]] / u[[0, 1]] + u[[1, -1]];
    (near + by * u[[0, -1]]) % 1_000 * 2 + 2_001
}

#[stencil]
fn divided_star(u: Near<i32, 3>, by: i32) -> i32 {
    let near = u[[-1, 0, 0]] / u[[0, 0, 1]] + u[[1, 0, 0]] / u[[0, -1, 0]];
    (near + by * u[[0, 0, -1]] + u[[0, 1, 0]]) % 1_000 * 2 + 2_001
}

#[stencil]
fn divided_line(u: Near<i32, 1>, by: i32) -> i32 {
    (u[[-1]] / u[[1]] + by * u[[0]]) % 1_000 * 2 + 2_001
}

/// Euclid's algorithm by subtraction, which goes on for ever where one of both is 0.
#[stencil]
fn common(u: Near<i32, 2>, most: i32) -> i32 {
    let mut a = u[[-1, 0]];
    let mut b = u[[0, 1]];
    while a != b {
        if a > b {
            a -= b;
        } else {
            b -= a;
        }
    }
    a + u[[1, 0]] % most
}

#[stencil]
fn counted(u: Near<i32, 3>, most: i32) -> i32 {
    let mut a = u[[-1, 0, 0]];
    let mut steps = 0;
    while a != 1 {
        a = if a % 2 == 0 { a / 2 } else { 3 * a + 1 };
        steps += 1;
    }
    steps % most + 1 + u[[0, 1, 0]] % 2 + u[[0, 0, -1]] % 2 + u[[1, 0, 0]] % 2
}

/// Faults in the step in which a count ends: at another site for the counts that end first.
#[stencil]
fn ends(u: Near<i32, 2>, by: i32) -> i32 {
    let count = u[[0, 0]];
    let early = if count > 1_000 { by / (count - 1_001) } else { 0 };
    let late = if count < 1_000 { by % (count - 1) } else { 0 };
    count - 1 + early - early + late - late + u[[0, 1]] - u[[0, 1]]
}

fn run<const D: usize>(
    stencil: &Spec,
    start: &Volume<i32, D>,
    policy: &CudaPolicy,
) -> Option<Result<Volume<i32, D>, u32>> {
    let folder = tempfile::tempdir().unwrap();
    let whole = Region::whole(start.extents().into());
    let found = launch_after(stencil, (start, BEFORE), policy, (&whole, None), folder.path())?;
    Some(found.map(|(cells, _)| cells))
}

/// One pass of fused steps after others, in all cells, against single ones, from cells of at least 1.
fn check<const D: usize>(stencil: &Spec, extents: [usize; D], policy: &CudaPolicy) {
    let mut start = noise::<i32, D>(extents, 44);
    start.as_mut_slice().iter_mut().for_each(|cell| *cell = cell.rem_euclid(200) + 1);
    let mut expect = start.clone();
    run_reference(stencil, start.raw_mut(), BEFORE).unwrap();
    let steps = BEFORE + u64::from(policy.temporal_depth);
    run_reference(stencil, expect.raw_mut(), steps).unwrap();
    let Some(found) = run(stencil, &start, policy) else {
        return println!("skipped: no C++ compiler");
    };
    let found = found.expect("no cell faults");
    let bad = differing(&found, |_| Some(&expect));
    let few = &bad[..bad.len().min(4)];
    assert!(bad.is_empty(), "{} cells differ: {few:?}, {}", bad.len(), stencil.boundaries);
}

fn check_faces<const D: usize>(
    element: impl StencilElement<D, State = i32>,
    extents: [usize; D],
    policy: &CudaPolicy,
) {
    for boundary in [Boundary::Dirichlet(3.0), Boundary::Periodic] {
        check(&Stencil::of(element.clone()).boundary(boundary), extents, policy);
    }
}

#[test]
fn cells_know_where_they_are() {
    check_faces(located(3), [23, 150], &fused([4, 1, 1], 2, 4, 3));
    check_faces(located_deep(3), [11, 16, 70], &fused([4, 4, 1], 4, 2, 2));
    check_faces(located_line(3), [431], &fused([4, 1, 1], 2, 5, 1));
    check(
        &Stencil::of(located(3)).boundary(Boundary::Mirror),
        [23, 150],
        &fused([4, 1, 1], 2, 4, 3),
    );
}

#[test]
fn cells_of_a_part_know_where_they_are() {
    let mut stencil = Stencil::of(located(3)).boundary(Boundary::Dirichlet(2.0)).into_spec();
    stencil.functions.frame.begin = [70, 40].into();
    let whole = Stencil::of(located(3)).boundary(Boundary::Dirichlet(2.0)).into_spec();
    let start = noise::<i32, 2>([23, 150], 44);
    let policy = fused([4, 1, 1], 2, 4, 3);
    let Some(own) = run(&whole, &start, &policy) else { return };
    let moved = run(&stencil, &start, &policy).expect("a compiler").expect("no fault");
    assert!(
        own.expect("no fault").as_slice() != moved.as_slice(),
        "the part is told where it begins"
    );
}

#[test]
fn only_cells_that_matter_fault() {
    check_faces(divided(3), [23, 150], &fused([4, 1, 1], 2, 4, 11));
    check_faces(divided_star(3), [11, 16, 70], &fused([4, 4, 1], 4, 2, 2));
    check_faces(divided_line(3), [431], &fused([4, 1, 1], 2, 5, 1));
    let policy = CudaPolicy { chunk: 9, ..fused([4, 1, 1], 2, 4, 11) };
    check(&Stencil::of(divided(3)).boundary(Boundary::Mirror), [23, 150], &policy);
    check(&Stencil::of(divided(3)).boundary(Boundary::Neumann), [23, 150], &policy);
}

#[test]
fn only_cells_that_matter_loop() {
    check_faces(common(50), [23, 80], &fused([4, 1, 1], 2, 2, 3));
    check_faces(counted(97), [9, 8, 40], &fused([2, 2, 1], 4, 2, 2));
}

#[test]
fn the_first_fault_is_that_of_the_first_step() {
    let stencil = Stencil::of(ends(7)).boundary(Boundary::Dirichlet(5.0)).into_spec();
    let policy = fused([4, 1, 1], 2, 8, 3);
    let of = |cells: [i32; 2]| {
        let mut start = Volume::from_fn([23, 150], |_| 900);
        // The block that stores the second cell ends long after that of the first.
        (start[[2, 3]], start[[20, 140]]) = (cells[0], cells[1]);
        run(&stencil, &start, &policy)
    };
    let Some(none) = of([900, 900]) else { return println!("skipped: no C++ compiler") };
    assert!(none.is_ok());
    let [early, late] = [1_001 + 2, 1 + 4];
    let first = of([early, 900]).expect("a compiler").expect_err("divides by zero");
    let second = of([late, 900]).expect("a compiler").expect_err("takes a remainder of zero");
    assert_ne!(first, second);
    for (cells, site) in
        [([early, late], first), ([late, early], first), ([late - 3, early], second)]
    {
        assert_eq!(of(cells).expect("a compiler").expect_err("faults"), site, "{cells:?}");
    }
}
