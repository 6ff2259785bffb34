//! Sweeps over several GPUs: kernels compile without a GPU; with one or more, slabs give the
//! reference's bits. One GPU holds several slabs then, several GPUs every number of them.

mod extremes;
mod linear;
mod several;

use std::sync::atomic::{AtomicBool, Ordering};

use linear::{cube, star, taps};
use several::sound::{blur, pressure, slant, sound, velocity};
use several::{
    check, check_all, check_by, filled, machines, policies, policy, residents, ringed, trips,
};
use warpweft::cuda::{Buffer, Device, Together, compiler};
use warpweft::element::Fields;
use warpweft::prelude::*;
use warpweft::stencil::cuda::multi::compile_check;
use warpweft::stencil::{
    CudaKernel, CudaPolicy, Exchange, MultiCudaPolicy, MultiCudaSweeps, SweepExecutor, reference,
    sweeps,
};

linear!(Line1, f32, 1, star::<1, 3>(1), |_| 0.25);
linear!(Heat2, f32, 2, star::<2, 5>(1), |k| 0.3 - 0.04 * k as f32);
linear!(Heat2d, f64, 2, star::<2, 5>(1), |k| 0.3 - 0.04 * k as f64);
linear!(Box2, i32, 2, cube::<2, 9>(1), |k| k as i32 - 3);
linear!(Turn3, i32, 3, star::<3, 7>(1), |k| 2 * k as i32 + 1);
linear!(
    Slanted,
    f32,
    3,
    taps([
        [0, 0, 0],
        [0, -2, 0],
        [0, 2, 0],
        [0, 0, -1],
        [0, 0, 1],
        [-1, 0, 0],
        [1, 0, 0],
        [-1, 0, -1],
        [1, 0, 1]
    ]),
    |k| 0.02 * k as f32
);
linear!(Lopsided, f32, 3, taps([[0, 0, 0], [-1, 0, 2], [1, -1, 0], [0, 2, -1]]), |k| 0.1
    * k as f32);
linear!(Wide2, f32, 2, cube::<2, 25>(2), |k| 0.01 * k as f32);
linear!(Bytes2, u8, 2, cube::<2, 9>(1), |k| k as u8 + 1);
linear!(Heat3, f32, 3, star::<3, 7>(1), |k| 0.2 - 0.02 * k as f32);
linear!(Heat3d, f64, 3, star::<3, 7>(1), |k| 0.2 - 0.02 * k as f64);
linear!(Order8, f32, 3, star::<3, 25>(4), |k| 0.1 - 0.003 * k as f32);
linear!(Box3, f32, 3, cube::<3, 27>(1), |k| 0.01 * k as f32);
linear!(Heat4, f32, 4, star::<4, 9>(1), |k| 0.15 - 0.01 * k as f32);

#[test]
fn trips_and_words_compile() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    fn compile<S: Fields, const D: usize>(stencil: &Stencil<S, D>) {
        let words = policies(D).into_iter().filter(|policy| policy.exchange == Exchange::Words);
        for policy in trips().into_iter().chain(words) {
            assert!(!compile_check(stencil, &policy, "sm_90").unwrap().image().is_empty());
        }
    }
    compile(&Stencil::of(Heat2 { rate: 0.9 }));
    compile(&Stencil::of(Heat3 { rate: 0.9 }));
    compile(&Stencil::of(Heat3d { rate: 0.9 }).boundary(Boundary::Periodic));
}

#[test]
fn planes_over_several() {
    check(Stencil::of(Heat2 { rate: 0.9 }), &filled([67, 261]));
    check(Stencil::of(Heat2d { rate: 0.9 }), &filled([40, 70]));
    check(Stencil::of(Box2 { rate: 3 }), &filled([50, 300]));
    check(Stencil::of(Bytes2 { rate: 3 }), &filled([31, 150]));
}

