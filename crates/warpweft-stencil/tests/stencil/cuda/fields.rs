//! CUDA sweeps over several fields: sequences, fields of several types, fields written in place or
//! not always, and faults of the element function.

use warpweft::cuda::{Device, compiler};
use warpweft::prelude::*;
use warpweft::stencil::cuda::compile_check;
use warpweft::stencil::{CudaKernel, CudaPolicy, CudaSweeps, SweepExecutor, reference, sweeps};

/// Sound in a medium whose density varies: pressure and one velocity an axis.
#[derive(Clone, Copy, PartialEq, Debug, Fields)]
#[repr(C)]
struct Sound {
    vz: f32,
    vy: f32,
    vx: f32,
    p: f32,
    rho: f32,
}

#[stencil]
fn velocity(now: Near<Sound, 3>, next: &mut Sound, dt: f32) {
    let b = dt / now.rho[[0, 0, 0]];
    next.vz = now.vz[[0, 0, 0]] - b * (now.p[[1, 0, 0]] - now.p[[0, 0, 0]]);
    next.vy = now.vy[[0, 0, 0]] - b * (now.p[[0, 1, 0]] - now.p[[0, 0, 0]]);
    next.vx = now.vx[[0, 0, 0]] - b * (now.p[[0, 0, 1]] - now.p[[0, 0, 0]]);
}

#[stencil]
fn pressure(now: Near<Sound, 3>, next: &mut Sound, dt: f32) {
    let flow = now.vz[[0, 0, 0]] - now.vz[[-1, 0, 0]] + now.vy[[0, 0, 0]] - now.vy[[0, -1, 0]]
        + now.vx[[0, 0, 0]]
        - now.vx[[0, 0, -1]];
    next.p = now.p[[0, 0, 0]] - dt * now.rho[[0, 0, 0]] * flow;
}

/// Fields of one, four and eight bytes; `count` changes only where something happens.
#[derive(Clone, Copy, PartialEq, Debug, Fields)]
#[repr(C)]
struct Mixed {
    heat: f64,
    kind: u8,
    count: i32,
    hot: bool,
}

#[stencil]
fn react(now: Near<Mixed, 3>, next: &mut Mixed, rate: f64) {
    let around =
        now.heat[[-1, 0, 0]] + now.heat[[1, 0, 0]] + now.heat[[0, -1, 1]] + now.heat[[0, 1, -1]];
    next.heat = now.heat[[0, 0, 0]] * 0.5 + around * rate;
    if now.kind[[0, 0, 2]] > now.kind[[0, 0, -1]] {
        next.count = now.count[[0, 0, 0]] + now.kind[[0, 0, 0]] as i32;
        next.hot = now.heat[[0, 0, 0]] > 1.0;
    }
}

#[stencil]
fn share(now: Near<i32, 2>) -> i32 {
    100 / now[[0, 1]] + now[[0, -1]]
}

/// Without end for `n` 0, unless the fault ends it.
#[stencil]
fn fill(u: Near<i32, 2>, n: i32) -> i32 {
    let mut x = u[[0, 0]];
    while x < 10 {
        x += 10 / n;
    }
    x
}

