//! Rates of wavefronts that `warpweft-lab bench wavefront` has no case for: `cargo bench -p warpweft-wavefront [NAME]`.

use warpweft::cpu::Pool;
use warpweft::cuda::Device;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::CudaExecutor;
use warpweft::wavefront::{
    CpuPolicy, CudaPolicy, Earlier, Keep, Wavefront, WavefrontElement, WavefrontExecutor, wavefront,
};
use warpweft_conformance::wavefront::{Inputs, area, local};

const ALL: [(&str, fn()); 3] = [
    ("one_gpu_sums_tables_cell_by_cell", one_gpu_sums_tables_cell_by_cell),
    ("one_core_scores_many_reads", one_core_scores_many_reads),
    ("one_gpu_scores_many_reads", one_gpu_scores_many_reads),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    for (name, run) in ALL {
        if wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str())) {
            println!("== {name}");
            run();
        }
    }
}

/// A core that this process may use.
fn core() -> usize {
    (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap()
}

fn letters(seed: u64, length: usize) -> Vec<u8> {
    let mut inputs = Inputs(seed);
    (0..length).map(|_| inputs.one_of(b"ACGT")).collect()
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
/// and its neighbours. Takes 5 GB of the GPU's memory and of the host's.
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

/// `count` pairs of 100 to 300 letters with windows of 500 to 1,500: the best of three runs.
fn batch_rate(name: &str, count: usize, executor: &mut dyn WavefrontExecutor<local>) {
    let length =
        |seed: usize, least: usize| least + Inputs(seed as u64).bits() as usize % (2 * least);
    let pairs: Vec<_> = (0..count)
        .map(|k| {
            let [m, n] = [length(k, 100), length(k + count, 500)];
            (letters(k as u64, m), letters((k + count) as u64, n))
        })
        .collect();
    let problems: Vec<_> =
        pairs.iter().map(|(a, b)| Wavefront::of(local(2, -1, -1)).rows(a).columns(b)).collect();
    let runs = (0..3).map(|_| executor.run_batch(&problems).unwrap().1);
    let best = runs.max_by(|a, b| a.rate.value.total_cmp(&b.rate.value)).unwrap();
    let cells = best.done as f64;
    println!(
        "{name}, {count} pairs: {:.1} GCUPS, with all transfers {:.1} ({})",
        best.rate.value / 1e9,
        cells / (best.seconds + best.setup_seconds) / 1e9,
        best.policy
    );
}

/// Many short pairs on a quiet core.
fn one_core_scores_many_reads() {
    let pool = Pool::new(&[core()]).unwrap();
    for sixteen in [false, true] {
        let policy = CpuPolicy { cells_16_bit: sixteen, ..CpuPolicy::for_domain(300, 1) };
        let mut executor = CpuExecutor::new(&pool, policy).unwrap();
        batch_rate(&format!("a core, 16 bits {sixteen}"), 4000, &mut executor);
    }
}

/// Many short pairs on a GPU.
fn one_gpu_scores_many_reads() {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => return println!("skipped: {error}"),
    };
    for count in [1000, 10_000, 100_000] {
        batch_rate(device.label(), count, &mut CudaExecutor::new(&device, None).unwrap());
    }
}
