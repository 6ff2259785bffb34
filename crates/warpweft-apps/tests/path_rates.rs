//! How long a path takes by directions and in linear space, on a quiet machine.
//!
//! `cargo test --release -p warpweft-apps --test path_rates -- --ignored --nocapture`

use std::time::Instant;

use warpweft::cpu::Pool;
use warpweft::cuda::Device;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::CudaExecutor;
use warpweft::wavefront::traceback::Way;
use warpweft::wavefront::{CpuPolicy, WavefrontExecutor};
use warpweft_apps::align::{Executor, Scope, Sequence, Tracing, Weights, trace};
use warpweft_apps::warping::{path, time_warping};
use warpweft_lab::conformance::wavefront::Inputs;

const GAPPED: Weights = Weights { matching: 2, mismatch: -3, open: -5, extend: -1 };

/// A sequence, and one that differs in a tenth of its letters.
fn pair(length: usize) -> [Sequence; 2] {
    let mut inputs = Inputs(length as u64);
    let a: Vec<_> = (0..length).map(|_| inputs.one_of(b"ACGT")).collect();
    let changed =
        |&letter| if inputs.bits().is_multiple_of(10) { inputs.one_of(b"ACGT") } else { letter };
    let b: Vec<_> = a.iter().map(changed).collect();
    [a, b].map(|letters| Sequence::new("case", &letters).unwrap())
}

/// Prints the least of three times, all of it, and that the paths are the same.
fn alignments(executor: &mut dyn Executor, length: usize) {
    let [a, b] = pair(length);
    for (weights, name) in [(Weights::default(), "linear"), (GAPPED, "affine")] {
        for scope in [Scope::Local, Scope::Global] {
            let found = [Way::LinearSpace, Way::Directions].map(|way| {
                let tracing = Tracing { way, ..Tracing::default() };
                let mut least = f64::INFINITY;
                let mut found = None;
                for _ in 0..3 {
                    let begin = Instant::now();
                    let (path, report) = trace(&a, &b, weights, scope, &tracing, executor).unwrap();
                    if begin.elapsed().as_secs_f64() < least {
                        least = begin.elapsed().as_secs_f64();
                        found = Some((path, report));
                    }
                }
                let (path, report) = found.unwrap();
                println!(
                    "{length} {name} {scope:?} {way:?}: {:.2} Gcells/s in all, {:.1} ms, kernels {:.1} ms; {:?} {:?}",
                    (length * length) as f64 / least / 1e9,
                    least * 1e3,
                    report.seconds * 1e3,
                    report.notes,
                    report.policy
                );
                path
            });
            assert_eq!(found[0], found[1]);
        }
    }
}

fn warpings(executor: &mut dyn WavefrontExecutor<time_warping<f32>>, length: usize) {
    let mut inputs = Inputs(length as u64);
    let mut series =
        || -> Vec<f32> { (0..length).map(|_| (inputs.bits() % 1000) as f32 / 8.0).collect() };
    let (a, b) = (series(), series());
    let found = [Way::LinearSpace, Way::Directions].map(|way| {
        let mut least = f64::INFINITY;
        let mut found = Vec::new();
        for _ in 0..3 {
            let begin = Instant::now();
            found = path(&a, &b, way, None, executor).unwrap().1;
            least = least.min(begin.elapsed().as_secs_f64());
        }
        let rate = (length * length) as f64 / least / 1e9;
        println!("{length} warping {way:?}: {rate:.2} Gcells/s in all, {:.1} ms", least * 1e3);
        found
    });
    assert_eq!(found[0], found[1]);
}

#[test]
#[ignore = "takes a minute of a quiet core"]
fn one_core() {
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    let pool = Pool::new(&[core]).unwrap();
    let mut executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(2500, 1)).unwrap();
    alignments(&mut executor, 20_000);
    warpings(&mut executor, 20_000);
}

#[test]
#[ignore = "takes a minute of a GPU"]
fn one_gpu() {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => return println!("skipped: {error}"),
    };
    let mut executor = CudaExecutor::new(&device, None).unwrap();
    for length in [20_000, 100_000, 400_000] {
        alignments(&mut executor, length);
        warpings(&mut executor, length);
    }
}