/// Tiles of one plane and of more than a zone has, rows that end within a pair of words, boxes of rows
/// that are more than a block's warps, and every depth up to a slab's.
#[test]
fn words_over_several() {
    let words = |dims: usize| {
        let shapes = [([4, 2, 1], 8), ([4, 1, 4], 4), ([2, 1, 3], 1), ([1, 3, 2], 3)];
        let all = shapes.into_iter().flat_map(|(cells, warps)| {
            (1..=4).map(move |depth| {
                let policy = policy(CudaKernel::Direct, cells, warps, Exchange::Words);
                MultiCudaPolicy { depth, ..policy }
            })
        });
        all.filter(|policy| dims == 3 || policy.cuda.cells[1] == 1).collect::<Vec<_>>()
    };
    check_by(words(2), Stencil::of(Heat2 { rate: 0.9 }), &filled([67, 261]));
    check_by(words(3), Stencil::of(Heat3 { rate: 0.9 }), &filled([29, 42, 133]));
    check_by(words(3), Stencil::of(Heat3d { rate: 0.9 }), &filled([24, 17, 129]));
    check_by(words(3), Stencil::of(Order8 { rate: 0.9 }), &filled([64, 19, 75]));
}

#[test]
fn volumes_over_several() {
    check(Stencil::of(Heat3 { rate: 0.9 }), &filled([29, 22, 133]));
    check(Stencil::of(Heat3 { rate: 0.9 }), &filled([16, 16, 128]));
    check(Stencil::of(Heat3d { rate: 0.9 }), &filled([13, 9, 70]));
    check(Stencil::of(Order8 { rate: 0.9 }), &filled([24, 11, 75]));
    check(Stencil::of(Box3 { rate: 0.9 }), &filled([14, 10, 67]));
    // So many tiles along y that they come in groups.
    check(Stencil::of(Heat3 { rate: 0.9 }), &filled([9, 500, 260]));
}

/// Runs of three launches go on where the one before ended, on every number of slabs.
#[test]
fn residents_of_several_launches() {
    fn go_on<const D: usize>(stencil: Stencil<i32, D>, start: &Volume<i32, D>) {
        let machines = machines();
        if machines.is_empty() {
            return println!("skipped: no GPU");
        }
        let stencil = stencil.boundary(Boundary::Dirichlet(7.0));
        let steps = 2 * CudaPolicy::RESIDENT_STEPS + 6;
        let mut expect = start.clone();
        reference(&stencil, &mut expect, steps).unwrap();
        let middle = expect.len() / 2;
        assert_ne!(expect.as_slice()[middle], expect.as_slice()[middle + 1], "cells have settled");
        let _together = Together::begin();
        for (policy, devices) in
            residents(D).iter().flat_map(|policy| machines.iter().map(move |of| (policy, of)))
        {
            let mut executor = MultiCudaSweeps::new(&stencil, start, policy, devices).unwrap();
            let mut found = start.clone();
            for sweep in sweeps(start.extents(), steps, steps - 1, None) {
                executor.sweep(&sweep).unwrap();
            }
            executor.finish().unwrap();
            executor.store(found.writable()).unwrap();
            let differ = found.as_slice() != expect.as_slice();
            assert!(!differ, "{policy:?} on {} slabs", devices.len());
        }
    }
    go_on(Stencil::of(Box2 { rate: 3 }), &filled([24, 40]));
    go_on(Stencil::of(Turn3 { rate: 3 }), &filled([12, 9, 11]));
}

