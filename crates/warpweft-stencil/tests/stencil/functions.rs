//! Faces that are functions of position and time: exact solutions, and the same bits everywhere.

use std::time::Duration;

use crate::ranks::run_in_process;
use warpweft::cuda::{Device, compiler};
use warpweft::prelude::*;
use warpweft::stencil::cuda::compile_check;
use warpweft::stencil::drive::{Distribution, Ranks, footprints_of, run_on_cores};
use warpweft::stencil::{
    Boundaries, Checkpoint, CpuPolicy, CudaKernel, CudaPolicy, CudaSweeps, Partition, Region, Run,
    Sweep, SweepExecutor, Target, reference,
};

#[stencil]
fn conduct(u: Near<f64, 2>, rate: f64) -> f64 {
    let around = u[[-1, 0]] + u[[1, 0]] + u[[0, -1]] + u[[0, 1]];
    u[[0, 0]] + rate * (around - 4.0 * u[[0, 0]])
}

/// `e^(k(y + x)) g^t` with `g` the factor by which `conduct` changes it in a step: a solution of the
/// difference equation itself, everywhere.
#[boundary]
fn travelling(at: [i64; 2], step: u64, rate: f64, k: f64) -> f64 {
    let factor = 1.0 + rate * (2.0 * (k.exp() + (-k).exp()) - 4.0);
    (k * (at[0] + at[1]) as f64).exp() * factor.powi(step as i32)
}

fn machine() -> Machine {
    Machine::detect().expect("a machine")
}

#[test]
fn a_manufactured_solution_stays_exact_to_rounding() {
    let (rate, k) = (0.2, 0.03);
    let exact = |at: [usize; 2], step| travelling::cell(at.map(|n| n as i64), step, rate, k);
    let mut plate = Volume::from_fn([31, 40], |at| exact(at, 0));
    let stencil = Stencil::of(conduct(rate)).boundary_by(travelling(rate, k));
    for steps in [1, 60] {
        let before = plate.clone();
        let report = stencil.run(&mut plate, Steps(steps), &machine()).expect("a run");
        assert_eq!(report.done, steps);
        let mut worst = 0.0f64;
        for y in 0..31 {
            for x in 0..40 {
                let want = exact([y, x], steps);
                worst = worst.max((plate[[y, x]] / want - 1.0).abs());
            }
        }
        assert!(worst < 1e-13, "off by {worst:e} after {steps} steps");
        plate = before;
    }
    // With the values of a step later, or of a cell next to, it is not.
    let mut late = Volume::from_fn([31, 40], |at| exact(at, 0));
    Stencil::of(conduct(rate))
        .boundary_by(travelling(rate, k + 1e-6))
        .run(&mut late, Steps(60), &machine())
        .expect("a run");
    assert!((late[[0, 0]] / exact([0, 0], 60) - 1.0).abs() > 1e-8);
}

#[derive(Clone, Copy, Debug, PartialEq, Fields)]
#[repr(C)]
struct Water {
    height: f64,
    flow: f32,
    depth: f32,
}

#[stencil]
fn flow(now: Near<Water, 2>, next: &mut Water, dt: f32) {
    let slope = now.height[[1, 0]] - now.height[[0, 0]] + 0.25 * now.height[[0, 1]];
    next.flow = now.flow[[0, 0]] - dt * now.depth[[0, -1]] * slope as f32;
}

#[stencil]
fn rise(now: Near<Water, 2>, next: &mut Water, dt: f32) {
    next.height = 0.875 * now.height[[0, 0]] - (dt * (now.flow[[0, 0]] - now.flow[[-1, 1]])) as f64;
}

#[boundary]
fn tide(at: [i64; 2], step: u64, period: i64) -> Water {
    let phase = (at[0] * 3 + at[1] * 5 + step as i64).rem_euclid(period) as f32;
    Water { height: phase as f64 * 0.25, flow: 0.5 - 0.125 * phase, depth: 1.0 + 0.0625 * phase }
}

fn coast() -> (Stencil<Water, 2>, Volume<Water, 2>) {
    let stencil = Stencil::sequence((flow(0.25), rise(0.25)))
        .boundary(Boundary::Neumann)
        .face_by(0, Face::Low, tide(17))
        .face_by(1, Face::Low, tide(13))
        .face_by(1, Face::High, tide(11));
    let water = |[y, x]: [usize; 2]| Water {
        height: ((y * 7 + x * 3) % 11) as f64,
        flow: ((y + 2 * x) % 5) as f32,
        depth: 1.0 + (x % 3) as f32,
    };
    (stencil, Volume::from_fn([19, 23], water))
}

fn cells(volume: &Volume<Water, 2>) -> Vec<Vec<u8>> {
    (0..3).map(|f| volume.field_bytes(f).to_vec()).collect()
}