fn noise(index: usize, of: u64) -> f64 {
    let mut h = (index as u64 ^ of << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    h ^= h >> 29;
    (h.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 / (1u64 << 24) as f64
}

fn policy(kernel: CudaKernel, cells: [u32; 3], warps: u32) -> CudaPolicy {
    CudaPolicy {
        kernel,
        cells,
        warps,
        min_blocks: 1,
        chunk: 7,
        prefetch: 2,
        temporal_depth: 1,
        phases: 0,
        contraction: false,
    }
}

fn policies() -> Vec<CudaPolicy> {
    vec![
        policy(CudaKernel::Direct, [4, 1, 2], 8),
        policy(CudaKernel::Direct, [2, 3, 2], 3),
        policy(CudaKernel::Planes, [4, 2, 1], 4),
        policy(CudaKernel::Planes, [2, 1, 1], 2),
    ]
}

/// Every policy against the reference, all fields bitwise.
fn check<S: Fields>(stencil: &Stencil<S, 3>, start: &Volume<S, 3>) {
    let device = match (compiler(), Device::open(0)) {
        (Err(error), _) => return println!("skipped: {error}"),
        (_, Err(error)) => {
            println!("compiled only: {error}");
            for policy in policies() {
                compile_check(stencil, start.extents().into(), &policy, "sm_90").unwrap();
            }
            return;
        }
        (_, Ok(device)) => device,
    };
    for boundary in [Boundary::Dirichlet(1.25), Boundary::Periodic, Boundary::Mirror] {
        let stencil = stencil.clone().boundary(boundary);
        let mut expect = start.clone();
        reference(&stencil, &mut expect, 5).unwrap();
        for policy in policies() {
            // Another volume than the one copied in: fields that are only read come back too.
            let mut found: Volume<S, 3> = Volume::zeroed(start.extents()).unwrap();
            let mut executor = CudaSweeps::new(&stencil, start, &policy, &device).unwrap();
            for sweep in sweeps(start.extents().into(), 5, 3, None) {
                executor.sweep(&sweep).unwrap();
            }
            executor.finish().unwrap();
            executor.store(found.writable()).unwrap();
            for f in 0..S::FIELDS.len() {
                let (found, expect) = (found.field_bytes(f), expect.field_bytes(f));
                assert!(found == expect, "{:?} differs: {boundary:?} {policy:?}", S::FIELDS[f]);
            }
        }
    }
}

#[test]
fn a_sequence_over_five_fields() {
    let start = Volume::from_fn([11, 14, 75], |[z, y, x]| {
        let cell = (z * 14 + y) * 75 + x;
        let value = |of| noise(cell, of) as f32;
        Sound { vz: value(1), vy: value(2), vx: value(3), p: value(4), rho: 1.0 + value(5) }
    });
    check(&Stencil::sequence((velocity(0.1), pressure(0.1))), &start);
    // A stage that reads what it writes elsewhere first: the order of the stages matters.
    check(&Stencil::sequence((pressure(0.1), velocity(0.1), pressure(0.2))), &start);
}

#[test]
fn fields_of_several_types_written_now_and_then() {
    let start = Volume::from_fn([9, 10, 133], |[z, y, x]| {
        let cell = (z * 10 + y) * 133 + x;
        Mixed {
            heat: 2.0 * noise(cell, 1),
            kind: (255.0 * noise(cell, 2)) as u8,
            count: cell as i32,
            hot: cell % 3 == 0,
        }
    });
    check(&Stencil::of(react(0.125)), &start);
}

#[test]
fn a_residual_counts_every_written_field_however_it_is_kept() {
    let Ok(device) = Device::open(0) else { return println!("skipped: no GPU") };
    let start = Volume::from_fn([5, 6, 40], |[z, y, x]| {
        let cell = (z * 6 + y) * 40 + x;
        Mixed { heat: noise(cell, 1), kind: cell as u8, count: 0, hot: false }
    });
    for residual in [Residual::Max, Residual::Sum, Residual::SumOfSquares] {
        let stencil = Stencil::of(react(0.125)).boundary(Boundary::Periodic);
        // The tolerance that the reference just meets after three steps, found by bisection.
        let steps = |tolerance| {
            let mut volume = start.clone();
            reference(&stencil.clone().until(residual, tolerance), &mut volume, 3).unwrap()
        };
        let mut executor = CudaSweeps::new(&stencil, &start, &policies()[0], &device).unwrap();
        let mut found = Vec::new();
        for mut sweep in sweeps([5, 6, 40].into(), 3, 1, None) {
            sweep.keep_change = true;
            executor.sweep(&sweep).unwrap();
            found.push(executor.residual(residual).unwrap());
        }
        // Stops at the first step exactly at its residual, and not just below it.
        assert_eq!(steps(found[0]), 1);
        assert!(found[0] == 0.0 || steps(found[0].next_down().min(found[1].next_down())) > 1);
        println!("{residual:?}: {found:?}");
    }
}

#[test]
fn a_division_by_zero_is_reported_with_its_place() {
    let Ok(device) = Device::open(0) else { return println!("skipped: no GPU") };
    let start = Volume::from_fn([20, 30], |[y, x]| if (y, x) == (7, 9) { 0 } else { 1 });
    let stencil = Stencil::of(share()).boundary(Boundary::Dirichlet(1.0));
    let mut executor = CudaSweeps::new(&stencil, &start, &policies()[0], &device).unwrap();
    let first = sweeps([20, 30].into(), 1, 1, None).next().unwrap();
    executor.sweep(&first).unwrap();
    let error = executor.finish().unwrap_err();
    assert!(matches!(error, Error::Element { .. }), "{error}");
    assert!(error.to_string().contains("cuda/fields.rs"), "{error}");
    assert!(error.to_string().contains("zero"), "{error}");
}

#[test]
fn a_loop_that_a_fault_leaves_without_end_ends_and_is_reported() {
    let start = Volume::from_fn([20, 30], |[y, x]| (y + x) as i32 % 12);
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    let Ok(device) = Device::open(0) else {
        compile_check(&Stencil::of(fill(0)), start.extents().into(), &policies()[0], "sm_90")
            .unwrap();
        return println!("compiled only: no GPU");
    };
    for n in [5, 0] {
        let stencil = Stencil::of(fill(n)).boundary(Boundary::Dirichlet(1.0));
        let mut executor = CudaSweeps::new(&stencil, &start, &policies()[0], &device).unwrap();
        for sweep in sweeps([20, 30].into(), 3, 1, None) {
            executor.sweep(&sweep).unwrap();
        }
        match (n, executor.finish()) {
            (0, Err(error)) => assert!(error.to_string().contains("divide by zero"), "{error}"),
            (n, ended) => assert!(n == 5 && ended.is_ok(), "{n}: {ended:?}"),
        }
    }
}
