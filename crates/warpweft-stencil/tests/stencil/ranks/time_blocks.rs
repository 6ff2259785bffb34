//! Ranks on GPUs that fuse steps of any stencil: time blocks that begin while a halo exchange is under way, and runs that
//! one GPU takes over from two ranks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::each_of;
use warpweft::cluster::in_process;
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft::stencil::drive::{Ranks, Route};
use warpweft::stencil::{
    Checkpoint, CudaKernel, CudaPolicy, Policy, Run, Settings, Target, reference,
};

/// Mixes all bits of a star.
#[stencil]
fn churn(u: Near<u32, 3>, by: u32) -> u32 {
    let mut hash = u[[0, 0, 0]] * by;
    hash = (hash ^ u[[-1, 0, 0]]) * 0x9e37_79b1 + u[[0, -1, 0]];
    hash = (hash ^ u[[1, 0, 0]]) * 0x85eb_ca6b + u[[0, 0, -1]];
    (hash ^ u[[0, 1, 0]]) * 0xc2b2_ae35 + u[[0, 0, 1]]
}

#[stencil]
fn spread(u: Near<f64, 2>, rate: f64) -> f64 {
    let around = u[[-1, 0]] + 0.9 * u[[1, 0]] + 0.8 * u[[0, -1]] + 1.1 * u[[0, 1]];
    u[[0, 0]] + rate * (around - 3.9 * u[[0, 0]])
}

#[derive(Clone, Copy, Debug, PartialEq, Fields)]
#[repr(C)]
struct Wave {
    v: f32,
    s: f64,
    rho: f32,
}

#[stencil]
fn velocity(now: Near<Wave, 2>, next: &mut Wave, dt: f32) {
    let slope = (now.s[[0, 1]] - now.s[[0, 0]] + now.s[[1, 0]]) as f32;
    next.v = now.v[[0, 0]] + dt * now.rho[[0, -1]] * slope;
}

#[stencil]
fn stress(now: Near<Wave, 2>, next: &mut Wave) {
    let bent = now.v[[0, -1]] - now.v[[-1, 0]] + 0.5 * now.v[[0, 0]];
    next.s = 0.9 * now.s[[0, 0]] + bent as f64;
}

const SOON: Duration = Duration::from_secs(60);
const STEPS: u64 = 58;

fn space() -> Volume<u32, 3> {
    Volume::from_fn([75, 53, 70], |[z, y, x]| (z * 911 + y * 83 + x * 7) as u32)
}

/// Cells a thread, warps and steps of a time block.
type Shape = ([u32; 3], u32, u32);

fn policy<const D: usize>((cells, warps, temporal_depth): Shape) -> Policy {
    Policy::Cuda(CudaPolicy {
        kernel: CudaKernel::Temporal,
        cells,
        warps,
        min_blocks: 1,
        chunk: 16,
        prefetch: if D == 2 { 3 } else { 2 },
        temporal_depth,
        phases: 0,
        contraction: false,
    })
}

/// What ranks come to that exchange halos after so many steps, and the exchanges of rank 0 next to which it computed.
fn over_ranks<S: Fields, const D: usize>(
    machine: &Machine,
    (stencil, start): (&Stencil<S, D>, &Volume<S, D>),
    (policy, ranks, route): (Policy, Ranks, Route),
) -> (Volume<S, D>, u64) {
    let found = in_process(ranks.count, SOON, |net| {
        let mut volume = start.clone();
        let run = Run {
            policy: Some(policy),
            settings: Settings::default().halos_by(route).over(ranks),
            net: Some(net),
            ..Run::default()
        };
        let report = stencil.run_with(&mut volume, Steps(STEPS), machine, &run)?;
        Ok((volume, report.policy["overlapped_exchanges"].as_u64().unwrap()))
    });
    found.unwrap().swap_remove(0)
}

