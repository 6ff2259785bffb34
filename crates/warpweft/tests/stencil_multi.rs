//! Sweeps over several GPUs: kernels compile without a GPU; with one or more, slabs give the
//! reference's bits. One GPU holds several slabs then, several GPUs every number of them.

mod linear;

use linear::{cube, star, taps};
use warpweft::cuda::{Device, Together, compiler};
use warpweft::element::{Fields, Scalar};
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

fn policy(kernel: CudaKernel, cells: [u32; 3], warps: u32, exchange: Exchange) -> MultiCudaPolicy {
    let cuda = CudaPolicy {
        kernel,
        cells,
        warps,
        min_blocks: 1,
        chunk: 3,
        prefetch: 1,
        temporal_depth: 1,
        phases: 0,
        contraction: false,
    };
    MultiCudaPolicy::new(cuda, exchange)
}

/// Tiles of one and of several planes, whole and cut, at both kinds of exchange.
fn policies(dims: usize) -> Vec<MultiCudaPolicy> {
    use CudaKernel::{Direct, March};
    let mut all = vec![
        policy(Direct, [4, 1, 1], 4, Exchange::Copies),
        policy(March, [2, 2, 1], 3, Exchange::Copies),
    ];
    if dims < 4 {
        all.extend([
            policy(Direct, [4, 2, 2], 8, Exchange::Flags),
            MultiCudaPolicy { early: false, ..policy(Direct, [2, 1, 1], 1, Exchange::Flags) },
            policy(Direct, [1, 2, 3], 3, Exchange::Flags),
            policy(March, [4, 1, 1], 2, Exchange::Flags),
        ]);
    }
    if (2..4).contains(&dims) {
        let words = |depth, cells, warps| {
            let policy = policy(Direct, cells, warps, Exchange::Words);
            MultiCudaPolicy { depth, ..policy }
        };
        all.extend([words(1, [4, 2, 2], 8), words(2, [2, 1, 1], 1), words(3, [1, 2, 3], 3)]);
        all.extend(trips());
    }
    all
}

/// Planes brought by the copy engine: chunks shorter and longer than slabs, few phases and all.
fn ringed() -> Vec<MultiCudaPolicy> {
    let planes = |exchange, [x, y, warps, chunk, phases]: [u32; 5]| {
        let mut policy = policy(CudaKernel::Planes, [x, y, 1], warps, exchange);
        (policy.cuda.chunk, policy.cuda.phases) = (chunk, phases);
        policy
    };
    vec![
        planes(Exchange::Copies, [4, 1, 4, 3, 2]),
        planes(Exchange::Flags, [4, 2, 4, 3, 2]),
        planes(Exchange::Flags, [2, 1, 3, 32, 1]),
        MultiCudaPolicy { early: false, ..planes(Exchange::Flags, [4, 3, 2, 2, 0]) },
    ]
}

/// Trips of several steps: chunks longer than a trip is deep, and shorter.
fn trips() -> Vec<MultiCudaPolicy> {
    let trip = |exchange, [cells_y, warps, chunk, depth]: [u32; 4]| {
        let mut policy = policy(CudaKernel::Pipeline, [4, cells_y, 1], warps, exchange);
        (policy.cuda.chunk, policy.cuda.temporal_depth) = (chunk, depth);
        policy
    };
    vec![
        trip(Exchange::Copies, [2, 8, 16, 3]),
        trip(Exchange::Flags, [2, 8, 16, 3]),
        trip(Exchange::Flags, [3, 4, 5, 2]),
        trip(Exchange::Flags, [2, 8, 2, 4]),
        trip(Exchange::Flags, [1, 4, 3, 1]),
    ]
}

/// Lists of GPUs to run on: all numbers of different ones, or slabs side by side on the only one.
fn machines() -> Vec<Vec<Device>> {
    let count = Device::count().unwrap_or(0);
    let all: Vec<_> = (0..count).filter_map(|n| Device::open(n).ok()).collect();
    match all.as_slice() {
        [] => Vec::new(),
        [one] => (1..=3).map(|n| vec![*one; n]).collect(),
        several => (1..=several.len()).map(|n| several[..n].to_vec()).collect(),
    }
}

