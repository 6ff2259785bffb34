//! Fused steps of functions that ask where their cell is, may fault, or loop until a condition is met: on a GPU the bits of
//! the reference, and the faults of single steps.

use warpweft::cuda::{Device, compiler};
use warpweft::prelude::*;
use warpweft::stencil::cuda::compile_check;
use warpweft::stencil::{
    CudaKernel, CudaPolicy, CudaSweeps, Region, StencilElement, Sweep, SweepExecutor, reference,
};

#[stencil]
fn located(u: Near<i32, 2>, #[at] at: [usize; 2], #[step] step: u64, by: i32) -> i32 {
    let here = (at[0] * 1_000 + at[1]) as i32;
    (u[[0, 1]] & by) + (u[[-1, 0]] ^ (here + 7 * step as i32))
}

#[stencil]
fn located_star(u: Near<i32, 3>, #[at] at: [usize; 3], #[step] step: u64) -> i32 {
    let here = (at[0] * 10_000 + at[1] * 100 + at[2]) as i32;
    (u[[0, 0, 1]] & 0xffff) + (u[[-1, 0, 0]] ^ (here + 7 * step as i32)) - (u[[0, 1, 0]] & 0xff)
}

/// Divides by what is never 0 in a cell.
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
fn divided_box(u: Near<i32, 3>, by: i32) -> i32 {
    let near = if u[[0, 0, 1]] != 0 { u[[-1, 1, 0]] / u[[0, 0, 1]] } else { 0 };
    near + by * u[[0, 0, -1]] + u[[1, 1, 1]]
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
    a + (u[[1, 0]] + u[[0, -1]]) % most
}

/// Faults where a count ends, at another site for those above 1,000 than below.
#[stencil]
fn ends(u: Near<i32, 2>, by: i32) -> i32 {
    let count = u[[0, 0]];
    let early = if count > 1_000 { by / (count - 1_001) } else { 0 };
    let late = if count < 1_000 { by % (count - 1) } else { 0 };
    count - 1 + early - early + late - late + u[[0, 1]] - u[[0, 1]]
}

/// Faults at 0.
#[stencil]
fn by_itself(u: Near<i32, 2>, by: i32) -> i32 {
    let share = by / u[[0, 0]];
    u[[0, 0]] + share - share
}

/// Faults at 500, and makes 0 of it then.
#[stencil]
fn by_less(u: Near<i32, 2>, by: i32) -> i32 {
    if u[[0, 0]] == 500 { by % (u[[0, 0]] - 500) } else { u[[0, 0]] }
}

fn fused(cells: [u32; 3], warps: u32, temporal_depth: u32, prefetch: u32) -> CudaPolicy {
    CudaPolicy {
        kernel: CudaKernel::Temporal,
        cells,
        warps,
        min_blocks: 1,
        chunk: 7,
        prefetch,
        temporal_depth,
        phases: 0,
        contraction: false,
    }
}

fn sweep(first_step: u64, steps: u64, region: Region) -> Sweep {
    Sweep { first_step, steps, region, following: 0, keep_change: false }
}

/// Sweeps of fused steps, of these and single ones, and of single ones alone, between faces of some kinds. Without a GPU
/// the kernel is compiled.
fn check<const D: usize>(
    element: impl StencilElement<D, State = i32>,
    (extents, kinds): ([usize; D], &[Boundary]),
    policy: &CudaPolicy,
) {
    if compiler().is_err() {
        return println!("skipped: no NVRTC");
    }
    let start = Volume::from_fn(extents, |at| {
        at.iter().fold(17, |sum, n| (sum * 31 + *n as i32) % 199) + 1
    });
    for &kind in kinds {
        let stencil = Stencil::of(element.clone()).boundary(kind);
        let Ok(device) = Device::open(0) else {
            compile_check(&stencil, extents.into(), policy, "sm_90").unwrap();
            return;
        };
        let depth = u64::from(policy.temporal_depth);
        let mut sweeps = CudaSweeps::new(&stencil, &start, policy, &device).unwrap();
        let mut taken = 0;
        for steps in [2 * depth + 1, 18 * depth, 1, depth, 2] {
            sweeps.sweep(&sweep(taken, steps, Region::whole(extents.into()))).unwrap();
            taken += steps;
        }
        sweeps.finish().unwrap();
        let (mut expect, mut found) = (start.clone(), start.clone());
        reference(&stencil, &mut expect, taken).unwrap();
        sweeps.store(found.writable()).unwrap();
        assert!(found.as_slice() == expect.as_slice(), "{kind:?} {policy:?}");
    }
}

