//! Ranks compute what their own cells depend on and nothing else: so many cells, and no states but those that
//! the run comes by, so that a function faults, or goes on for ever, over ranks where one process does.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use warpweft::cluster::in_process;
use warpweft::cuda::Device;
use warpweft::element::{Near, Unchecked, Unit};
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft::stencil::drive::{Distribution, Ranks, footprints_of, run_on_cores};
use warpweft::stencil::{
    Boundaries, CpuPolicy, Partition, Probe, Reach, Residual, Run, StencilElement, Tap, Target,
    reference,
};

const SOON: Duration = Duration::from_secs(120);

/// Two fields that are stepped in turn.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
#[repr(C)]
struct Pair {
    v: i32,
    s: i32,
}

/// Every cell is the number of steps done: a read of cells of two states finds them to differ.
#[stencil]
fn tick(u: Near<i32, 2>) -> i32 {
    assert!(u[[-2, 0]] == u[[0, 0]]);
    assert!(u[[1, 1]] == u[[0, 0]]);
    assert!(u[[0, -1]] == u[[0, 0]]);
    u[[0, 0]] + 1
}

#[stencil]
fn advance(now: Near<Pair, 2>, next: &mut Pair) {
    assert!(now.s[[1, 0]] == now.v[[0, 0]]);
    assert!(now.s[[0, -2]] == now.v[[0, 0]]);
    next.v = now.v[[0, 0]] + 1;
}

#[stencil]
fn follow(now: Near<Pair, 2>, next: &mut Pair) {
    assert!(now.v[[-1, 0]] == now.s[[0, 0]] + 1);
    assert!(now.v[[0, 1]] == now.s[[0, 0]] + 1);
    next.s = now.s[[0, 0]] + 1;
}

/// Goes on for ever where neighbours differ.
#[stencil]
fn patient(u: Near<i32, 3>) -> i32 {
    let mut apart = u[[1, 0, 0]] - u[[-1, 0, 0]];
    while apart != 0 {
        apart = -apart;
    }
    let mut beside = u[[0, 1, 0]] - u[[0, 0, -1]];
    while beside != 0 {
        beside = -beside;
    }
    u[[0, 0, 0]] + 1
}

/// Divides by what is zero beyond the volume's slope alone.
#[stencil]
fn slope(u: Near<i32, 2>) -> i32 {
    if 1000 / (u[[1, 0]] - u[[0, 0]]) > 5000 { 0 } else { u[[0, 0]] }
}

#[boundary]
fn steps_done(_at: [i64; 2], step: u64) -> i32 {
    step as i32
}

/// On ranks of this process, which all compute where `target` says: any depth of ghost zones, found too.
fn the_same_on_ranks<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    start: &Volume<S, D>,
    grids: &[[usize; D]],
    target: Target,
) {
    let machine = Machine::detect().unwrap();
    let mut expect = start.clone();
    let steps = reference(stencil, &mut expect, 13).unwrap();
    for &grid in grids {
        let count = grid.iter().product();
        for depth in [Some(1), Some(2), Some(3), None] {
            let ranks = Ranks { count, grid: Some(grid.into()), depth };
            let found = in_process(count, SOON, |net| {
                let mut volume = start.clone();
                let run = Run { target, threads: Some(1), ..Run::default() };
                let report = stencil.run_with(
                    &mut volume,
                    Steps(13),
                    &machine,
                    &Run { settings: run.settings.over(ranks), net: Some(net), ..run.clone() },
                )?;
                Ok((volume, report))
            });
            let (found, report) = found.unwrap().swap_remove(0);
            assert_eq!(report.done, steps, "{ranks:?}");
            for field in 0..S::FIELDS.len() {
                let same = found.field_bytes(field) == expect.field_bytes(field);
                assert!(same, "field {field}, {ranks:?}");
            }
        }
    }
}

fn no_state_that_the_run_does_not_come_by(target: Target) {
    let grids = [[2, 1], [1, 2], [3, 2]];
    let zeros = Volume::from_fn([36, 27], |_| 0);
    let mixed = |stencil: Stencil<i32, 2>| {
        let stencil = stencil.face(0, Face::Low, Boundary::Mirror);
        stencil.face(0, Face::High, Boundary::Neumann).face(1, Face::Low, Boundary::Periodic).face(
            1,
            Face::High,
            Boundary::Periodic,
        )
    };
    let ticking = mixed(Stencil::of(tick()));
    let pairs = Volume::from_fn([36, 27], |_| Pair { v: 0, s: 0 });
    let following = Stencil::sequence((advance(), follow())).boundary(Boundary::Neumann);
    the_same_on_ranks(&ticking, &zeros, &grids, target);
    the_same_on_ranks(&following, &pairs, &grids, target);
    the_same_on_ranks(&following.boundary(Boundary::Periodic), &pairs, &grids, target);
    // What cuts swaps' steps in pieces: probes, and residuals.
    let probed = ticking.clone().probe(Probe { field: 0, at: vec![[17, 13], [0, 26]], every: 2 });
    the_same_on_ranks(&probed, &zeros, &grids, target);
    let checked = ticking.until_every(Residual::Max, 0.5, 3);
    the_same_on_ranks(&checked, &zeros, &grids, target);
    let held = Stencil::of(tick()).boundary(Boundary::Neumann);
    let held = held.face_by(0, Face::Low, steps_done()).face_by(1, Face::High, steps_done());
    the_same_on_ranks(&held, &zeros, &grids, target);
    the_same_on_ranks(
        &held.probe(Probe { field: 0, at: vec![[9, 9]], every: 2 }),
        &zeros,
        &grids,
        target,
    );
    let cube = Volume::from_fn([18, 14, 22], |_| 0);
    let patient = Stencil::of(patient()).boundary(Boundary::Neumann);
    the_same_on_ranks(&patient, &cube, &[[2, 1, 1], [1, 2, 2]], target);
    let ramp = Volume::from_fn([36, 27], |[y, x]| (y * 27 + x) as i32);
    let slope = Stencil::of(slope()).boundary(Boundary::Dirichlet(7777.0));
    the_same_on_ranks(&slope, &ramp, &grids, target);
}

