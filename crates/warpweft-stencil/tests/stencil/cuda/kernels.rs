//! CUDA sweeps: every skeleton compiles without a GPU, and with one equals the reference bitwise.

use crate::linear::{cube, star};
use warpweft::cuda::{Buffer, Device, compiler};
use warpweft::element::Scalar;
use warpweft::prelude::*;
use warpweft::stencil::cuda::{Compile, Kernels, compile_check, device_bytes};
use warpweft::stencil::{
    CudaKernel, CudaPolicy, CudaSweeps, Policy, Region, Run, StencilElement, Sweep, SweepExecutor,
    Tap, reference, sweeps,
};

const fn at<const D: usize>(offset: [isize; D]) -> Tap<D> {
    Tap { field: 0, offset }
}

linear!(Line, f64, 1, star::<1, 5>(2), |k| 0.5 - 0.1 * k as f64);
linear!(Line1, f32, 1, star::<1, 3>(1), |_| 0.25);
linear!(Heat2, f32, 2, star::<2, 5>(1), |k| 0.3 - 0.04 * k as f32);
linear!(Heat2d, f64, 2, star::<2, 5>(1), |k| 0.3 - 0.04 * k as f64);
linear!(Box2, i32, 2, cube::<2, 9>(1), |k| k as i32 - 3);
linear!(Wide2, f32, 2, cube::<2, 25>(2), |k| 0.01 * k as f32);
linear!(Skew2, i32, 2, [at([0, 1]), at([-2, 1]), at([1, 3]), at([0, -5])], |k| 3 - k as i32);
linear!(Bytes2, u8, 2, cube::<2, 9>(1), |k| k as u8 + 1);
linear!(Heat3, f32, 3, star::<3, 7>(1), |k| 0.2 - 0.02 * k as f32);
linear!(Heat3d, f64, 3, star::<3, 7>(1), |k| 0.2 - 0.02 * k as f64);
linear!(Turn3, i32, 3, star::<3, 7>(1), |k| 2 * k as i32 + 1);
linear!(Order8, f32, 3, star::<3, 25>(4), |k| 0.1 - 0.003 * k as f32);
linear!(Box3, f32, 3, cube::<3, 27>(1), |k| 0.01 * k as f32);
linear!(Skew3, i32, 3, [at([-1, 2, 0]), at([2, 0, -3]), at([0, 0, 1]), at([1, -1, 1])], |k| k
    as i32
    + 1);
linear!(Still3, f32, 3, [at([0, 0, 0])], |_| 0.75);
linear!(Heat4, f32, 4, star::<4, 9>(1), |k| 0.15 - 0.01 * k as f32);

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

/// Shapes that cut tiles in every way: one cell a thread, uneven blocks, whole vectors.
fn policies(dims: usize, ring: bool) -> Vec<CudaPolicy> {
    let mut all = vec![
        policy(CudaKernel::Direct, [1, 1, 1], 1),
        policy(CudaKernel::Direct, [4, 2, 8], 8),
        policy(CudaKernel::Direct, [2, 3, 2], 5),
        policy(CudaKernel::Direct, [16, 1, 2], 2),
    ];
    if dims >= 3 && ring {
        all.push(policy(CudaKernel::Planes, [4, 2, 1], 8));
        all.push(CudaPolicy { phases: 1, ..policy(CudaKernel::Planes, [2, 1, 1], 3) });
        let few = CudaPolicy { prefetch: 0, phases: 2, ..policy(CudaKernel::Planes, [4, 3, 1], 2) };
        all.push(few);
    }
    all
}

fn fused(vx: u32, warps: u32, temporal_depth: u32, prefetch: u32) -> CudaPolicy {
    CudaPolicy { temporal_depth, prefetch, ..policy(CudaKernel::Temporal, [vx, 1, 1], warps) }
}

