//! Functions that are told their cell's index and the step: the same whatever computes them.

use warpweft::prelude::*;
use warpweft::stencil::cuda::compile_check;
use warpweft::stencil::drive::Ranks;
use warpweft::stencil::{
    CpuPolicy, CpuSweeps, CudaKernel, CudaPolicy, Policy, Run, SweepExecutor, Target, reference,
    sweeps,
};

#[stencil]
fn walk(u: Near<i64, 2>, #[at] at: [usize; 2], #[step] step: u64, by: i64) -> i64 {
    let here = (at[0] * 1000 + at[1]) as i64;
    (u[[0, 1]] * by + u[[-1, 0]]) ^ (here + 7 * step as i64)
}

/// Two stages, of which one is told the step alone.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
struct Pair {
    a: f64,
    b: f32,
    c: u8,
}

#[stencil]
fn forced(now: Near<Pair, 3>, next: &mut Pair, #[step] step: u64, period: u64) {
    let force = (step % period) as f64;
    next.a = 0.5 * now.a[[0, 0, 0]] + 0.125 * (now.a[[0, 0, 1]] + now.a[[-1, 0, 0]]) + force;
}

#[stencil]
fn layered(now: Near<Pair, 3>, next: &mut Pair, #[at] at: [usize; 3]) {
    let depth = at[0] as f32 - 0.25 * at[2] as f32;
    next.b = 0.5 * now.b[[0, -1, 0]] + now.a[[0, 1, 0]] as f32 * depth;
    next.c = (at[1] % 3) as u8 + now.c[[0, 0, 0]] / 2;
}

fn start() -> Volume<i64, 2> {
    Volume::from_fn([13, 19], |[y, x]| (y * 31 + x * 17) as i64 % 23)
}

fn block() -> Volume<Pair, 3> {
    Volume::from_fn([9, 7, 17], |[z, y, x]| Pair {
        a: ((z * 5 + y * 3 + x) % 7) as f64,
        b: (x % 4) as f32,
        c: y as u8,
    })
}

#[test]
fn the_reference_is_a_plain_loop() {
    let mut found = start();
    reference(&Stencil::of(walk(3)).boundary(Boundary::Periodic), &mut found, 5).unwrap();
    let mut cells = start();
    for step in 0..5 {
        let before = cells.clone();
        for y in 0..13 {
            for x in 0..19 {
                let (east, north) = (before[[y, (x + 1) % 19]], before[[(y + 12) % 13, x]]);
                cells[[y, x]] = (east * 3 + north) ^ ((1000 * y + x) as i64 + 7 * step);
            }
        }
    }
    assert_eq!(found.as_slice(), cells.as_slice());
    let near = start();
    let call = walk::cell(near.near([4, 5]), [4, 5], 2, 3);
    assert_eq!(call, (near[[4, 6]] * 3 + near[[3, 5]]) ^ (4005 + 14));
}

/// The volume after 17 steps by shapes of all kinds on the cores, from sweeps of 10 and 7.
fn on_cores<S: Fields, const D: usize>(stencil: &Stencil<S, D>, start: &Volume<S, D>) {
    let mut expect = start.clone();
    reference(stencil, &mut expect, 17).unwrap();
    let cores = Machine::detect().unwrap().cpu.cores;
    for (threads, depth, rows, cells) in
        [(1, 1, 32, 4096), (2, 3, 2, 8), (1, 4, 3, 16), (3, 2, 1, 5)]
    {
        let policy = CpuPolicy {
            temporal_depth: depth,
            tile_rows: rows,
            tile_cells: cells,
            slab_planes: 2,
            unroll_and_jam: 2,
        };
        let pool = warpweft::cpu::Pool::over(&cores, threads).unwrap();
        let simd = warpweft::cpu::Simd::detect();
        let mut executor = CpuSweeps::new(stencil, start, policy, pool.into(), simd).unwrap();
        let mut done = 0;
        for steps in [10, 7] {
            for mut sweep in sweeps(start.extents().into(), steps, steps, None) {
                sweep.first_step += done;
                executor.sweep(&sweep).unwrap();
            }
            done += steps;
        }
        let mut found: Volume<S, D> = Volume::zeroed(start.extents()).unwrap();
        executor.store(found.writable()).unwrap();
        same(&found, &expect, &format!("{policy:?}"));
    }
}

fn same<S: Fields, const D: usize>(found: &Volume<S, D>, expect: &Volume<S, D>, what: &str) {
    for f in 0..S::FIELDS.len() {
        assert!(found.field_bytes(f) == expect.field_bytes(f), "field {f}, {what}");
    }
}