#[test]
fn ranks_on_cores_compute_no_state_that_the_run_does_not_come_by() {
    no_state_that_the_run_does_not_come_by(Target::Cpu);
}

#[test]
fn ranks_on_gpus_compute_no_state_that_the_run_does_not_come_by() {
    match Device::open(0) {
        Ok(_) => no_state_that_the_run_does_not_come_by(Target::Gpu(0)),
        Err(error) => println!("skipped: {error}"),
    }
}

/// How often the element function below was called.
static CALLS: AtomicUsize = AtomicUsize::new(0);

#[derive(Clone, Copy)]
#[repr(C)]
struct Counted;

impl Counted {
    fn sum<N: Copy + AddAssign>(taps: [N; 4], next: &mut N) {
        CALLS.fetch_add(1, Ordering::Relaxed);
        *next = taps[0];
        taps[1..].iter().for_each(|tap| *next += *tap);
    }
}

// SAFETY: the taps listed are those read, and the C++ struct has no members either.
unsafe impl StencilElement<3> for Counted {
    type State = f32;
    const NAME: &'static str = "counted";
    const TAPS: &'static [Tap<3>] = &[
        Tap { field: 0, offset: [-2, 0, 0] },
        Tap { field: 0, offset: [1, 0, 0] },
        Tap { field: 0, offset: [0, 1, -1] },
        Tap { field: 0, offset: [0, 0, 0] },
    ];
    const WRITES: &'static [usize] = &[0];
    fn cell(&self, u: Near<'_, f32, 3>, next: &mut f32, _: warpweft::stencil::Place<3>) {
        Self::sum([u[[-2, 0, 0]], u[[1, 0, 0]], u[[0, 1, -1]], u[[0, 0, 0]]], next);
    }
    unsafe fn cell_unchecked(
        &self,
        u: <f32 as Fields>::Near<'_, Unchecked<3>, 3>,
        next: &mut f32,
        _: warpweft::stencil::Place<3>,
    ) {
        Self::sum([u[[-2, 0, 0]], u[[1, 0, 0]], u[[0, 1, -1]], u[[0, 0, 0]]], next);
    }
    fn cuda(unit: &mut Unit) -> String {
        unit.define("Counted", "counted", |_, name| format!("struct {name};"))
    }
}

/// B2R's equation (2), cell by cell. Rows are shorter than a vector, whose last one is computed twice.
#[test]
fn a_function_is_called_as_often_as_dependence_wants() {
    let extents = [24, 16, 14];
    let start = Volume::from_fn(extents, |[z, y, x]| (z * 5 + y * 3 + x) as f32);
    let axes = [[Boundary::Periodic; 2], [Boundary::Mirror; 2], [Boundary::Neumann; 2]];
    let boundaries = Boundaries(axes.into());
    let mut stencil = Stencil::of(Counted);
    for (axis, [low, high]) in axes.into_iter().enumerate() {
        stencil = stencil.face(axis, Face::Low, low).face(axis, Face::High, high);
    }
    let stages = footprints_of(&stencil);
    let steps = 10;
    let policies = [
        CpuPolicy::default(),
        CpuPolicy {
            temporal_depth: 3,
            tile_rows: 3,
            slab_planes: 2,
            tile_cells: 5,
            unroll_and_jam: 2,
        },
    ];
    let mut counts = Vec::new();
    for grid in [[2, 1, 1], [3, 2, 2], [2, 2, 1]] {
        for depth in 1..=4 {
            let partition = Partition::grid(extents, grid, &boundaries).unwrap();
            let mut expect = 0;
            let mut left = steps;
            while left > 0 {
                let reach = Reach::new(3, &stages, 1, depth.min(left));
                left -= reach.depth;
                for margin in reach.compute.iter().flatten() {
                    let cells = |part| partition.grown(part, margin).cells();
                    expect += (0..partition.parts()).map(cells).sum::<usize>();
                }
            }
            let distribution = Distribution {
                partition,
                depth,
                search: None,
                fused_steps: 1,
                boundary_first: false,
            };
            for policy in policies {
                CALLS.store(0, Ordering::Relaxed);
                let cores = [vec![0]];
                let volume = &mut start.clone();
                run_on_cores(&stencil, volume, steps as u64, &distribution, policy, &cores, SOON)
                    .unwrap();
                let calls = CALLS.load(Ordering::Relaxed);
                assert_eq!(calls, expect, "{grid:?}, R = {depth}, {policy:?}");
            }
            counts.push(expect);
        }
    }
    // Without ghost zones' cells all would be the volume's.
    let own = steps * extents.iter().product::<usize>();
    assert!(counts.iter().all(|&cells| cells >= own) && counts[3] > own, "{counts:?}");
}