#[test]
fn ghost_zones_of_any_depth_on_any_grid_of_ranks_see_the_same_functions() {
    let cases: [(Stencil<Water, 2>, &str); 2] = {
        let (stencil, _) = coast();
        let around = stencil.clone().face(0, Face::Low, Boundary::Periodic).face(
            0,
            Face::High,
            Boundary::Periodic,
        );
        [(stencil, "a coast"), (around, "a channel that repeats")]
    };
    for (stencil, name) in cases {
        let (_, start) = coast();
        let mut expect = start.clone();
        reference(&stencil, &mut expect, 9).expect("well posed");
        for parts in [[1, 1], [2, 1], [1, 3], [3, 2]] {
            for depth in [1, 2, 3] {
                let faces = Boundaries(
                    [0, 1]
                        .map(|axis| {
                            let repeats = axis == 0 && name.contains("repeats");
                            [if repeats { Boundary::Periodic } else { Boundary::Neumann }; 2]
                        })
                        .into(),
                );
                let partition = Partition::grid([19, 23], parts, &faces).expect("parts");
                for boundary_first in [false, true] {
                    let distribution = Distribution {
                        partition: partition.clone(),
                        depth,
                        search: None,
                        fused_steps: 1,
                        boundary_first,
                    };
                    let soon = Duration::from_secs(60);
                    let mut plain = start.clone();
                    run_in_process(&stencil, &mut plain, 9, &distribution, soon).expect("a run");
                    assert!(cells(&plain) == cells(&expect), "{name} over {parts:?}, R = {depth}");
                    let policy = CpuPolicy::with_values(&[3, 4, 2, 8, 1]);
                    let mut swept = start.clone();
                    run_on_cores(&stencil, &mut swept, 9, &distribution, policy, &[vec![0]], soon)
                        .expect("a run");
                    assert!(
                        cells(&swept) == cells(&expect),
                        "{name}, swept over {parts:?}, R = {depth}"
                    );
                }
            }
        }
    }
    assert_eq!(footprints_of(&coast().0).len(), 2);
}

#[test]
fn a_resumed_run_goes_on_with_the_step_it_left_off_at() {
    let (stencil, start) = coast();
    let mut expect = start.clone();
    reference(&stencil, &mut expect, 24).expect("well posed");
    let folder = tempfile::tempdir().expect("a folder");
    let checkpoint = Checkpoint { directory: folder.path().join("state"), every: 8, resume: false };
    let run = Run { target: Target::Cpu, checkpoint: Some(&checkpoint), ..Run::default() };
    let mut volume = start.clone();
    stencil.run_with(&mut volume, Steps(17), &machine(), &run).expect("a run");
    let resumed = Checkpoint { resume: true, ..checkpoint.clone() };
    let run = Run { checkpoint: Some(&resumed), ..run };
    let mut volume = start.clone();
    stencil.run_with(&mut volume, Steps(24), &machine(), &run).expect("a run");
    assert!(cells(&volume) == cells(&expect));
    let ranks = Ranks { count: 3, grid: None, depth: Some(2) };
    let mut volume = start;
    stencil
        .run_with(
            &mut volume,
            Steps(24),
            &machine(),
            &Run { settings: run.settings.over(ranks), ..run.clone() },
        )
        .expect("a run");
    assert!(cells(&volume) == cells(&expect));
}

#[test]
fn a_face_without_its_function_is_refused() {
    let mut plate = Volume::<f64, 2>::zeroed([8, 8]).expect("a plate");
    let stencil = Stencil::of(conduct(0.2)).boundary(Boundary::Function);
    let error = stencil.run(&mut plate, Steps(1), &machine()).expect_err("no function").to_string();
    assert!(error.contains("no function for the low face of axis y"), "{error}");
    assert!(error.contains("face_by"), "{error}");
}

#[test]
fn kernels_of_functions_compile() {
    let stencil = Stencil::of(conduct(0.2)).boundary_by(travelling(0.2, 0.1));
    let (coast, _) = coast();
    for arch in ["sm_80", "sm_90"] {
        let policy = CudaPolicy::default_for(&stencil, [64, 64].into(), (9, 0));
        match compile_check(&stencil, [64, 64].into(), &policy, arch) {
            Err(error @ Error::Device { .. }) => return println!("skipped: {error}"),
            compiled => drop(compiled.expect("compiles")),
        }
        let policy = CudaPolicy::default_for(&coast, [64, 64].into(), (9, 0));
        compile_check(&coast, [64, 64].into(), &policy, arch).expect("compiles");
    }
}

#[test]
fn a_function_that_panics_is_a_fault_of_the_element() {
    #[boundary]
    fn bad(at: [i64; 2], step: u64) -> f64 {
        let divisor = step as i64 - 3;
        (at[0] / divisor) as f64
    }
    let mut plate = Volume::<f64, 2>::zeroed([8, 8]).expect("a plate");
    let stencil = Stencil::of(conduct(0.2)).boundary_by(bad());
    let run = Run { target: Target::Cpu, ..Run::default() };
    let error =
        stencil.run_with(&mut plate, Steps(9), &machine(), &run).expect_err("divides by zero");
    assert!(error.to_string().contains("divide by zero"), "{error}");
}