/// A stirred value for every index: no two neighbours alike.
fn noise(index: usize) -> f64 {
    let mut h = (index as u64 ^ 0x9e37).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    h ^= h >> 29;
    (h.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 / (1u64 << 24) as f64
}

fn filled<T: Scalar, const D: usize>(extents: [usize; D]) -> Volume<T, D> {
    let mut volume = Volume::zeroed(extents).unwrap();
    let scale = if T::from_f64(0.5).to_f64() == 0.0 { 250.0 } else { 2.0 };
    for (index, cell) in volume.as_mut_slice().iter_mut().enumerate() {
        *cell = T::from_f64(noise(index) * scale);
    }
    volume
}

fn boundaries<S: Fields, const D: usize>(stencil: &Stencil<S, D>) -> Vec<Stencil<S, D>> {
    let all = |boundary| stencil.clone().boundary(boundary);
    let mixed = all(Boundary::Neumann).face(0, Face::High, Boundary::Mirror).face(
        D - 1,
        Face::Low,
        Boundary::Dirichlet(-1.5),
    );
    vec![all(Boundary::Dirichlet(3.0)), all(Boundary::Periodic), mixed]
}

/// Every policy, boundary and number of GPUs against the reference, all fields bitwise.
fn check<S: Fields, const D: usize>(stencil: Stencil<S, D>, start: &Volume<S, D>) {
    check_by(policies(D), stencil, start);
}

fn check_by<S: Fields, const D: usize>(
    policies: Vec<MultiCudaPolicy>,
    stencil: Stencil<S, D>,
    start: &Volume<S, D>,
) {
    check_all(policies, boundaries(&stencil), start);
}

/// Likewise, of these stencils; without a GPU the last of them compiles.
fn check_all<S: Fields, const D: usize>(
    policies: Vec<MultiCudaPolicy>,
    stencils: Vec<Stencil<S, D>>,
    start: &Volume<S, D>,
) {
    let Some(stencil) = stencils.last() else { return };
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    let _together = Together::begin();
    let machines = machines();
    if machines.is_empty() {
        println!("compiled only: no GPU");
        for policy in policies {
            // What not every stencil can do has tests of its own.
            if policy.cuda.kernel == CudaKernel::Pipeline || policy.exchange == Exchange::Words {
                continue;
            }
            if policy.cuda.kernel != CudaKernel::Planes {
                assert!(!compile_check(stencil, &policy, "sm_80").unwrap().image().is_empty());
            }
            assert!(!compile_check(stencil, &policy, "sm_90").unwrap().image().is_empty());
        }
        return;
    }
    // A short graph's steps and some, then a few; a test of its own does long ones.
    const STEPS: u64 = 37 + 4;
    let extents = start.extents();
    let mut runs = 0;
    for stencil in stencils {
        let mut expect = start.clone();
        reference(&stencil, &mut expect, STEPS).unwrap();
        for policy in policies.iter().copied() {
            for devices in &machines {
                let mut found = start.clone();
                let executor = MultiCudaSweeps::new(&stencil, &found, &policy, devices);
                // Not every stencil can be exchanged in words, or pipelined, nor have slabs on one GPU
                // always room beside one another.
                let shared = (1..devices.len()).any(|n| devices[..n].contains(&devices[n]));
                let refusable = policy.exchange == Exchange::Words
                    || policy.cuda.kernel == CudaKernel::Pipeline
                    || (policy.exchange == Exchange::Flags && shared);
                let mut executor = match executor {
                    Err(Error::Spec { .. }) if refusable => continue,
                    executor => executor.unwrap(),
                };
                for sweep in sweeps(extents, STEPS, 37, None) {
                    executor.sweep(&sweep).unwrap();
                }
                executor.finish().unwrap();
                executor.store(found.writable()).unwrap();
                runs += 1;
                for f in 0..S::FIELDS.len() {
                    let (found, expect) = (found.field_bytes(f), expect.field_bytes(f));
                    let size = S::FIELDS[f].kind.size();
                    let differ = found.iter().zip(expect).position(|(a, b)| a != b);
                    if let Some(at) = differ {
                        let bad = found.iter().zip(expect).filter(|(a, b)| a != b).count();
                        panic!(
                            "{} on {executor:?}, field {f}: {bad} bytes differ, first cell {}; {policy:?}",
                            stencil_name(&stencil),
                            at / size
                        );
                    }
                }
            }
        }
    }
    println!("{runs} runs over {extents:?} equal the reference");
}

fn stencil_name<S: Fields, const D: usize>(_: &Stencil<S, D>) -> &'static str {
    std::any::type_name::<S>()
}

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

#[stencil]
fn blur(now: Near<Sound, 3>, next: &mut Sound, share: f32) {
    next.p = now.p[[0, 0, 0]] + share * (now.p[[-2, 0, 0]] - now.rho[[1, 0, 0]]);
}

#[stencil]
fn slant(now: Near<Sound, 3>, next: &mut Sound, share: f32) {
    next.p = now.p[[0, 0, 0]] + share * (now.rho[[1, 0, -1]] - now.vx[[-1, 1, 0]]);
}

fn sound() -> Volume<Sound, 3> {
    Volume::from_fn([22, 14, 75], |[z, y, x]| {
        let cell = ((z * 14 + y) * 75 + x) * 5;
        let value = |of| noise(cell + of) as f32;
        Sound { vz: value(0), vy: value(1), vx: value(2), p: value(3), rho: 1.0 + value(4) }
    })
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