/// Tiles that stay on the chip over every number of slabs, between faces that they can have: thin last slabs, and
/// periodic axes that their tiles divide.
#[test]
fn residents_over_several() {
    fn stay<S: Fields, const D: usize>(stencil: Stencil<S, D>, start: &Volume<S, D>, least: usize) {
        let held = stencil.boundary(Boundary::Dirichlet(3.0));
        let around = held.clone().boundary(Boundary::Periodic);
        let mixed = held
            .clone()
            .face(D - 1, Face::Low, Boundary::Periodic)
            .face(D - 1, Face::High, Boundary::Periodic)
            .face(0, Face::Low, Boundary::Dirichlet(-1.0));
        let runs = check_all(residents(D), vec![around, mixed, held], start);
        assert!(machines().is_empty() || runs >= least, "{runs} runs");
    }
    stay(Stencil::of(Heat2 { rate: 0.9 }), &filled([50, 300]), 3);
    // The last of three slabs is thinner than a skirt.
    stay(Stencil::of(Heat2 { rate: 0.9 }), &filled([30, 120]), 3);
    stay(Stencil::of(Heat2d { rate: 0.9 }), &filled([24, 240]), 6);
    stay(Stencil::of(Box2 { rate: 3 }), &filled([48, 120]), 6);
    stay(Stencil::of(Box2 { rate: 3 }), &filled([48, 112]), 3);
    stay(Stencil::of(Wide2 { rate: 0.9 }), &filled([72, 120]), 3);
    stay(Stencil::of(Heat3 { rate: 0.9 }), &filled([24, 50, 233]), 2);
    stay(Stencil::of(Box3 { rate: 0.9 }), &filled([24, 48, 256]), 2);
    stay(Stencil::of(Box3 { rate: 0.9 }), &filled([24, 24, 240]), 2);
    stay(Stencil::of(Heat3d { rate: 0.9 }), &filled([24, 24, 128]), 2);
}

/// Arrays must not go while a neighbour stores into them: what is allocated next may lie there.
#[test]
fn an_executor_dropped_at_work_spoils_nothing_of_the_next() {
    let _together = Together::begin();
    let machines = machines();
    if machines.is_empty() {
        return println!("skipped: no GPU");
    }
    let stencil = Stencil::of(Heat3 { rate: 0.9 }).boundary(Boundary::Periodic);
    let start = filled::<f32, 3>([46, 30, 200]);
    let mut expect = start.clone();
    reference(&stencil, &mut expect, 5).unwrap();
    let mut runs = 0;
    for exchange in [Exchange::Flags, Exchange::Copies] {
        let policy = policy(CudaKernel::Direct, [4, 2, 2], 8, exchange);
        for devices in &machines {
            for sweep in sweeps(start.extents(), 2000, 2000, None) {
                let Ok(mut busy) = MultiCudaSweeps::new(&stencil, &start, &policy, devices) else {
                    continue;
                };
                busy.sweep(&sweep).unwrap();
            }
            let Ok(mut executor) = MultiCudaSweeps::new(&stencil, &start, &policy, devices) else {
                continue;
            };
            let mut found = start.clone();
            for sweep in sweeps(start.extents(), 5, 5, None) {
                executor.sweep(&sweep).unwrap();
            }
            executor.finish().unwrap();
            executor.store(found.writable()).unwrap();
            assert!(found.as_slice() == expect.as_slice(), "{executor:?}, {exchange:?}");
            runs += 1;
        }
    }
    // Slabs side by side on one GPU may be refused, whole volumes are not.
    assert!(runs > 0);
}

/// With contraction there is no reference to the bit, but one GPU is.
#[test]
fn contracted_kernels_give_the_bits_of_one() {
    let _together = Together::begin();
    let machines = machines();
    let Some(one) = machines.first().map(|devices| &devices[..1]) else {
        return println!("skipped: no GPU");
    };
    let stencil = Stencil::of(Heat3 { rate: 0.9 }).boundary(Boundary::Periodic);
    let start = filled::<f32, 3>([46, 30, 200]);
    let run = |policy: &MultiCudaPolicy, devices: &[Device]| {
        let mut volume = start.clone();
        let executor = MultiCudaSweeps::new(&stencil, &volume, policy, devices);
        let refusable = policy.exchange != Exchange::Copies;
        let mut executor = match executor {
            Err(Error::Spec { .. }) if refusable => return None,
            executor => executor.unwrap(),
        };
        for sweep in sweeps(start.extents(), 900, 651, None) {
            executor.sweep(&sweep).unwrap();
        }
        executor.finish().unwrap();
        executor.store(volume.writable()).unwrap();
        Some(volume)
    };
    for mut policy in policies(3) {
        policy.cuda.contraction = true;
        let Some(expect) = run(&policy, one) else { continue };
        for devices in &machines[1..] {
            let Some(found) = run(&policy, devices) else { continue };
            assert!(found.as_slice() == expect.as_slice(), "{} GPUs, {policy:?}", devices.len());
        }
    }
}