/// A tide without a division, whose bits are the same on a GPU.
#[boundary]
fn surge(at: [i64; 2], step: u64, mask: i64) -> Water {
    let phase = ((at[0] * 3 + at[1] * 5 + step as i64) & mask) as f32;
    Water { height: phase as f64 * 0.25, flow: 0.5 - 0.125 * phase, depth: 1.0 + 0.0625 * phase }
}

#[stencil]
fn turn(u: Near<i32, 3>, by: i32) -> i32 {
    let around = u[[-1, 0, 0]] - 3 * u[[1, 0, 0]] + 5 * u[[0, -1, 0]] - 7 * u[[0, 1, 0]];
    by * u[[0, 0, 0]] + around + 11 * u[[0, 0, -1]] - 13 * u[[0, 0, 1]]
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
fn shelf(at: [i64; 1], step: u64) -> i32 {
    at[0] as i32 * 17 + 5 * (step as i32)
}

#[boundary]
fn hull(at: [i64; 3], step: u64) -> i32 {
    (at[0] * 10_000 + at[1] * 100 + at[2]) as i32 + 17 * (step as i32)
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

/// Sweeps of fused steps, of these and single ones, and of single ones alone, against the reference. Without a GPU, the
/// kernel is compiled.
fn check_fused<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    start: &Volume<S, D>,
    policy: &CudaPolicy,
) {
    let Ok(device) = Device::open(0) else {
        compile_check(stencil, start.extents().into(), policy, "sm_90").expect("compiles");
        return;
    };
    let depth = u64::from(policy.temporal_depth);
    let mut expect = start.clone();
    let mut sweeps = CudaSweeps::new(stencil, start, policy, &device).expect("an executor");
    let mut taken = 0;
    for steps in [2 * depth + 1, 18 * depth, 1, depth, 2] {
        let region = Region::whole(start.extents().into());
        let sweep = Sweep { first_step: taken, steps, region, following: 0, keep_change: false };
        sweeps.sweep(&sweep).expect("a sweep");
        taken += steps;
    }
    sweeps.finish().expect("the end");
    reference(stencil, &mut expect, taken).expect("well posed");
    let mut found = start.clone();
    sweeps.store(found.writable()).expect("cells");
    for field in 0..stencil.cell.len() {
        assert!(found.field_bytes(field) == expect.field_bytes(field), "{}", stencil.boundaries);
    }
}

#[test]
fn fused_steps_ask_functions_in_every_step() {
    if compiler().is_err() {
        return println!("skipped: no NVRTC");
    }
    let flow_and_rise = || Stencil::sequence((flow(0.25), rise(0.25)));
    let (_, start) = coast();
    let start = Volume::from_fn([61, 300], |[y, x]| start.get([y % 19, x % 23]).expect("water"));
    let sides = flow_and_rise().boundary(Boundary::Neumann);
    let sides = sides.face_by(1, Face::Low, surge(31)).face_by(1, Face::High, surge(15));
    for stencil in [flow_and_rise().boundary_by(surge(63)), sides] {
        check_fused(&stencil, &start, &fused([4, 1, 1], 2, 4, 3));
    }
    let start = Volume::from_fn([21, 40, 140], |[z, y, x]| (z * 17 + y * 5 + x * 3) as i32 % 101);
    let around = Stencil::of(turn(3)).boundary(Boundary::Periodic).face_by(2, Face::Low, hull());
    let around = around.face(2, Face::High, Boundary::Mirror);
    let one_plane = Stencil::of(ahead(3)).boundary_by(hull());
    for stencil in [Stencil::of(turn(3)).boundary_by(hull()), around, one_plane] {
        check_fused(&stencil, &start, &fused([4, 2, 1], 4, 2, 2));
    }
    let round = Stencil::of(tilted(3)).boundary(Boundary::Periodic).face_by(1, Face::Low, hull());
    let round = round.face_by(1, Face::High, hull());
    let mixed = Stencil::of(tilted(3)).boundary(Boundary::Neumann).face_by(0, Face::High, hull());
    let mixed = mixed.face_by(2, Face::Low, hull()).face(1, Face::Low, Boundary::Mirror);
    for stencil in [Stencil::of(tilted(3)).boundary_by(hull()), round, mixed] {
        check_fused(&stencil, &start, &fused([4, 3, 1], 4, 2, 2));
    }
    let start = Volume::from_fn([10_007], |[x]| (x * 3) as i32 % 101);
    let one = Stencil::of(line(3)).boundary(Boundary::Mirror).face_by(0, Face::Low, shelf());
    for stencil in [Stencil::of(line(3)).boundary_by(shelf()), one] {
        check_fused(&stencil, &start, &fused([4, 1, 1], 3, 7, 1));
    }
}