/// Runs time blocks on ranks, whatever the boundaries, grids and depths; of slabs some begin during an exchange.
fn check<S: Fields, const D: usize>(
    machine: &Machine,
    stencil: &Stencil<S, D>,
    start: &Volume<S, D>,
    shape: Shape,
    grids: &[[usize; D]],
) {
    let (held, round) = (Boundary::Dirichlet(2.0), Boundary::Periodic);
    let of = |others: Boundary, low: Boundary, high: Boundary| {
        let stencil = stencil.clone().boundary(others);
        stencil.face(0, Face::Low, low).face(0, Face::High, high)
    };
    let all = [
        of(held, held, held),
        of(round, round, round),
        of(round, held, held),
        of(Boundary::Neumann, held, Boundary::Neumann),
    ];
    let ends = all.map(|stencil| {
        let mut expect = start.clone();
        reference(&stencil, &mut expect, STEPS).unwrap();
        (stencil, expect)
    });
    let fused = shape.2 as usize;
    let depths = [Some(fused), Some(2 * fused), Some(fused + 1), None];
    let cases = ends.iter().flat_map(|end| grids.iter().map(move |&grid| (end, grid)));
    let cases: Vec<_> =
        cases.flat_map(|(end, grid)| depths.map(|depth| (end, grid, depth))).collect();
    each_of(&cases, |&((stencil, expect), grid, depth)| {
        let route = if depth == Some(fused + 1) { Route::Staged } else { Route::Ipc };
        let ranks = Ranks { count: grid.iter().product(), grid: Some(grid.into()), depth };
        let how = (policy::<D>(shape), ranks, route);
        let (found, overlapped) = over_ranks(machine, (stencil, start), how);
        let of = format!("{:?}, {grid:?}, R = {depth:?} by {route}", stencil.boundaries);
        for field in 0..S::FIELDS.len() {
            assert!(found.field_bytes(field) == expect.field_bytes(field), "{field}: {of}");
        }
        let slabs = grid[1..].iter().all(|&parts| parts == 1);
        assert!(overlapped > 0 || !slabs || depth == Some(fused + 1), "{of}");
    });
}

#[test]
fn time_blocks_that_begin_during_an_exchange_give_the_bits_of_the_reference() {
    let machine = Machine::detect().unwrap();
    if machine.gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    let grids = [[2, 1, 1], [3, 1, 1], [1, 2, 1], [2, 1, 2]];
    check(&machine, &Stencil::of(churn(3)), &space(), ([2, 4, 1], 4, 3), &grids);
    let plane = Volume::from_fn([130, 190], |[y, x]| (y * x) as f64 * 0.01);
    let grids = [[2, 1], [4, 1], [1, 3], [2, 2]];
    check(&machine, &Stencil::of(spread(0.2)), &plane, ([4, 1, 1], 4, 4), &grids);
    let waves = Volume::from_fn([90, 147], |[y, x]| Wave {
        v: (y * 31 + x) as f32 * 0.01,
        s: (x * 17 + y) as f64 * 0.003,
        rho: 1.0 + (y % 3) as f32,
    });
    let wave = Stencil::sequence((velocity(0.01), stress()));
    check(&machine, &wave, &waves, ([4, 1, 1], 4, 4), &[[2, 1], [3, 1]]);
}

/// Two ranks with a GPU each of which either is asked to end, and one GPU that goes on from the state that they saved.
#[test]
fn an_interrupted_run_of_two_ranks_is_resumed_on_one_gpu() {
    let machine = Machine::detect().unwrap();
    if machine.gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    const STEPS: u64 = 40_000;
    let stencil = Stencil::of(churn(3)).boundary(Boundary::Periodic);
    let mut expect = space();
    let target = Target::AnyGpu;
    let alone = Run { target, ..Run::default() };
    stencil.run_with(&mut expect, Steps(STEPS), &machine, &alone).unwrap();
    for asked in 0..2 {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("kept");
        let at = |resume| Checkpoint { directory: directory.clone(), every: 6000, resume };
        let (begun, never) = (AtomicBool::new(false), AtomicBool::new(false));
        let ranks = Ranks { count: 2, grid: Some([2, 1, 1].into()), depth: None };
        let found = in_process(2, SOON, |net| {
            let progress = |done, _| begun.store(done > 5000, Ordering::Relaxed);
            let (saved, interrupt) = (at(false), if net.rank() == asked { &begun } else { &never });
            let run = Run {
                progress: Some(&progress),
                interrupt: Some(interrupt),
                checkpoint: Some(&saved),
                settings: Settings::default().over(ranks),
                net: Some(net),
                target,
                ..Run::default()
            };
            stencil.run_with(&mut space(), Steps(STEPS), &machine, &run)
        });
        let report = found.unwrap().swap_remove(0);
        assert!(report.interrupted && report.done < STEPS, "rank {asked}: {}", report.done);
        let (saved, mut volume) = (at(true), space());
        let resumed = Run { target, checkpoint: Some(&saved), ..Run::default() };
        assert_eq!(
            stencil.run_with(&mut volume, Steps(STEPS), &machine, &resumed).unwrap().done,
            STEPS
        );
        assert!(volume.as_slice() == expect.as_slice(), "rank {asked}");
    }
}