#[test]
fn rings_over_several() {
    if machines().iter().flatten().any(|device| device.capability().unwrap() < (9, 0)) {
        return println!("skipped: a GPU without a copy engine");
    }
    check_by(ringed(), Stencil::of(Heat3 { rate: 0.9 }), &filled([29, 22, 133]));
    check_by(ringed(), Stencil::of(Heat3d { rate: 0.9 }), &filled([13, 9, 70]));
    check_by(ringed(), Stencil::of(Order8 { rate: 0.9 }), &filled([24, 11, 75]));
    check_by(ringed(), Stencil::of(Order8 { rate: 0.9 }), &filled([64, 32, 128]));
    check_by(ringed(), Stencil::of(Box3 { rate: 0.9 }), &filled([14, 10, 67]));
    check_by(ringed(), Stencil::sequence((velocity(0.1), pressure(0.1))), &sound());
}

/// Boxes read where a cut meets copied faces, of every kind along every axis: volumes of a tile and of
/// many, whose last has few cells.
#[test]
fn corners_over_several() {
    fn faces<S: Fields, const D: usize>(stencil: &Stencil<S, D>) -> Vec<Stencil<S, D>> {
        use Boundary::{Dirichlet, Mirror, Neumann, Periodic};
        let all = |boundary| stencil.clone().boundary(boundary);
        let x = D - 1;
        vec![
            all(Mirror),
            all(Periodic).face(x, Face::Low, Mirror).face(x, Face::High, Neumann),
            all(Neumann).face(x, Face::Low, Periodic).face(x, Face::High, Periodic),
            all(Mirror).face(x, Face::High, Dirichlet(2.0)).face(0, Face::Low, Dirichlet(0.5)),
            all(Periodic),
        ]
    }
    fn edged(policies: Vec<MultiCudaPolicy>) -> Vec<MultiCudaPolicy> {
        let stages = |policy: &MultiCudaPolicy| policy.cuda.kernel != CudaKernel::Pipeline;
        let flags = |policy: &MultiCudaPolicy| policy.exchange == Exchange::Flags;
        policies.into_iter().filter(|policy| flags(policy) && stages(policy)).collect()
    }
    check_all(edged(policies(2)), faces(&Stencil::of(Wide2 { rate: 0.9 })), &filled([40, 258]));
    check_all(edged(policies(2)), faces(&Stencil::of(Bytes2 { rate: 3 })), &filled([24, 33]));
    let volume = Stencil::of(Box3 { rate: 0.9 });
    check_all(edged(policies(3)), faces(&volume), &filled([15, 35, 130]));
    check_all(edged(policies(3)), faces(&volume), &filled([12, 3, 5]));
    // Groups of tiles along y, of which the last has tiles without cells.
    check_all(edged(policies(3)), faces(&volume), &filled([9, 500, 130]));
    // Wider in a cell's own plane than across the cut, and lopsided.
    check_all(
        edged(policies(3)),
        faces(&Stencil::of(Slanted { rate: 0.9 })),
        &filled([12, 21, 70]),
    );
    check_all(
        edged(policies(3)),
        faces(&Stencil::of(Lopsided { rate: 0.9 })),
        &filled([13, 21, 70]),
    );
    // Fields that are never written, or in place.
    let stages = Stencil::sequence((velocity(0.1), slant(0.125)));
    check_all(edged(policies(3)), faces(&stages), &sound());
    if machines().iter().flatten().any(|device| device.capability().unwrap() < (9, 0)) {
        return println!("skipped: planes by the copy engine, which a GPU does not have");
    }
    check_all(edged(ringed()), faces(&volume), &filled([15, 35, 130]));
}

#[test]
fn four_dimensions_over_several() {
    check(Stencil::of(Heat4 { rate: 0.9 }), &filled([8, 5, 6, 37]));
}

#[test]
fn a_sequence_over_fields_in_one_and_two_arrays() {
    let start = sound();
    check(Stencil::sequence((velocity(0.1), pressure(0.1))), &start);
    check(Stencil::sequence((pressure(0.1), blur(0.125), velocity(0.1))), &start);
}

