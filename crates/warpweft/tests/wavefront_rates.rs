//! Cells a second of the wavefront executors, for a quiet machine.
//!
//! `cargo test --release -p warpweft --test wavefront_rates -- --ignored --nocapture`

use warpweft::cpu::Pool;
use warpweft::wavefront::conformance::{Inputs, local};
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::{CpuPolicy, Kept, Wavefront, WavefrontExecutor};

fn letters(seed: u64, length: usize) -> Vec<u8> {
    let mut inputs = Inputs(seed);
    (0..length).map(|_| inputs.one_of(b"ACGT")).collect()
}

#[test]
#[ignore = "takes seconds of a quiet core"]
fn one_core_scores_a_pair_of_twenty_thousand() {
    let (a, b) = (letters(1, 20_000), letters(2, 20_000));
    let element = local(2, -1, -1);
    let wavefront = Wavefront::of(element).rows(&a).columns(&b);
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    let pool = Pool::new(&[core]).unwrap();
    for tile_rows in [128, 256, 512, 1024, 2048, 4096] {
        for tile_columns in [1024, 4096] {
            let policy = CpuPolicy { threads: 1, tile_rows, tile_columns };
            let mut executor = CpuExecutor::new(&pool, policy).unwrap();
            let (kept, report) = executor.run(&wavefront).unwrap();
            let Kept::Best(Some(best)) = kept else { panic!("{kept:?}") };
            println!("{policy:?} {best:?} {:.2} GCUPS", report.rate.value / 1e9);
        }
    }
}
