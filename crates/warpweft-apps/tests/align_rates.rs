//! Rates of local alignment, and that executors agree at sizes the reference can't do.
//!
//! `cargo test --release -p warpweft-apps --test align_rates -- --ignored --nocapture`

use warpweft::cpu::Pool;
use warpweft::cuda::Device;
use warpweft::wavefront::conformance::Inputs;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::{CudaExecutor, compile_check};
use warpweft::wavefront::{CpuPolicy, CudaPolicy, Wavefront};
use warpweft_apps::align::{Dna, Scope, Sequence, Weights, align};

fn random(seed: u64, length: usize) -> Sequence {
    let mut inputs = Inputs(seed);
    let letters: Vec<_> = (0..length).map(|_| inputs.one_of(b"ACGT")).collect();
    Sequence::new("random", &letters).unwrap()
}

/// Rows, columns, chunk, warps, blocks.
const SHAPES: [(usize, &[[u32; 5]]); 3] = [
    (
        20_000,
        &[
            [4, 2, 16, 4, 1],
            [5, 2, 16, 4, 1],
            [4, 2, 8, 4, 1],
            [5, 2, 8, 4, 1],
            [6, 2, 8, 4, 1],
            [3, 2, 8, 4, 1],
            [4, 1, 8, 4, 1],
            [8, 2, 8, 4, 1],
            [6, 4, 16, 4, 1],
            [8, 2, 16, 4, 1],
            [4, 2, 8, 8, 1],
            [6, 1, 8, 4, 1],
        ],
    ),
    (
        100_000,
        &[
            [6, 2, 16, 4, 1],
            [6, 4, 16, 4, 1],
            [6, 2, 8, 4, 1],
            [6, 2, 32, 4, 1],
            [8, 2, 16, 3, 1],
            [3, 2, 16, 8, 1],
            [4, 2, 16, 6, 1],
            [12, 2, 16, 2, 1],
            [8, 4, 16, 4, 1],
            [3, 2, 16, 4, 2],
        ],
    ),
    (
        1_000_000,
        &[
            [10, 4, 32, 8, 1],
            [10, 4, 64, 8, 1],
            [8, 4, 32, 10, 1],
            [15, 4, 32, 8, 1],
            [15, 4, 64, 8, 1],
            [15, 2, 32, 8, 1],
            [20, 4, 32, 12, 1],
            [10, 4, 32, 12, 1],
            [16, 4, 32, 8, 1],
            [12, 4, 32, 10, 1],
            [5, 4, 32, 12, 1],
        ],
    ),
];

#[test]
#[ignore = "takes half a minute of an H200"]
fn shapes_of_the_gpu_kernel() {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => return println!("skipped: {error}"),
    };
    for (length, shapes) in SHAPES {
        let (a, b) = (random(1, length), random(2, length));
        let mut answer = None;
        // All kernels at once, into the cache.
        let wavefront = Wavefront::of(Dna::new(Weights::default())).rows(b"A").columns(b"A");
        let arch = device.arch().unwrap();
        std::thread::scope(|scope| {
            for &[rows, columns, chunk, warps, blocks] in shapes {
                let policy = CudaPolicy { rows, columns, chunk, warps, blocks, pairs: false };
                let (wavefront, arch) = (&wavefront, &arch);
                scope.spawn(move || compile_check(wavefront, &policy, arch).unwrap());
            }
        });
        for &[rows, columns, chunk, warps, blocks] in shapes {
            let policy = CudaPolicy { rows, columns, chunk, warps, blocks, pairs: false };
            let mut executor = CudaExecutor::new(&device, Some(policy)).unwrap();
            let runs = if length > 500_000 { 2 } else { 4 };
            let mut best = f64::INFINITY;
            for _ in 0..runs {
                match align(&a, &b, Weights::default(), Scope::Local, &mut executor) {
                    Ok((found, report)) => {
                        assert_eq!(*answer.get_or_insert(found), found, "{policy:?}");
                        best = best.min(report.seconds);
                    }
                    Err(error) => println!("{length} {policy:?}: {error}"),
                }
            }
            let rate = (length * length) as f64 / best / 1e12;
            let registers =
                executor.attributes().map(|(a, shared)| (a.registers, a.local_bytes, shared));
            println!(
                "{length} K{rows} SK{columns} CH{chunk} NW{warps} B{blocks}: {:.3} ms {rate:.3} TCUPS {registers:?}",
                best * 1e3
            );
        }
        println!("{length}: {answer:?}");
    }
}

#[test]
#[ignore = "takes seconds of a quiet core"]
fn one_core() {
    let (a, b) = (random(1, 20_000), random(2, 20_000));
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    let pool = Pool::new(&[core]).unwrap();
    let policy = CpuPolicy { threads: 1, tile_rows: 1024, tile_columns: 1024, sixteen: true };
    let mut executor = CpuExecutor::new(&pool, policy).unwrap();
    for _ in 0..3 {
        let (found, report) =
            align(&a, &b, Weights::default(), Scope::Local, &mut executor).unwrap();
        println!("{found:?} {:.2} GCUPS", report.rate.value / 1e9);
    }
}

/// One launch for a profiler.
fn once(length: usize, [rows, columns, chunk, warps, blocks]: [u32; 5]) {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => return println!("skipped: {error}"),
    };
    let (a, b) = (random(1, length), random(2, length));
    let policy = CudaPolicy { rows, columns, chunk, warps, blocks, pairs: false };
    let mut executor = CudaExecutor::new(&device, Some(policy)).unwrap();
    let (found, report) = align(&a, &b, Weights::default(), Scope::Local, &mut executor).unwrap();
    println!("{found:?} {:.3} ms", report.seconds * 1e3);
}

#[test]
#[ignore = "for a profiler"]
fn one_short_pair() {
    once(20_000, [4, 2, 16, 4, 1]);
}

#[test]
#[ignore = "for a profiler"]
fn one_long_pair() {
    once(300_000, [8, 4, 64, 8, 1]);
}
