//! Ranks of MPI on a GPU each beside one process with all GPUs, 1024³ cells a GPU.
//!
//! `cargo test --release -p warpweft --features mpi --test mpi_rates -- --ignored --nocapture one_process`,
//! then `mpirun -n 4` of the same program with `--exact rank`.
#![cfg(feature = "mpi")]

mod linear;

use std::time::Instant;

use linear::star;
use warpweft::cluster::mpi::Mpi;
use warpweft::cluster::{Launched, Transport};
use warpweft::cuda::Device;
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft::stencil::distribute::Ranks;
use warpweft::stencil::{
    CudaKernel, CudaPolicy, Exchange, MultiCudaPolicy, MultiCudaSweeps, Policy, Region, Run, Span,
    Sweep, SweepExecutor,
};

linear!(Heat3, f32, 3, star::<3, 7>(1), |k| 0.2 - 0.02 * k as f32);

const STEPS: u64 = 256;

const DIRECT: CudaPolicy = CudaPolicy {
    kernel: CudaKernel::Direct,
    cells: [4, 2, 4],
    warps: 8,
    min_blocks: 2,
    chunk: 0,
    prefetch: 0,
    temporal_depth: 1,
    contraction: true,
};

fn side() -> usize {
    std::env::var("WARPWEFT_SIDE").ok().and_then(|side| side.parse().ok()).unwrap_or(1024)
}

/// A volume of stirred values, filled by all cores.
fn filled(extents: [usize; 3]) -> Result<Volume<f32, 3>> {
    let mut volume = Volume::<f32, 3>::zeroed(extents)?;
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
    Ok(volume)
}

#[test]
#[ignore = "a rank with a GPU, to be started by mpirun"]
fn rank() {
    let Some(launched) = Launched::detect() else {
        println!("skipped: mpirun starts this");
        return;
    };
    let net = Mpi::join(&launched).unwrap();
    let machine = Machine::detect().unwrap();
    let n = side();
    let extents = [n * net.ranks(), n, n];
    let stencil = Stencil::of(Heat3 { rate: 0.9 }).boundary(Boundary::Dirichlet(0.0));
    let start = |span: Span<3>| filled(span.extents());
    for depth in [1, 2, 4, 8] {
        let run = Run { policy: Some(Policy::Cuda(DIRECT)), ..Run::default() };
        let grid = Some([net.ranks(), 1, 1]);
        let ranks = Ranks { count: net.ranks(), grid, depth: Some(depth) };
        let from = (extents, &start as &_);
        let outcome = stencil.run_share(from, Steps(STEPS), &machine, &ranks, &run, &net);
        let (_, _, report) = outcome.unwrap_or_else(|error| {
            println!("rank {}: {error}", net.rank());
            net.end_all(1);
            panic!("{error}")
        });
        if net.rank() == 0 {
            println!(
                "{} ranks, R = {depth}: {:.1} us a step, waiting {}, {} by {}, CUDA-aware {}, {:?}",
                net.ranks(),
                report.seconds * 1e6 / STEPS as f64,
                report.policy["waiting"],
                report.policy["halos_by"],
                net.library(),
                net.cuda_aware(),
                report.notes,
            );
        }
    }
    net.leave().unwrap();
}

#[test]
#[ignore = "takes every GPU of the machine"]
fn one_process() {
    let count = Device::count().unwrap_or(0).min(4);
    let devices: Vec<_> = (0..count).map(|n| Device::open(n).unwrap()).collect();
    let n = side();
    for devices in [&devices[..1], &devices[..]] {
        let extents = [n * devices.len(), n, n];
        let volume = filled(extents).unwrap();
        let stencil = Stencil::of(Heat3 { rate: 0.9 }).boundary(Boundary::Dirichlet(0.0));
        let policy =
            MultiCudaPolicy { cuda: DIRECT, exchange: Exchange::Flags, early: true, depth: 1 };
        let mut sweeps = MultiCudaSweeps::new(&stencil, &volume, &policy, devices).unwrap();
        let region = Region { low: [0; 3], high: extents };
        let sweep = Sweep { first_step: 0, steps: STEPS, region, keep_change: false };
        for _ in 0..2 {
            let begin = Instant::now();
            sweeps.sweep(&sweep).unwrap();
            sweeps.finish().unwrap();
            let micros = begin.elapsed().as_secs_f64() * 1e6 / STEPS as f64;
            println!("one process, {} GPUs: {micros:.1} us a step", devices.len());
        }
    }
}