/// Several steps in one pass, between faces of all kinds.
pub(super) fn check_fused<T: Scalar, const D: usize>(
    element: impl StencilElement<D, State = T>,
    policies: &[CudaPolicy],
    extents: &[[usize; D]],
) {
    if compiler().is_err() {
        return println!("skipped: no NVRTC");
    }
    let kinds = [Boundary::Dirichlet(2.0), Boundary::Periodic, Boundary::Neumann, Boundary::Mirror];
    let element = &element;
    // Kernels of many steps take seconds to compile.
    std::thread::scope(|scope| {
        for (n, policy) in policies.iter().enumerate() {
            // Each is compiled for one of the two architectures that it is made for.
            let arch = if n % 2 == 0 { "sm_90" } else { "sm_80" };
            for boundary in kinds {
                scope
                    .spawn(move || check_fused_between(boundary, element, (policy, arch), extents));
            }
        }
    });
}

/// The same between faces of one kind, and between these and a few of another.
fn check_fused_between<T: Scalar, const D: usize>(
    boundary: Boundary,
    element: &impl StencilElement<D, State = T>,
    (policy, arch): (&CudaPolicy, &str),
    extents: &[[usize; D]],
) {
    let all = Stencil::of(element.clone()).boundary(boundary);
    let mixed = match boundary {
        Boundary::Periodic => {
            let low = all.clone().face(0, Face::Low, Boundary::Dirichlet(-1.0));
            low.face(0, Face::High, Boundary::Neumann)
        }
        _ => all.clone().face(D - 1, Face::High, Boundary::Dirichlet(5.0)),
    };
    let Ok(device) = Device::open(0) else {
        if boundary == Boundary::Mirror {
            compile_check(&mixed, extents[0].into(), policy, arch).unwrap();
        }
        return;
    };
    for (n, &extents) in extents.iter().enumerate() {
        // Kernels differ by extents and faces and take seconds to compile: with other faces every second volume.
        for stencil in [&all, &mixed].into_iter().take(2 - n % 2) {
            // Volumes of few periodic cells, and footprints as wide as the volume.
            if stencil.check(extents).is_err()
                || compile_check(stencil, extents.into(), policy, "sm_90").is_err()
            {
                continue;
            }
            let steps = 2 * u64::from(policy.temporal_depth) + 3;
            compare(stencil, extents, policy, &device, steps);
        }
    }
}

#[test]
fn fused_steps() {
    let planes = [[67, 461], [9, 8], [40, 1000], [64, 512]];
    let stars = [fused(8, 4, 8, 3), fused(4, 2, 6, 5), fused(2, 1, 3, 1)];
    std::thread::scope(|scope| {
        scope.spawn(|| check_fused(Heat2 { rate: 0.9 }, &stars, &planes));
        scope.spawn(|| check_fused(Heat2d { rate: 0.9 }, &stars[1..], &planes));
        let boxes = [fused(8, 4, 4, 3), fused(4, 1, 2, 1)];
        scope.spawn(move || check_fused(Box2 { rate: 3 }, &boxes, &planes));
        scope.spawn(|| check_fused(Wide2 { rate: 0.9 }, &[fused(8, 2, 4, 3)], &planes));
        scope.spawn(|| check_fused(Skew2 { rate: 5 }, &[fused(8, 2, 2, 3)], &planes));
        scope.spawn(|| check_fused(Bytes2 { rate: 3 }, &[fused(16, 4, 8, 5)], &planes));
    });
}

#[test]
fn fused_steps_of_lines() {
    let lines = [[100_003], [4_096], [61], [7]];
    let shapes = [fused(16, 4, 12, 1), fused(4, 3, 7, 1), fused(2, 1, 3, 1)];
    check_fused(Line1 { rate: 0.9 }, &shapes, &lines);
    check_fused(Line { rate: 0.9 }, &shapes[1..], &lines);
}

/// Of cells up to 3: reads a box, deeper on one side.
#[stencil]
fn small(u: Near<u8, 2>, least: u8) -> u8 {
    let around = u[[-1, 2]] + 2 * u[[1, -1]] + u[[0, -4]] + u[[1, 1]] + u[[-1, -3]];
    let born = (around > least) & (u[[0, 0]] != 2) | (around == 5);
    born as u8 + (u[[0, 5]] & 2)
}

/// Of cells that are 0 or 1.
#[stencil]
fn alive(u: Near<u8, 2>, least: u8) -> u8 {
    let around = u[[-1, 1]] + 3 * u[[1, -1]] + u[[0, -1]] + u[[1, 1]] + (u[[-1, 0]] ^ u[[0, 1]]);
    let born = (around > least) & (u[[0, 0]] != 1) | (around == 4 - u[[-1, 1]]) | (around <= 1);
    (born && around < 6) as u8
}

