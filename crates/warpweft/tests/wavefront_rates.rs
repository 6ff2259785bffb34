//! Cells a second of the wavefront executors, for a quiet machine; on a GPU with default shapes.
//!
//! `cargo test --release -p warpweft --test wavefront_rates -- --ignored --nocapture`

use warpweft::cpu::Pool;
use warpweft::cuda::Device;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::CudaExecutor;
use warpweft::wavefront::cuda::scan::ScanExecutor;
use warpweft::wavefront::{
    Border, CpuPolicy, CudaPolicy, Earlier, Keep, Kept, Wavefront, WavefrontElement,
    WavefrontExecutor, wavefront,
};
use warpweft_lab::conformance::wavefront::{AffineCell, Inputs, affine_local, area, local, warp};

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
            let policy = CpuPolicy { threads: 1, tile_rows, tile_columns, cells_16_bit: true };
            let mut executor = CpuExecutor::new(&pool, policy).unwrap();
            let (kept, report) = executor.run(&wavefront).unwrap();
            let Kept::Best(Some(best)) = kept else { panic!("{kept:?}") };
            println!("{policy:?} {best:?} {:.2} GCUPS", report.rate.value / 1e9);
        }
    }
}

/// The best of three runs.
fn rate<E: WavefrontElement>(
    name: &str,
    executor: &mut impl WavefrontExecutor<E>,
    wavefront: &Wavefront<'_, E>,
) {
    let runs = (0..3).map(|_| executor.run(wavefront).unwrap().1);
    let best = runs.max_by(|a, b| a.rate.value.total_cmp(&b.rate.value)).unwrap();
    println!("{name} {:?}: {:.4} TCUPS", wavefront.extents(), best.rate.value / 1e12);
}

/// A summed-area table, cell by cell.
#[wavefront]
fn table(h: Earlier<f32>, #[cell] x: f32) -> f32 {
    h.n + (h.w - h.nw + x)
}

/// Summed-area tables as any recurrence goes, by strips that inputs of cells come into; the default shape
/// and its neighbours.
#[test]
#[ignore = "takes seconds of a GPU, and 5 GB of its memory and of the host's"]
fn one_gpu_sums_tables_cell_by_cell() {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => return println!("skipped: {error}"),
    };
    let shape = |(rows, columns, chunk, warps)| {
        Some(CudaPolicy { rows, columns, chunk, warps, blocks: 1, packed_16x2: false })
    };
    let reals = vec![0.125f32; 16_384 * 16_384];
    let sums = Wavefront::of(table()).over([16_384; 2]).inputs(&reals).keep(Keep::Matrix);
    let shapes = [(4, 2, 16, 1), (4, 2, 16, 2), (4, 4, 32, 1), (5, 2, 32, 1), (8, 2, 16, 1)];
    for policy in std::iter::once(None).chain(shapes.map(shape)) {
        let mut strips = CudaExecutor::new(&device, policy).unwrap();
        rate(&format!("f32, 8 bytes a cell, {policy:?}"), &mut strips, &sums);
    }
    // What is left of the time with fewer columns is until all SMs are at work.
    let narrow = Wavefront::of(table()).over([16_384, 4_096]).inputs(&reals[..1 << 26]);
    let mut strips = CudaExecutor::new(&device, None).unwrap();
    rate("f32, 8 bytes a cell", &mut strips, &narrow.keep(Keep::Matrix));
    let pixels = vec![7u8; 32_768 * 32_768];
    let sums = Wavefront::of(area()).over([32_768; 2]).inputs(&pixels).keep(Keep::Matrix);
    for policy in std::iter::once(None).chain([(8, 2, 32, 1), (8, 2, 16, 2)].map(shape)) {
        let mut strips = CudaExecutor::new(&device, policy).unwrap();
        rate(&format!("bytes to i32, 5 bytes a cell, {policy:?}"), &mut strips, &sums);
    }
}

#[test]
#[ignore = "takes minutes of a GPU, and 40 GB of its memory and of the host's"]
fn one_gpu_runs_every_kind_of_recurrence() {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => return println!("skipped: {error}"),
    };
    let mut strips = CudaExecutor::new(&device, None).unwrap();
    for length in [20_000, 100_000, 1_000_000] {
        let (a, b) = (letters(1, length), letters(2, length));
        let gaps = affine_local(2, -3, -5, -1);
        let open = Border::Value(AffineCell { h: 0, e: -1_000_000, f: -1_000_000 });
        for keep in [Keep::Score, Keep::Best] {
            let linear = Wavefront::of(local(2, -1, -1)).rows(&a).columns(&b).keep(keep);
            rate(&format!("local, {keep:?}"), &mut strips, &linear);
            let affine = Wavefront::of(gaps).rows(&a).columns(&b).border(open.clone()).keep(keep);
            rate(&format!("affine gaps, {keep:?}"), &mut strips, &affine);
        }
    }
    let length = 100_000;
    let samples = |seed: u64| -> Vec<f32> {
        let mut inputs = Inputs(seed);
        (0..length).map(|_| (inputs.bits() % 1000) as f32 / 8.0).collect()
    };
    let (a, b) = (samples(1), samples(2));
    let corner = |i: isize, j: isize| if (i, j) == (-1, -1) { 0.0 } else { f32::INFINITY };
    let warped = Wavefront::of(warp())
        .rows(&a)
        .columns(&b)
        .border(Border::from_fn(length, length, corner))
        .keep(Keep::LastColumn);
    rate("time warping, last column", &mut strips, &warped);
    let (a, b) = (letters(1, length), letters(2, length));
    let matrix = Wavefront::of(local(2, -1, -1)).rows(&a).columns(&b).keep(Keep::Matrix);
    rate("local, matrix", &mut strips, &matrix);
    let mut scans = ScanExecutor::new(&device, None).unwrap();
    let pixels = vec![7u8; 32_768 * 32_768];
    let sums = Wavefront::of(area()).over([32_768; 2]).inputs(&pixels).keep(Keep::Matrix);
    rate("sums of bytes, 5 bytes a cell", &mut scans, &sums);
}