const EVEN: [Boundary; 4] =
    [Boundary::Dirichlet(3.0), Boundary::Periodic, Boundary::Neumann, Boundary::Mirror];

#[test]
fn fused_steps_know_where_cells_are() {
    check(located(0xffff), ([61, 300], &EVEN), &fused([4, 1, 1], 2, 4, 3));
    check(located_star(), ([21, 40, 140], &EVEN), &fused([4, 2, 1], 5, 2, 2));
}

#[test]
fn fused_steps_may_fault_and_loop() {
    check(divided(3), ([61, 300], &EVEN), &fused([4, 1, 1], 2, 4, 11));
    check(divided_star(3), ([21, 40, 140], &EVEN), &fused([4, 2, 1], 5, 2, 2));
    check(divided_line(3), ([5_003], &EVEN), &fused([4, 1, 1], 2, 5, 1));
    check(common(50), ([61, 120], &EVEN), &fused([4, 1, 1], 2, 2, 5));
}

/// Taken apart by planes it would divide before it asks whether it may.
#[test]
fn boxes_that_may_fault_take_single_steps() {
    let stencil = Stencil::of(divided_box(3));
    let policy = fused([4, 3, 1], 4, 2, 2);
    let error = compile_check(&stencil, [21, 40, 140].into(), &policy, "sm_90").unwrap_err();
    assert!(error.to_string().contains("several fused steps of this stencil"), "{error}");
    let candidates = CudaPolicy::candidates(&stencil, [210, 400, 400].into(), ((9, 0), 132));
    assert!(candidates.iter().all(|policy| policy.kernel != CudaKernel::Temporal));
}

#[test]
fn the_fault_of_fused_steps_is_that_of_the_first_step() {
    let Ok(device) = Device::open(0) else { return println!("skipped: no GPU") };
    let stencil = Stencil::of(ends(7)).boundary(Boundary::Dirichlet(5.0));
    let single =
        CudaPolicy { kernel: CudaKernel::Direct, temporal_depth: 1, ..fused([4, 1, 1], 2, 1, 3) };
    let extents = [500, 2_000];
    let of = |cells: [i32; 2], policy: &CudaPolicy| {
        let mut start = Volume::from_fn(extents, |_| 900);
        (start[[2, 3]], start[[490, 1_900]]) = (cells[0], cells[1]);
        let mut sweeps = CudaSweeps::new(&stencil, &start, policy, &device).unwrap();
        sweeps.sweep(&sweep(0, 16, Region::whole(extents.into()))).unwrap();
        sweeps.finish().map_err(|error| error.to_string())
    };
    let [early, late] = [1_001, 1];
    let mut seen = Vec::new();
    for cells in [
        [900, 900],
        [early + 3, 900],
        [900, late + 3],
        [early + 3, late + 5],
        [late + 5, early + 3],
        [late + 2, early + 3],
        [early + 3, late + 12],
        [early + 12, late + 9],
    ] {
        let expect = of(cells, &single);
        for (warps, depth) in [(2, 4), (2, 8), (1, 2)] {
            let found = of(cells, &fused([4, 1, 1], warps, depth, 3));
            assert_eq!(found, expect, "{cells:?} by {depth} steps");
        }
        seen.push(expect);
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 3, "no fault, and either site: {seen:?}");
}

/// The second stage faults, and what it leaves makes the third fault at the site of the first.
#[test]
fn the_fault_of_fused_stages_is_that_of_the_first_stage() {
    let Ok(device) = Device::open(0) else { return println!("skipped: no GPU") };
    let stages = (by_itself(7), by_less(7), by_itself(7));
    let stencil = Stencil::sequence(stages).boundary(Boundary::Dirichlet(5.0));
    let single =
        CudaPolicy { kernel: CudaKernel::Direct, temporal_depth: 1, ..fused([4, 1, 1], 2, 1, 3) };
    let extents = [50, 200];
    let of = |policy: &CudaPolicy| {
        let start = Volume::from_fn(extents, |at| if at == [20, 130] { 500 } else { 900 });
        let mut sweeps = CudaSweeps::new(&stencil, &start, policy, &device).unwrap();
        sweeps.sweep(&sweep(0, 4, Region::whole(extents.into()))).unwrap();
        sweeps.finish().unwrap_err().to_string()
    };
    assert_eq!(of(&fused([4, 1, 1], 2, 4, 3)), of(&single));
    assert!(of(&single).contains("remainder"), "{}", of(&single));
}