#[test]
fn fused_steps_of_packed_cells() {
    if compiler().is_err() {
        return println!("skipped: no NVRTC");
    }
    let bytes = [(16, 4, 16, 3), (8, 2, 8, 3), (16, 1, 4, 1)];
    check_packed(small(4), 4, &bytes, &[[67, 1460], [40, 128], [64, 512]]);
    let bits = [(32, 4, 32, 3), (32, 2, 32, 1), (64, 4, 16, 3)];
    check_packed(alive(2), 2, &bits, &[[67, 3232], [40, 64], [64, 512]]);
}

/// Of cells below `range`, by lanes of so many cells, warps, steps and rows ahead.
fn check_packed(
    element: impl StencilElement<2, State = u8>,
    range: usize,
    shapes: &[(u32, u32, u32, u32)],
    sizes: &[[usize; 2]],
) {
    // Kernels of many steps take seconds to compile.
    std::thread::scope(|scope| {
        for (n, &(vx, warps, depth, prefetch)) in shapes.iter().enumerate() {
            let policy =
                CudaPolicy { kernel: CudaKernel::Packed, ..fused(vx, warps, depth, prefetch) };
            for (k, &extents) in sizes.iter().enumerate() {
                let element = &element;
                scope.spawn(move || packed(element, range, policy, (extents, n + k == 0)));
            }
        }
    });
}

/// One shape and size with every boundary; without a GPU the `first` is compiled.
fn packed(
    element: &impl StencilElement<2, State = u8>,
    range: usize,
    policy: CudaPolicy,
    (extents, first): ([usize; 2], bool),
) {
    let device = Device::open(0);
    let most = Boundary::Dirichlet(range as f64 - 1.0);
    for boundary in [Boundary::Periodic, most, Boundary::Mirror] {
        let stencil = Stencil::of(element.clone()).boundary(boundary);
        let held = Boundary::Dirichlet(1.0);
        let stencil = match boundary {
            Boundary::Mirror => stencil.face(1, Face::Low, held).face(1, Face::High, held),
            _ => stencil,
        };
        // Two words a lane need more ghost cells than 32 steps read.
        if boundary == Boundary::Periodic && policy.cells[0] == 64 {
            continue;
        }
        let Ok(device) = &device else {
            // A kernel of few steps compiles soon.
            let few = CudaPolicy { warps: 2, temporal_depth: 4, prefetch: 3, ..policy };
            if boundary == Boundary::Mirror && first {
                let arch = if range == 2 { "sm_90" } else { "sm_80" };
                compile_check(&stencil, extents.into(), &few, arch).unwrap();
            }
            continue;
        };
        let cells = |[y, x]: [usize; 2]| ((y * 7919 + x * 104_729) % 1009 % range) as u8;
        let start = Volume::from_fn(extents, cells);
        let steps = 2 * u64::from(policy.temporal_depth) + 3;
        let (mut found, mut expect) = (start.clone(), start);
        reference(&stencil, &mut expect, steps).unwrap();
        let run = Run {
            target: Target::Gpu(device.ordinal()),
            policy: Some(Policy::Cuda(policy)),
            ..Run::default()
        };
        let machine = Machine::detect().unwrap();
        stencil.run_with(&mut found, Steps(steps), &machine, &run).unwrap();
        assert!(found.as_slice() == expect.as_slice(), "{extents:?} {boundary:?} {policy:?}");
        let mut large = Volume::from_fn(extents, |_| 200);
        let error = stencil.run_with(&mut large, Steps(steps), &machine, &run).unwrap_err();
        assert!(error.to_string().contains("whose largest value is 200"), "{error}");
    }
}

