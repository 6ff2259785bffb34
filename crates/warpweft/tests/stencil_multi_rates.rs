//! Strong and weak scaling over the GPUs of this machine, over the best single GPU in the same run.
//!
//! `cargo test --release -p warpweft --test stencil_multi_rates -- --ignored --nocapture`

mod linear;

use std::time::Instant;

use linear::star;
use warpweft::cuda::Device;
use warpweft::prelude::*;
use warpweft::stencil::{
    CudaKernel, CudaPolicy, CudaSweeps, Exchange, MultiCudaPolicy, MultiCudaSweeps, Region, Sweep,
    SweepExecutor,
};

linear!(Heat2, f32, 2, star::<2, 5>(1), |k| 0.3 - 0.04 * k as f32);
linear!(Heat3, f32, 3, star::<3, 7>(1), |k| 0.2 - 0.02 * k as f32);

const fn direct(cells: [u32; 3], warps: u32, min_blocks: u32) -> CudaPolicy {
    CudaPolicy {
        kernel: CudaKernel::Direct,
        cells,
        warps,
        min_blocks,
        chunk: 0,
        prefetch: 0,
        temporal_depth: 1,
        phases: 0,
        contraction: true,
    }
}

const SPACE: [CudaPolicy; 5] = [
    direct([4, 2, 4], 8, 2),
    direct([4, 2, 2], 8, 3),
    direct([4, 2, 1], 8, 4),
    direct([4, 1, 2], 8, 5),
    direct([4, 1, 1], 4, 10),
];
const PLANE: [CudaPolicy; 4] = [
    direct([4, 1, 4], 8, 2),
    direct([4, 1, 2], 8, 4),
    direct([4, 1, 1], 8, 5),
    direct([4, 1, 1], 4, 10),
];

/// Microseconds a step: the median of three runs of about 40 ms, by the host's clock.
fn step_time<const D: usize>(
    executor: &mut impl SweepExecutor<D>,
    extents: [usize; D],
    guess: f64,
) -> Result<f64> {
    let steps = ((40_000.0 / guess) as u64).clamp(32, 16_384) / 32 * 32;
    let region = Region { low: [0; D], high: extents };
    let sweep = Sweep { first_step: 0, steps, region, following: 0, keep_change: false };
    let mut times = Vec::new();
    for _ in 0..4 {
        let start = Instant::now();
        executor.sweep(&sweep)?;
        executor.finish()?;
        times.push(start.elapsed().as_secs_f64() * 1e6 / steps as f64);
    }
    // The first prepares graphs and wakes the devices.
    times.remove(0);
    times.sort_by(f64::total_cmp);
    Ok(times[1])
}

