//! Paths of time warping: legal, as dear as the distance says, and the same in any space.

use warpweft::cpu::Pool;
use warpweft::cuda::Device;
use warpweft::wavefront::CpuPolicy;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::CudaExecutor;
use warpweft::wavefront::traceback::{Partition, Way};
use warpweft_apps::warping::{Cost, Executor, Measure, added_up, path, plain};

/// So many workers on one core that the test may use.
fn pool(workers: usize) -> Pool {
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    Pool::new(&vec![core; workers]).unwrap()
}

/// A series in eighths: sums are exact.
fn series(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed | 1);
            ((state >> 40) % 64) as f32 / 8.0
        })
        .collect()
}

/// The path from the whole table, by the rule of `warping::path`: both go on, then B, then A.
fn by_table(a: &[f32], b: &[f32]) -> Vec<[usize; 2]> {
    let (m, n) = (a.len(), b.len());
    let mut table = vec![vec![f32::INFINITY; n + 1]; m + 1];
    table[0][0] = 0.0;
    for i in 1..=m {
        for j in 1..=n {
            let least = table[i - 1][j].min(table[i][j - 1]).min(table[i - 1][j - 1]);
            table[i][j] = (a[i - 1] - b[j - 1]).abs() + least;
        }
    }
    let (mut i, mut j) = (m, n);
    let mut pairs = Vec::new();
    while i > 0 && j > 0 {
        pairs.push([i - 1, j - 1]);
        let (pair, across, down) = (table[i - 1][j - 1], table[i][j - 1], table[i - 1][j]);
        if pair <= across && pair <= down {
            (i, j) = (i - 1, j - 1);
        } else if across <= down {
            j -= 1;
        } else {
            i -= 1;
        }
    }
    pairs.reverse();
    pairs
}

fn conforms(executor: &mut dyn Executor<f32>) {
    let measure = Measure::default();
    for (m, n) in [(1, 1), (1, 9), (9, 1), (40, 33), (300, 211)] {
        let (a, b) = (series(m as u64, m), series(7 + n as u64, n));
        let expect = by_table(&a, &b);
        // The whole table kept, next to nothing, and every cell's choice.
        let small = Some(Partition { blocks: 3, matrix_cells: 50 });
        for (way, cut) in
            [(Way::LinearSpace, None), (Way::LinearSpace, small), (Way::Directions, None)]
        {
            let (distance, pairs, _) = path(&a, &b, measure, way, cut, executor).unwrap();
            assert_eq!(distance, plain(&a, &b, measure), "{m} × {n}");
            assert_eq!(pairs, expect, "{m} × {n} {way:?} {cut:?}");
            let cost: f32 = pairs.iter().map(|&[i, j]| (a[i] - b[j]).abs()).sum();
            assert_eq!(cost, distance);
            assert_eq!((pairs[0], pairs[pairs.len() - 1]), ([0, 0], [m - 1, n - 1]));
        }
    }
}

#[test]
fn on_the_cores() {
    let pool = pool(1);
    let policy = CpuPolicy { tile_rows: 64, ..CpuPolicy::for_domain(300, 1) };
    conforms(&mut CpuExecutor::new(&pool, policy).unwrap());
}

#[test]
fn on_a_gpu() {
    match Device::open(0) {
        Ok(device) => conforms(&mut CudaExecutor::new(&device, None).unwrap()),
        Err(error) => println!("skipped: {error}"),
    }
}

#[test]
fn samples_that_are_no_numbers_are_refused() {
    let pool = pool(1);
    let mut executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(300, 1)).unwrap();
    let error =
        path(&[1.0f32, f32::NAN], &[2.0], Measure::default(), Way::Auto, None, &mut executor)
            .unwrap_err()
            .to_string();
    assert!(error.contains("sample 1 of series A"), "{error}");
}

#[test]
fn only_connected_pairs_from_corner_to_corner_are_a_path() {
    let (a, b) = ([1.0f32, 4.0, 2.0], [1.0f32, 3.0]);
    assert_eq!(added_up(&a, &b, Cost::Absolute, &[[0, 0], [1, 1], [2, 1]]), Some(2.0));
    for broken in [
        &[[0, 0], [2, 1]][..],
        &[[0, 0], [1, 1]],
        &[[1, 0], [2, 1]],
        &[[0, 0], [1, 0], [1, 0], [2, 1]],
        &[[0, 0], [1, 1], [2, 0], [2, 1]],
        &[],
    ] {
        assert_eq!(added_up(&a, &b, Cost::Absolute, broken), None, "{broken:?}");
    }
}