#[test]
fn a_run_changes_its_kernel_between_sweeps_and_keeps_its_bits() {
    if compiler().is_err() {
        return println!("skipped: no NVRTC");
    }
    let Ok(device) = Device::open(0) else { return println!("skipped: no GPU") };
    for boundary in [Boundary::Dirichlet(2.0), Boundary::Periodic, Boundary::Mirror] {
        let stencil = Stencil::of(Heat2 { rate: 0.9 }).boundary(boundary);
        // Of different depths, in one layout.
        let fused = vec![fused(8, 2, 4, 5), fused(4, 2, 6, 5)];
        let single = policy(CudaKernel::Direct, [4, 2, 2], 4);
        let kernels = Kernels { single, fused, compile: Compile::Meanwhile(1), least: 1.0 };
        let (mut expect, extents) = (filled::<f32, 2>([67, 461]), [67, 461]);
        let mut found = expect.clone();
        let mut executor = CudaSweeps::with(&stencil, &found, &kernels, &device).unwrap();
        let mut taken = 0;
        for (sweep, steps) in [3, 12, 24, 13, 24, 24, 24, 24, 24, 5].into_iter().enumerate() {
            if sweep == 2 {
                executor.await_kernels();
            }
            let region = Region::whole(extents.into());
            let sweep =
                Sweep { first_step: taken, steps, region, following: 0, keep_change: false };
            executor.sweep(&sweep).unwrap();
            executor.finish().unwrap();
            taken += steps;
        }
        reference(&stencil, &mut expect, taken).unwrap();
        executor.store(found.writable()).unwrap();
        assert!(found.field_bytes(0) == expect.field_bytes(0), "{boundary:?}");
        let history = executor.history().unwrap();
        let fused: Vec<_> = history.stretches.iter().filter_map(|it| it.policy).collect();
        assert!(fused.len() >= 2, "{history:?}");
        assert_eq!(history.stretches.iter().map(|it| it.steps).sum::<u64>(), taken);
    }
}

#[test]
fn fused_steps_of_volumes() {
    let deep = |cells, warps, depth, prefetch| {
        let flat = fused(1, warps, depth, prefetch);
        CudaPolicy { cells, ..flat }
    };
    let volumes = [[23, 50, 233], [5, 40, 70], [16, 56, 112]];
    let stars = [deep([4, 3, 1], 12, 3, 3), deep([2, 4, 1], 5, 2, 1)];
    check_fused(Heat3 { rate: 0.9 }, &stars, &volumes);
    check_fused(Heat3d { rate: 0.9 }, &stars[1..], &volumes);
    check_fused(Order8 { rate: 0.9 }, &[deep([4, 5, 1], 4, 1, 2)], &volumes);
}

#[test]
fn shapes_of_fused_steps_that_can_not_be_are_refused() {
    let refused = |stencil: &Stencil<f32, 2>, extents: [usize; 2], policy, message: &str| {
        let error = compile_check(stencil, extents.into(), &policy, "sm_90").unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    };
    let heat = Stencil::of(Heat2 { rate: 0.9 });
    refused(
        &heat,
        [64, 64],
        fused(8, 4, 6, 3),
        "tiles of [8, 1] cells a thread, 6 steps and 4 warps",
    );
    refused(&heat, [64, 64], fused(2, 1, 32, 3), "tiles of [2, 1] cells a thread");
    refused(&heat, [64, 64], fused(8, 4, 8, 4), "4 rows ahead");
    refused(&heat, [64, 64], fused(8, 4, 0, 3), "0 fused steps");
    let around = heat.boundary(Boundary::Periodic);
    refused(&around, [7, 64], fused(8, 4, 8, 3), "8 fused steps over 7 periodic cells");
}

fn stay(cells: [u32; 3], warps: u32, planes: u32, temporal_depth: u32) -> CudaPolicy {
    CudaPolicy { chunk: planes, temporal_depth, ..policy(CudaKernel::Resident, cells, warps) }
}