/// A volume of stirred values, filled by all cores.
fn filled<const D: usize>(extents: [usize; D]) -> Volume<f32, D> {
    let mut volume = Volume::<f32, D>::zeroed(extents).unwrap();
    let cells = volume.as_mut_slice();
    let share = cells.len().div_ceil(std::thread::available_parallelism().map_or(1, |n| n.get()));
    std::thread::scope(|scope| {
        for (part, cells) in cells.chunks_mut(share).enumerate() {
            scope.spawn(move || {
                for (n, cell) in cells.iter_mut().enumerate() {
                    let index = (part * share + n) as u32;
                    *cell = (index.wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0;
                }
            });
        }
    });
    volume
}

/// Pipelines of several steps a trip, for slabs of so many cells.
fn trips(dims: usize, cells: usize) -> Vec<CudaPolicy> {
    let shapes: &[([u32; 3], u32, u32, u32)] = match dims {
        2 => &[([4, 1, 1], 4, 3, 8)],
        _ => &[([4, 3, 1], 12, 1, 3), ([4, 2, 1], 8, 2, 2)],
    };
    let planes = if dims == 2 { [512, 128, 64] } else { [192, 96, 32] };
    let chunk = planes[if cells >= 100_000_000 { 0 } else { usize::from(cells < 10_000_000) + 1 }];
    let trip =
        |&(cells, warps, min_blocks, temporal_depth): &([u32; 3], u32, u32, u32)| CudaPolicy {
            kernel: CudaKernel::Pipeline,
            chunk,
            temporal_depth,
            prefetch: if dims == 2 { 4 } else { 2 },
            ..direct(cells, warps, min_blocks)
        };
    shapes.iter().map(trip).collect()
}

/// Microseconds a step of the fastest policy, by single steps and at all.
struct Best {
    single: f64,
    any: f64,
    by: String,
}

/// The best of `policies` and of trips on `devices`; on one, the one-GPU executor takes part.
fn best<const D: usize>(
    stencil: &Stencil<f32, D>,
    volume: &Volume<f32, D>,
    policies: &[CudaPolicy],
    devices: &[Device],
) -> Best {
    let extents = volume.extents();
    let each = volume.len() / devices.len();
    let guess = each as f64 / 4e5 + 2.0;
    let mut best = Best { single: f64::INFINITY, any: f64::INFINITY, by: String::new() };
    for &cuda in policies.iter().chain(&trips(D, each)) {
        let piped = cuda.kernel == CudaKernel::Pipeline;
        let mut offer = |who: &str, time: Result<f64>| match time {
            Ok(micros) => {
                let by = format!("{who} {:?}w{}x{}", cuda.cells, cuda.warps, cuda.temporal_depth);
                print!("  {by} {micros:.2}");
                if !piped {
                    best.single = best.single.min(micros);
                }
                if micros < best.any {
                    (best.any, best.by) = (micros, by);
                }
            }
            Err(error) => println!("  {cuda:?}: {error}"),
        };
        if let [device] = devices {
            let executor = CudaSweeps::new(stencil, volume, &cuda, device);
            offer("one", executor.and_then(|mut it| step_time(&mut it, extents, guess)));
        }
        let exchange = if piped { Exchange::Copies } else { Exchange::Flags };
        let policy = MultiCudaPolicy::new(cuda, exchange);
        let executor = MultiCudaSweeps::new(stencil, volume, &policy, devices);
        let who = format!("{}", devices.len());
        offer(&who, executor.and_then(|mut it| step_time(&mut it, extents, guess)));
    }
    println!();
    best
}

fn devices() -> Vec<Device> {
    (0..Device::count().unwrap_or(0).min(4)).map(|n| Device::open(n).unwrap()).collect()
}

/// Prints the times on one GPU and on more; the speedup of single steps on all.
fn strong<const D: usize>(
    name: &str,
    stencil: &Stencil<f32, D>,
    extents: [usize; D],
    policies: &[CudaPolicy],
) -> f64 {
    let devices = devices();
    let volume = filled(extents);
    let one = best(stencil, &volume, policies, &devices[..1]);
    println!("{name:10} 1 GPU {:8.2} us, at best {:8.2} ({})", one.single, one.any, one.by);
    let mut speedup = 0.0;
    for count in [2, devices.len()] {
        if count < 2
            || count > devices.len()
            || (count == 2 && devices.len() > 2 && volume.len() > 1 << 26)
        {
            continue;
        }
        let all = best(stencil, &volume, policies, &devices[..count]);
        speedup = one.single / all.single;
        println!(
            "{name:10} {count} GPUs {:8.2} us = {speedup:.2}x, at best {:8.2} = {:.2}x ({})",
            all.single,
            all.any,
            one.any / all.any,
            all.by
        );
    }
    speedup
}

#[test]
#[ignore = "takes half a minute of four H200s"]
fn strong_scaling() {
    let zero = Boundary::Dirichlet(0.0);
    let (plane, space) = (Stencil::of(Heat2 { rate: 0.9 }), Stencil::of(Heat3 { rate: 0.9 }));
    let (plane, space) = (plane.boundary(zero), space.boundary(zero));
    let found = [
        ("128^3", strong("128^3", &space, [128; 3], &SPACE), 1.3),
        ("256^3", strong("256^3", &space, [256; 3], &SPACE), 3.5),
        ("2048^2", strong("2048^2", &plane, [2048; 2], &PLANE), 1.6),
        ("4096^2", strong("4096^2", &plane, [4096; 2], &PLANE), 4.0),
        ("512^3", strong("512^3", &space, [512; 3], &SPACE[..3]), 3.6),
    ];
    report(&found);
}

#[test]
#[ignore = "takes half a minute of four H200s"]
fn large_volumes() {
    let space = Stencil::of(Heat3 { rate: 0.9 }).boundary(Boundary::Dirichlet(0.0));
    let devices = devices();
    let volume = filled([1024; 3]);
    let one = best(&space, &volume, &SPACE[..1], &devices[..1]);
    let all = best(&space, &volume, &SPACE[..1], &devices);
    let strong = one.single / all.single;
    println!(
        "1024^3, {} GPUs {:.2} us of {:.2}: {strong:.2}; at best {:.2} of {:.2}: {:.2} ({}, {})",
        devices.len(),
        all.single,
        one.single,
        all.any,
        one.any,
        one.any / all.any,
        one.by,
        all.by
    );
    drop(volume);
    let all = best(&space, &filled([1024 * devices.len(), 1024, 1024]), &SPACE[..1], &devices);
    let weak = one.single / all.single;
    println!(
        "1024^3 a GPU, {} GPUs {:.2} us: {weak:.3}; at best {:.2}: {:.3} ({})",
        devices.len(),
        all.single,
        all.any,
        one.any / all.any,
        all.by
    );
    report(&[("1024^3", strong, 3.8), ("weak 1024^3", weak, 0.98)]);
}

/// Prints what resident tiles take on one GPU and on several, for every shape that a tuner would try.
fn stay<const D: usize>(stencil: &Stencil<f32, D>, slab: [usize; D]) {
    let all = devices();
    let shapes = CudaPolicy::candidates(stencil, slab, ((9, 0), 132));
    for cuda in shapes.into_iter().filter(|cuda| cuda.kernel == CudaKernel::Resident) {
        let CudaPolicy { cells, warps, min_blocks, chunk, temporal_depth, .. } = cuda;
        print!("{slab:?} {cells:?} w{warps} b{min_blocks} p{chunk} d{temporal_depth}:");
        for count in 1..=all.len() {
            let mut extents = slab;
            extents[0] *= count;
            let volume = filled(extents);
            let policy = MultiCudaPolicy::new(cuda, Exchange::Flags);
            let ran = match count {
                1 => CudaSweeps::new(stencil, &volume, &cuda, &all[0])
                    .and_then(|mut it| Ok((step_time(&mut it, extents, 1.0)?, it.local_bytes()))),
                _ => MultiCudaSweeps::new(stencil, &volume, &policy, &all[..count])
                    .and_then(|mut it| Ok((step_time(&mut it, extents, 1.0)?, 0))),
            };
            match ran {
                Ok((micros, 0)) => print!(" {count} GPUs {micros:.3} us"),
                Ok((micros, local)) => print!(" {count} GPUs {micros:.3} us ({local} B spilled)"),
                Err(error) => print!(" {count} GPUs {error}"),
            }
        }
        println!();
    }
}

/// Slabs as four GPUs would have, each alone and beside others: what the hop to another GPU costs.
#[test]
#[ignore = "takes a few seconds of several H200s"]
fn residents() {
    let zero = Boundary::Dirichlet(0.0);
    let space = Stencil::of(Heat3 { rate: 0.9 }).boundary(zero);
    for slab in [[32, 128, 128], [64, 256, 256], [128; 3]] {
        stay(&space, slab);
    }
    let plane = Stencil::of(Heat2 { rate: 0.9 }).boundary(zero);
    for slab in [[512, 2048], [1024, 4096], [2048; 2]] {
        stay(&plane, slab);
    }
}

/// The bars are for four GPUs; with fewer, figures are only printed.
fn report(found: &[(&str, f64, f64)]) {
    let four = devices().len() == 4;
    for (name, speedup, bar) in found {
        println!("{name:12} {speedup:.2} of {bar}");
    }
    for (name, speedup, bar) in found {
        assert!(!four || speedup >= bar, "{name}: {speedup:.2} is below {bar}");
    }
}
