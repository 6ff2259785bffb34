//! Policies for several GPUs, where they run, and their comparison with the reference. Not: what is run.

pub mod sound;

use warpweft::cuda::{Device, Together, compiler};
use warpweft::element::{Fields, Scalar};
use warpweft::prelude::*;
use warpweft::stencil::cuda::multi::compile_check;
use warpweft::stencil::{
    CudaKernel, CudaPolicy, Exchange, MultiCudaPolicy, MultiCudaSweeps, SweepExecutor, reference,
    sweeps,
};

pub fn policy(
    kernel: CudaKernel,
    cells: [u32; 3],
    warps: u32,
    exchange: Exchange,
) -> MultiCudaPolicy {
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
pub fn policies(dims: usize) -> Vec<MultiCudaPolicy> {
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
pub fn ringed() -> Vec<MultiCudaPolicy> {
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
pub fn trips() -> Vec<MultiCudaPolicy> {
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

/// Tiles that stay on the chip and send one another their rims, every step and every other.
pub fn residents(dims: usize) -> Vec<MultiCudaPolicy> {
    let stay = |cells, warps, planes, depth| {
        let mut policy = policy(CudaKernel::Resident, cells, warps, Exchange::Flags);
        (policy.cuda.chunk, policy.cuda.temporal_depth) = (planes, depth);
        // Room for a few tiles an SM.
        policy.cuda.min_blocks = 2;
        policy
    };
    match dims {
        2 => vec![
            stay([4, 1, 2], 2, 2, 1),
            stay([4, 1, 6], 2, 4, 2),
            stay([2, 1, 4], 4, 8, 3),
            stay([4, 1, 3], 8, 8, 8),
        ],
        _ => vec![stay([4, 2, 2], 4, 4, 1), stay([4, 4, 2], 8, 3, 2)],
    }
}

/// Lists of GPUs to run on: all numbers of different ones, or slabs side by side on the only one.
pub fn machines() -> Vec<Vec<Device>> {
    let count = Device::count().unwrap_or(0);
    let all: Vec<_> = (0..count).filter_map(|n| Device::open(n).ok()).collect();
    match all.as_slice() {
        [] => Vec::new(),
        [one] => (1..=3).map(|n| vec![*one; n]).collect(),
        several => (1..=several.len()).map(|n| several[..n].to_vec()).collect(),
    }
}

/// A stirred value for every index: no two neighbours alike.
pub fn noise(index: usize) -> f64 {
    let mut h = (index as u64 ^ 0x9e37).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    h ^= h >> 29;
    (h.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 / (1u64 << 24) as f64
}

pub fn filled<T: Scalar, const D: usize>(extents: [usize; D]) -> Volume<T, D> {
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
#[allow(dead_code, reason = "not every test that shares this file takes all policies")]
pub fn check<S: Fields, const D: usize>(stencil: Stencil<S, D>, start: &Volume<S, D>) {
    check_by(policies(D), stencil, start);
}

pub fn check_by<S: Fields, const D: usize>(
    policies: Vec<MultiCudaPolicy>,
    stencil: Stencil<S, D>,
    start: &Volume<S, D>,
) {
    check_all(policies, boundaries(&stencil), start);
}

/// Likewise, of these stencils; without a GPU the last of them compiles. The runs that could be made.
pub fn check_all<S: Fields, const D: usize>(
    policies: Vec<MultiCudaPolicy>,
    stencils: Vec<Stencil<S, D>>,
    start: &Volume<S, D>,
) -> usize {
    let Some(stencil) = stencils.last() else { return 0 };
    if let Err(error) = compiler() {
        println!("skipped: {error}");
        return 0;
    }
    let _together = Together::begin();
    let machines = machines();
    if machines.is_empty() {
        println!("compiled only: no GPU");
        for policy in policies {
            // What not every stencil can do has tests of its own.
            let few = matches!(policy.cuda.kernel, CudaKernel::Pipeline | CudaKernel::Resident);
            if few || policy.exchange == Exchange::Words {
                continue;
            }
            if policy.cuda.kernel != CudaKernel::Planes {
                assert!(!compile_check(stencil, &policy, "sm_80").unwrap().image().is_empty());
            }
            assert!(!compile_check(stencil, &policy, "sm_90").unwrap().image().is_empty());
        }
        return 0;
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
                    || matches!(policy.cuda.kernel, CudaKernel::Pipeline | CudaKernel::Resident)
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
    runs
}

fn stencil_name<S: Fields, const D: usize>(_: &Stencil<S, D>) -> &'static str {
    std::any::type_name::<S>()
}