/// Tiles that stay on the chip, one and many of them, whole and cut by the volume's end.
fn check_residents<T: Scalar, const D: usize>(
    element: impl StencilElement<D, State = T>,
    policies: &[CudaPolicy],
    extents: &[[usize; D]],
) {
    if compiler().is_err() {
        return println!("skipped: no NVRTC");
    }
    let device = Device::open(0);
    let mut runs = 0;
    for (n, policy) in policies.iter().enumerate() {
        let Ok(device) = &device else {
            // One kernel an element; each for one of the two architectures that it is made for.
            if n == 0 {
                let arch = if size_of::<T>() == 4 { "sm_90" } else { "sm_80" };
                let zero = Stencil::of(element.clone()).boundary(Boundary::Dirichlet(0.0));
                assert!(
                    !compile_check(&zero, extents[0].into(), policy, arch)
                        .unwrap()
                        .image()
                        .is_empty()
                );
            }
            continue;
        };
        for &extents in extents {
            let zero = Stencil::of(element.clone()).boundary(Boundary::Dirichlet(2.0));
            let round = Stencil::of(element.clone()).boundary(Boundary::Periodic);
            let mixed = zero
                .clone()
                .face(D - 1, Face::Low, Boundary::Periodic)
                .face(D - 1, Face::High, Boundary::Periodic)
                .face(0, Face::Low, Boundary::Dirichlet(-1.0));
            for stencil in [zero, round, mixed] {
                // Tiles that meet around a volume must be whole.
                let volume = filled::<T, D>(extents);
                if let Err(error) = CudaSweeps::new(&stencil, &volume, policy, device) {
                    assert!(error.to_string().contains("that meet others"), "{error}");
                    continue;
                }
                compare(
                    &stencil,
                    extents,
                    policy,
                    device,
                    2 * u64::from(policy.temporal_depth) + 3,
                );
                runs += 1;
            }
        }
    }
    println!("{runs} runs equal the reference");
    assert!(device.is_err() || runs >= policies.len() * extents.len());
}

#[test]
fn residents() {
    let flat = [stay([4, 1, 4], 4, 14, 1), stay([4, 1, 5], 4, 14, 3), stay([8, 1, 2], 3, 4, 1)];
    let planes = [[67, 461], [9, 8], [28, 240], [56, 480]];
    check_residents(Heat2 { rate: 0.9 }, &flat, &planes);
    check_residents(Box2 { rate: 3 }, &flat, &planes);
    let wide = [stay([4, 1, 4], 4, 12, 1), stay([2, 1, 8], 4, 20, 3)];
    check_residents(Wide2 { rate: 0.9 }, &wide, &[[67, 461], [60, 120], [60, 104]]);
    check_residents(Heat2d { rate: 0.9 }, &flat[..2], &[[67, 461], [56, 240]]);
    let deep = [stay([4, 2, 3], 8, 6, 1), stay([4, 3, 2], 4, 3, 1), stay([4, 4, 3], 16, 8, 2)];
    let volumes = [[23, 50, 233], [5, 6, 7], [24, 56, 128], [8, 28, 240]];
    check_residents(Heat3 { rate: 0.9 }, &deep, &volumes);
    check_residents(Box3 { rate: 0.9 }, &deep, &volumes);
    check_residents(Heat3d { rate: 0.9 }, &deep[..2], &volumes);
    let far = [stay([4, 2, 2], 4, 4, 1)];
    check_residents(Order8 { rate: 0.9 }, &far, &[[23, 50, 233], [16, 16, 256]]);
}

/// Runs of three launches go on where the one before ended, with integers, which never settle.
#[test]
fn residents_of_several_launches() {
    fn go_on<const D: usize>(
        element: impl StencilElement<D, State = i32>,
        extents: [usize; D],
        policy: &CudaPolicy,
    ) {
        let Ok(device) = Device::open(0) else { return println!("skipped: no GPU") };
        let stencil = Stencil::of(element.clone()).boundary(Boundary::Dirichlet(7.0));
        let steps = 2 * CudaPolicy::RESIDENT_STEPS + 6;
        compare(&stencil, extents, policy, &device, steps);
        let mut end = filled::<i32, D>(extents);
        reference(&stencil, &mut end, steps).unwrap();
        let middle = end.len() / 2;
        assert_ne!(end.as_slice()[middle], end.as_slice()[middle + 1], "cells have settled");
    }
    go_on(Box2 { rate: 3 }, [9, 130], &stay([4, 1, 5], 4, 14, 3));
    go_on(Turn3 { rate: 3 }, [9, 9, 11], &stay([4, 2, 2], 4, 4, 1));
}