/// The same on ranks that cut every axis.
fn on_ranks<S: Fields, const D: usize>(stencil: &Stencil<S, D>, start: &Volume<S, D>) {
    let mut expect = start.clone();
    reference(stencil, &mut expect, 11).unwrap();
    let machine = Machine::detect().unwrap();
    for (axis, depth) in (0..D).flat_map(|axis| [(axis, 1), (axis, 3)]) {
        let mut grid = [1; D];
        grid[axis] = 2;
        let ranks = Ranks { count: 2, grid: Some(grid.into()), depth: Some(depth) };
        let run = Run { target: Target::Cpu, threads: Some(1), ..Run::default() };
        let run = Run { settings: run.settings.over(ranks), ..run };
        let mut found = start.clone();
        stencil.run_with(&mut found, Steps(11), &machine, &run).unwrap();
        same(&found, &expect, &format!("{grid:?}, every {depth}"));
    }
}

#[stencil]
fn placed(u: Near<i64, 2>, #[at] at: [usize; 2]) -> i64 {
    u[[0, 1]] * 3 + u[[-1, 0]] + (at[0] * 1000 + at[1]) as i64
}

#[stencil]
fn spread(u: Near<i64, 2>) -> i64 {
    (u[[1, 0]] + 5 * u[[0, 1]] + 7 * u[[-1, 0]] + 11 * u[[0, -1]]) % 100_003
}

#[test]
fn a_volume_smaller_than_the_reach_of_all_stages_tells_it_too() {
    for extents in [[3, 3], [1, 2], [2, 1], [3, 19], [13, 2]] {
        let start = Volume::from_fn(extents, |[y, x]| (y * 31 + x * 17) as i64 % 23);
        let stages = (placed(), spread(), spread(), spread(), spread(), spread());
        let stencil = Stencil::sequence(stages).boundary(Boundary::Periodic);
        on_cores(&stencil, &start);
    }
}

#[test]
fn every_shape_and_every_rank_tells_the_same() {
    for boundary in [Boundary::Periodic, Boundary::Mirror] {
        let flat = Stencil::of(walk(3)).boundary(boundary);
        on_cores(&flat, &start());
        on_ranks(&flat, &start());
        let deep = Stencil::sequence((forced(5), layered())).boundary(boundary);
        on_cores(&deep, &block());
        on_ranks(&deep, &block());
    }
}

#[test]
fn gpus_take_single_and_fused_steps_of_it() {
    let flat = Stencil::of(walk(3));
    let default = CudaPolicy::default_for(&flat, [64, 64].into(), (9, 0));
    assert_eq!(default.kernel, CudaKernel::Direct);
    let candidates = CudaPolicy::candidates(&flat, [640, 640].into(), ((9, 0), 132));
    assert!(candidates.iter().any(|policy| policy.kernel == CudaKernel::Temporal));
    for policy in candidates {
        assert!(matches!(policy.kernel, CudaKernel::Direct | CudaKernel::Temporal), "{policy:?}");
    }
    let shape = CudaPolicy { chunk: 8, prefetch: 3, temporal_depth: 8, ..default };
    let stays = CudaPolicy { kernel: CudaKernel::Resident, ..shape };
    let error = compile_check(&flat, [64, 64].into(), &stays, "sm_90").unwrap_err().to_string();
    assert!(error.contains("can't run a function with `#[at]`"), "{error}");
    if let Err(error) = warpweft::cuda::compiler() {
        return println!("skipped: {error}");
    }
    for arch in ["sm_80", "sm_90"] {
        compile_check(&flat, [64, 64].into(), &default, arch).unwrap();
        let deep = Stencil::sequence((forced(5), layered()));
        let policy = CudaPolicy::default_for(&deep, [9, 7, 17].into(), (9, 0));
        compile_check(&deep, [9, 7, 17].into(), &policy, arch).unwrap();
    }
}

#[test]
fn a_policy_for_the_cores_is_taken() {
    let flat = Stencil::of(walk(3));
    let policy =
        CpuPolicy { temporal_depth: 4, tile_cells: 16, tile_rows: 1, ..CpuPolicy::default() };
    let run = Run { policy: Some(Policy::Cpu(policy)), ..Run::default() };
    let (mut found, mut expect) = (start(), start());
    flat.run_with(&mut found, Steps(9), &Machine::detect().unwrap(), &run).unwrap();
    reference(&flat, &mut expect, 9).unwrap();
    same(&found, &expect, "a policy");
}
