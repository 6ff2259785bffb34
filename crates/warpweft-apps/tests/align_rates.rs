//! Rates of local alignment, and that executors agree at sizes the reference can't do.
//!
//! `cargo test --release -p warpweft-apps --test align_rates -- --ignored --nocapture`

use warpweft::cpu::Pool;
use warpweft::cuda::Device;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::{CudaExecutor, Variant, compile_check, compile_check_as};
use warpweft::wavefront::{CpuPolicy, CudaPolicy, Keep, Wavefront, WavefrontExecutor};
use warpweft_apps::align::{Dna, Scope, Sequence, Weights, align};
use warpweft_lab::conformance::wavefront::Inputs;

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
                let policy = CudaPolicy { rows, columns, chunk, warps, blocks, packed_16x2: false };
                let (wavefront, arch) = (&wavefront, &arch);
                scope.spawn(move || compile_check(wavefront, &policy, arch).unwrap());
            }
        });
        for &[rows, columns, chunk, warps, blocks] in shapes {
            let policy = CudaPolicy { rows, columns, chunk, warps, blocks, packed_16x2: false };
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

/// Shapes for a share of a long pair, and whether two cells share a register.
const SHARED: [([u32; 5], bool); 12] = [
    ([15, 1, 16, 4, 1], false),
    ([15, 1, 32, 4, 1], false),
    ([15, 2, 8, 4, 1], false),
    ([15, 2, 16, 4, 1], false),
    ([15, 2, 32, 4, 1], false),
    ([12, 2, 16, 4, 1], false),
    ([8, 2, 16, 4, 1], false),
    ([5, 2, 16, 4, 1], false),
    ([15, 2, 32, 8, 1], false),
    ([8, 1, 16, 4, 1], true),
    ([8, 1, 32, 4, 1], true),
    ([15, 1, 32, 8, 1], true),
];

/// A long pair over all GPUs of the machine by the shape of tile-rows, and what one of them takes for
/// as many rows as it holds at once, of which the model's costs are made.
#[test]
#[ignore = "takes half a minute of all GPUs"]
fn shapes_over_several_gpus() {
    let count = match Device::count() {
        Ok(count) if count > 0 => count.min(4),
        _ => return println!("skipped: no GPU"),
    };
    let devices: Vec<_> = (0..count).map(|number| Device::open(number).unwrap()).collect();
    let length = 1_000_000;
    let (a, b) = (random(1, length), random(2, length));
    let wavefront = Wavefront::of(Dna::new(Weights::default()));
    let arch = devices[0].arch().unwrap();
    let policies = SHARED.map(|([rows, columns, chunk, warps, blocks], pairs)| CudaPolicy {
        rows,
        columns,
        chunk,
        warps,
        blocks,
        packed_16x2: pairs,
    });
    std::thread::scope(|scope| {
        for policy in policies {
            for several in [false, true] {
                let variant = Variant { several, ..Variant::default() };
                let (wavefront, arch) = (&wavefront, &arch);
                let wavefront = wavefront.clone().rows(b"A").columns(b"A").keep(Keep::Score);
                scope.spawn(move || compile_check_as(&wavefront, &policy, variant, arch).unwrap());
            }
        }
    });
    let mut score = None;
    for policy in policies {
        for gpus in [1, count].into_iter().take(count) {
            // One GPU's share of the work, or all of it.
            let all = gpus > 1 || policy.warps == 8 && policy.rows == 15;
            let rows = if all { length } else { 132 * policy.tile_rows() };
            let wavefront = wavefront.clone().rows(&a.as_rows()[..rows]).columns(b.as_columns());
            let wavefront = wavefront.keep(Keep::Score);
            let mut executor = CudaExecutor::over(&devices[..gpus], Some(policy)).unwrap();
            let mut seconds = f64::INFINITY;
            for _ in 0..3 {
                let (found, report) = executor.run(&wavefront).unwrap();
                if all {
                    assert!(*score.get_or_insert(found.clone()) == found, "{policy:?}");
                }
                seconds = seconds.min(report.seconds);
            }
            let rate = rows as f64 * length as f64 / seconds / 1e12;
            let CudaPolicy { rows: k, columns, chunk, warps, packed_16x2: pairs, .. } = policy;
            println!(
                "{gpus} GPUs, K{k} SK{columns} CH{chunk} NW{warps} pairs {pairs}, {rows} rows: {:.3} ms {rate:.3} TCUPS",
                seconds * 1e3
            );
        }
    }
}

#[test]
#[ignore = "takes seconds of a quiet core"]
fn one_core() {
    let (a, b) = (random(1, 20_000), random(2, 20_000));
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    let pool = Pool::new(&[core]).unwrap();
    let policy = CpuPolicy { threads: 1, tile_rows: 1024, tile_columns: 1024, cells_16_bit: true };
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
    let policy = CudaPolicy { rows, columns, chunk, warps, blocks, packed_16x2: false };
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