/// Each of four tiles of 4 × 4 × 128 cells gets 512 cells from either side along z and y and four columns of 16 along x,
/// of two posts, 8 bytes next to 32 words of four cells, 16 at least, and a flag of 32 bytes a direction.
#[test]
fn halo_messages_are_counted_among_the_bytes_of_a_device() {
    let heat = Stencil::of(Heat3 { rate: 0.9 }).boundary(Boundary::Dirichlet(0.0));
    let resident = stay([4, 2, 2], 4, 4, 1);
    let bytes = |policy: CudaPolicy| device_bytes(&heat, [8, 8, 128].into(), &policy).unwrap();
    let cells = bytes(policy(CudaKernel::Direct, [4, 2, 2], 4));
    let messages = 4 * (2 * 2 * (2 * (512 * 4 + 4 * 8) + 4 * 16 * 4 + 16) + 27 * 32);
    assert_eq!(bytes(resident), cells + messages);
}

/// A step of one stage leaves the state before it in the field's other array; one of two stages writes over both.
#[test]
fn states_that_residuals_are_of_are_counted_among_the_bytes_of_a_device() {
    let bytes = |stencil: &Stencil<f32, 3>| {
        device_bytes(stencil, [8, 8, 128].into(), &policy(CudaKernel::Direct, [4, 2, 2], 4))
            .unwrap()
    };
    let heat = || Heat3 { rate: 0.9 };
    let (once, twice) = (Stencil::of(heat()), Stencil::sequence((heat(), heat())));
    assert_eq!(bytes(&once), bytes(&twice));
    assert_eq!(bytes(&once.clone().until(Residual::Max, 1e-3)), bytes(&once));
    assert_eq!(2 * bytes(&twice.clone().until(Residual::Max, 1e-3)), 3 * bytes(&twice));
}

#[test]
fn what_can_not_stay_is_refused() {
    let refused = |stencil: &Stencil<f32, 3>, policy: &CudaPolicy, message: &str| {
        let error =
            compile_check(stencil, [64; 3].into(), policy, "sm_90").unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    };
    let policy = stay([4, 2, 3], 8, 6, 1);
    let heat = Stencil::of(Heat3 { rate: 0.9 });
    refused(
        &heat.clone().boundary(Boundary::Mirror),
        &policy,
        "a persistent kernel for this stencil",
    );
    refused(&heat, &CudaPolicy { chunk: 13, ..policy }, "tiles of 13 planes");
    refused(&heat, &CudaPolicy { temporal_depth: 3, ..policy }, "3 steps between halo exchanges");
    refused(&heat, &CudaPolicy { temporal_depth: 17, ..policy }, "17 steps between halo exchanges");
    let round = heat.boundary(Boundary::Periodic);
    refused(&round, &policy, "tiles of 6 cells of a persistent kernel over 64 that meet others");
}