#[test]
fn residuals_are_the_reference_s() {
    let _together = Together::begin();
    for devices in machines() {
        for residual in [Residual::Max, Residual::Sum, Residual::SumOfSquares] {
            let stencil =
                Stencil::of(Heat3 { rate: 0.9 }).boundary(Boundary::Neumann).until(residual, 1e-2);
            let mut expect = filled::<f32, 3>([37, 9, 71]);
            let found = expect.clone();
            let steps = reference(&stencil, &mut expect, 400).unwrap();
            assert!(steps < 400, "{residual:?} is never met");
            let policy = policy(CudaKernel::Direct, [4, 2, 2], 4, Exchange::Flags);
            let mut executor = MultiCudaSweeps::new(&stencil, &found, &policy, &devices).unwrap();
            let until = warpweft::stencil::Until { residual, tolerance: 1e-2, every: 1 };
            let mut done = 0;
            for sweep in sweeps([37, 9, 71], 400, 1, Some(until)) {
                executor.sweep(&sweep).unwrap();
                done += sweep.steps;
                if executor.residual(residual).unwrap() <= 1e-2 {
                    break;
                }
            }
            assert_eq!((residual, done), (residual, steps));
        }
    }
}

#[test]
fn residuals_of_extremes_are_exact() {
    let _together = Together::begin();
    let machines = machines();
    if machines.is_empty() {
        println!("skipped: no GPU");
    }
    for devices in machines {
        for exchange in [Exchange::Copies, Exchange::Flags] {
            let policy = policy(CudaKernel::Direct, [1, 2, 2], 4, exchange);
            extremes::check(&mut |stencil, volume| {
                Box::new(MultiCudaSweeps::new(stencil, volume, &policy, &devices).unwrap())
            });
        }
    }
}

/// Who frees memory waits for all that runs on its GPU, and others' launches wait for them.
#[test]
fn slabs_of_one_gpu_are_not_held_up_by_others_who_free_memory() {
    let Ok(device) = Device::open(0) else { return println!("skipped: no GPU") };
    let _together = Together::begin();
    let start = filled::<f32, 2>([64, 300]);
    let stencil = Stencil::of(Heat2 { rate: 0.1 }).boundary(Boundary::Periodic);
    let mut expect = start.clone();
    reference(&stencil, &mut expect, 3000).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut freed = 0u32;
            while !done.load(Ordering::Relaxed) {
                drop(Buffer::new(&device, 1 << 20).unwrap());
                freed += 1;
            }
            freed
        });
        let policy = policy(CudaKernel::Direct, [4, 1, 1], 4, Exchange::Flags);
        let run = || {
            let mut executor = MultiCudaSweeps::new(&stencil, &start, &policy, &[device; 2])?;
            for sweep in sweeps([64, 300], 3000, 100, None) {
                executor.sweep(&sweep)?;
            }
            executor.finish()?;
            let mut found = start.clone();
            executor.store(found.writable())?;
            Ok::<_, Error>(found)
        };
        let found = run();
        done.store(true, Ordering::Relaxed);
        assert!(other.join().unwrap() > 0);
        assert!(found.unwrap().as_slice() == expect.as_slice());
    });
}

#[test]
fn too_many_slabs_and_lines_are_refused() {
    let Ok(device) = Device::open(0) else { return println!("skipped: no GPU") };
    let policy = policy(CudaKernel::Direct, [4, 1, 1], 4, Exchange::Flags);
    let stencil = Stencil::of(Heat3 { rate: 0.9 });
    let volume = filled::<f32, 3>([5, 8, 8]);
    let error = MultiCudaSweeps::new(&stencil, &volume, &policy, &[device; 3]).unwrap_err();
    assert!(error.to_string().contains("1 to 2 GPUs"), "{error}");
    let line = Stencil::of(Line1 { rate: 0.9 });
    let error =
        MultiCudaSweeps::new(&line, &filled::<f32, 1>([500]), &policy, &[device; 2]).unwrap_err();
    assert!(error.to_string().contains("a line of cells"), "{error}");
}