/// A stirred value for every index: no two neighbours alike.
fn noise(index: usize) -> f64 {
    let mut h = (index as u64 ^ 0x9e37).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    h ^= h >> 29;
    (h.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 / (1u64 << 24) as f64
}

fn filled<T: Scalar, const D: usize>(extents: [usize; D]) -> Volume<T, D> {
    let mut volume = Volume::zeroed(extents).unwrap();
    for (index, cell) in volume.as_mut_slice().iter_mut().enumerate() {
        *cell =
            T::from_f64(noise(index) * if T::from_f64(0.5).to_f64() == 0.0 { 250.0 } else { 2.0 });
    }
    volume
}

/// Runs the element under every boundary and policy and compares bits with the reference.
fn check<T: Scalar, const D: usize>(
    element: impl StencilElement<D, State = T>,
    extents: &[[usize; D]],
) {
    if compiler().is_err() {
        println!("skipped: no NVRTC to compile {} with", std::any::type_name_of_val(&element));
        return;
    }
    let device = Device::open(0);
    if let Err(error) = &device {
        println!("compiled only: {error}");
    }
    let boundaries =
        [Boundary::Dirichlet(3.0), Boundary::Periodic, Boundary::Neumann, Boundary::Mirror];
    for (n, policy) in policies(D, size_of::<T>() != 2).iter().enumerate() {
        if device.is_err() {
            // One kernel a policy; each for one of the two architectures that it is made for.
            let stencil = Stencil::of(element.clone());
            let arch =
                if policy.kernel == CudaKernel::Planes || n % 2 == 0 { "sm_90" } else { "sm_80" };
            let cubin = compile_check(&stencil, extents[0].into(), policy, arch).unwrap();
            assert!(!cubin.image().is_empty());
            continue;
        }
        for &extents in extents {
            for boundary in boundaries {
                let mut stencil = Stencil::of(element.clone()).boundary(boundary);
                if matches!(boundary, Boundary::Neumann) && D > 1 {
                    // Faces of different kinds, so that corners have different sources.
                    stencil = stencil.face(0, Face::High, Boundary::Mirror);
                    stencil = stencil.face(D - 1, Face::Low, Boundary::Dirichlet(-1.5));
                }
                if stencil.check(extents).is_err() {
                    continue;
                }
                compare(&stencil, extents, policy, device.as_ref().unwrap(), 3);
            }
        }
    }
}

fn compare<T: Scalar, const D: usize>(
    stencil: &Stencil<T, D>,
    extents: [usize; D],
    policy: &CudaPolicy,
    device: &Device,
    steps: u64,
) {
    let mut expect = filled::<T, D>(extents);
    let mut found = expect.clone();
    let before = expect.clone();
    reference(stencil, &mut expect, steps).unwrap();
    let mut executor = CudaSweeps::new(stencil, &found, policy, device).unwrap();
    for sweep in sweeps(extents.into(), steps, steps - 1, None) {
        executor.sweep(&sweep).unwrap();
    }
    executor.finish().unwrap();
    executor.store(found.writable()).unwrap();
    if found.field_bytes(0) != expect.field_bytes(0) {
        let bad: Vec<_> =
            (0..found.len()).filter(|&i| found.as_slice()[i] != expect.as_slice()[i]).collect();
        let i = bad[0];
        panic!(
            "{} of {} cells differ on {extents:?} with {policy:?}, first {i}: {} is not {} (was {})",
            bad.len(),
            found.len(),
            found.as_slice()[i],
            expect.as_slice()[i],
            before.as_slice()[i]
        );
    }
}

#[test]
fn lines() {
    check(Line { rate: 0.9 }, &[[1000], [7], [4096]]);
}

#[test]
fn planes_of_floats() {
    check(Heat2 { rate: 0.9 }, &[[67, 261], [5, 3], [64, 256]]);
    check(Heat2d { rate: 0.9 }, &[[67, 261], [64, 256]]);
}

#[test]
fn planes_of_integers() {
    check(Box2 { rate: 3 }, &[[67, 261], [3, 2]]);
    check(Skew2 { rate: 5 }, &[[67, 261], [9, 8]]);
    check(Bytes2 { rate: 3 }, &[[67, 600], [3, 5]]);
}

#[test]
fn volumes_by_stars() {
    check(Heat3 { rate: 0.9 }, &[[19, 22, 133], [16, 16, 128], [2, 1, 1]]);
    check(Heat3d { rate: 0.9 }, &[[19, 22, 133], [16, 16, 128]]);
    check(Order8 { rate: 0.9 }, &[[19, 22, 133], [16, 32, 128], [5, 5, 5]]);
}

#[test]
fn volumes_by_other_footprints() {
    check(Box3 { rate: 0.9 }, &[[19, 22, 133], [16, 16, 128]]);
    check(Skew3 { rate: 3 }, &[[19, 22, 133], [5, 4, 6]]);
    check(Still3 { rate: 0.5 }, &[[5, 6, 70]]);
}

#[test]
fn four_dimensions() {
    check(Heat4 { rate: 0.9 }, &[[3, 9, 11, 70], [4, 8, 8, 64]]);
}

#[test]
fn residuals_are_the_reference_s() {
    let Ok(device) = Device::open(0) else { return println!("skipped: no GPU") };
    for residual in [Residual::Max, Residual::Sum, Residual::SumOfSquares] {
        let stencil =
            Stencil::of(Heat3 { rate: 0.9 }).boundary(Boundary::Neumann).until(residual, 1e-3);
        let mut expect = filled::<f32, 3>([13, 9, 71]);
        let found = expect.clone();
        let steps = reference(&stencil, &mut expect, 400).unwrap();
        let mut executor =
            CudaSweeps::new(&stencil, &found, &policy(CudaKernel::Direct, [4, 2, 2], 4), &device)
                .unwrap();
        let mut done = 0;
        for sweep in sweeps([13, 9, 71].into(), 400, 1, stencil_until(residual)) {
            executor.sweep(&sweep).unwrap();
            done += sweep.steps;
            if executor.residual(residual).unwrap() <= 1e-3 {
                break;
            }
        }
        assert_eq!((residual, done), (residual, steps));
    }
}

#[test]
fn residuals_of_extremes_are_exact() {
    let Ok(device) = Device::open(0) else { return println!("skipped: no GPU") };
    for policy in
        [policy(CudaKernel::Direct, [1, 2, 2], 4), policy(CudaKernel::Direct, [2, 1, 1], 3)]
    {
        crate::extremes::check(&mut |stencil, volume| {
            Box::new(CudaSweeps::new(stencil, volume, &policy, &device).unwrap())
        });
    }
}

fn stencil_until(residual: Residual) -> Option<warpweft::stencil::Until> {
    Some(warpweft::stencil::Until { residual, tolerance: 1e-3, every: 1 })
}

#[test]
fn many_steps_replay_a_graph() {
    let Ok(device) = Device::open(0) else { return println!("skipped: no GPU") };
    let stencil = Stencil::of(Heat2 { rate: 0.9 }).boundary(Boundary::Periodic);
    let (mut expect, mut found) = (filled::<f32, 2>([31, 70]), filled::<f32, 2>([31, 70]));
    reference(&stencil, &mut expect, 51).unwrap();
    let mut executor =
        CudaSweeps::new(&stencil, &found, &policy(CudaKernel::Direct, [2, 1, 2], 4), &device)
            .unwrap();
    for sweep in sweeps([31, 70].into(), 51, 17, None) {
        executor.sweep(&sweep).unwrap();
    }
    executor.finish().unwrap();
    executor.store(found.writable()).unwrap();
    assert!(found.as_slice() == expect.as_slice());
}

#[test]
fn a_volume_too_large_for_the_device_is_refused_with_both_sizes() {
    let Ok(device) = Device::open(0) else { return println!("skipped: no GPU") };
    let volume = Volume::<f32, 1>::zeroed([64 << 20]).unwrap();
    let (free, _) = device.memory().unwrap();
    let _rest = Buffer::new(&device, free as usize - (400 << 20)).unwrap();
    let policy = policy(CudaKernel::Direct, [4, 1, 1], 8);
    let stencil = Stencil::of(Line1 { rate: 1.0 });
    match CudaSweeps::new(&stencil, &volume, &policy, &device).unwrap_err() {
        Error::Memory { needed, available, .. } => {
            assert!(needed >= 512 << 20 && available < needed, "{needed} {available}")
        }
        other => panic!("{other}"),
    }
}

#[test]
fn every_candidate_compiles() {
    if compiler().is_err() {
        return println!("skipped: no NVRTC");
    }
    let stencil = Stencil::of(Heat3 { rate: 0.9 });
    for capability in [(8, 0), (9, 0)] {
        let all = CudaPolicy::candidates(&stencil, [64, 64, 64].into(), (capability, 108));
        assert!(all.len() > 10, "{} candidates", all.len());
        // Every eighth: the rest differ in numbers only.
        for policy in all.iter().step_by(8) {
            let arch = format!("sm_{}{}", capability.0, capability.1);
            compile_check(&stencil, [64, 64, 64].into(), policy, &arch).unwrap();
        }
    }
}

#[test]
fn shapes_that_no_kernel_can_have_are_refused() {
    let stencil = Stencil::of(Heat2 { rate: 0.9 });
    for (wrong, message) in [
        (policy(CudaKernel::Direct, [3, 1, 1], 8), "a thread of [3, 1, 1] cells"),
        (policy(CudaKernel::Direct, [4, 1, 1], 33), "33 warps"),
        (policy(CudaKernel::Planes, [4, 1, 1], 8), "planes of a 2-dimensional volume"),
        (
            CudaPolicy { chunk: 0, ..policy(CudaKernel::Planes, [4, 1, 1], 8) },
            "in 2 dimensions with `chunk` 0",
        ),
    ] {
        let error =
            compile_check(&stencil, [64, 64].into(), &wrong, "sm_90").unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
