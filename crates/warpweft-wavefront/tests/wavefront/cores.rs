//! Wavefronts on the cores against the reference, and the reference against known answers.

use warpweft::cpu::{Pool, Simd};
use warpweft::prelude::*;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::{Best, CpuPolicy, Kept, WavefrontElement, WavefrontExecutor, reference};
use warpweft_conformance::wavefront::{
    Inputs, KEEPS, Outcome, affine_local, conforms, local, mix, remix, suite, suite_of, warp,
};

/// Several workers on whatever cores the test may use.
fn pool(workers: usize) -> Pool {
    let cores: Vec<_> = (0..256).filter(|&core| Pool::new(&[core]).is_ok()).take(workers).collect();
    Pool::new(&cores.into_iter().cycle().take(workers).collect::<Vec<_>>()).unwrap()
}

fn policies() -> [CpuPolicy; 5] {
    [(1, 300), (50, 3), (64, 100), (512, 4096), (1 << 63, usize::MAX)]
        .map(|(tile_rows, tile_columns)| CpuPolicy { tile_rows, tile_columns, cells_16_bit: true })
}

const LOCAL: local = local { matching: 2, mismatch: -1, gap: -1 };

#[test]
fn every_cell_of_a_mixture_is_the_references_at_any_tile_and_thread_count() {
    for workers in [1, 3] {
        let pool = pool(workers);
        for policy in policies() {
            // Every instruction set once. More workers than idle cores pass fine tiles on slowly.
            let fine = workers > 1 && policy.tile_columns < 1000;
            let keeps: &[Keep] = if fine { &[Keep::Matrix] } else { &KEEPS };
            let sets = if workers == 1 && policy.tile_rows == 64 {
                Simd::available()
            } else {
                vec![Simd::detect()]
            };
            for simd in sets {
                let mut executor = CpuExecutor::new(&pool, policy).unwrap().simd(simd);
                conforms(
                    &mut executor,
                    mix(99),
                    keeps,
                    |inputs| inputs.bits() as u32,
                    |inputs| inputs.bits() as u16,
                    |i, j| (i * 31 + j * 7) as u64,
                )
                .unwrap();
            }
        }
    }
}

/// Sweeps in place over 400 columns: of so many columns a tile, workers take an eighth of all.
#[test]
fn a_report_has_the_tiles_that_ran() {
    let (rows, columns, cells) = ([1; 64], [2; 400], [3; 64 * 400]);
    let plate = Wavefront::of(remix()).rows(&rows).columns(&columns).initial(&cells).sweeps(2);
    for (workers, columns) in [(1, 300), (2, 50u64)] {
        let policy = CpuPolicy { tile_rows: 8, tile_columns: 300, cells_16_bit: true };
        let pool = pool(workers);
        let (_, report) = CpuExecutor::new(&pool, policy).unwrap().run(&plate).unwrap();
        let told = ["tile_rows", "tile_columns"].map(|name| report.policy[name].as_u64());
        assert_eq!(told, [8, columns].map(Some));
    }
}

#[test]
fn every_element_of_the_suite_conforms() {
    // Cells of floats have no sum.
    for (workers, keeps) in [(1, &[Keep::Matrix][..]), (2, &[Keep::Matrix, Keep::Sum])] {
        let (pool, policy) = (pool(workers), policies()[2 - workers]);
        let mut executor = CpuExecutor::new(&pool, policy).unwrap();
        for (name, outcome) in suite_of(&mut executor, keeps) {
            assert!(matches!(outcome, Outcome::Passed(12..)), "{name} {policy:?}: {outcome:?}");
        }
    }
    let pool = pool(2);
    let mut executor = CpuExecutor::new(&pool, policies()[3]).unwrap();
    for (name, outcome) in suite(&mut executor) {
        assert!(matches!(outcome, Outcome::Passed(12..)), "{name}: {outcome:?}");
    }
}

#[test]
fn the_textbook_pair_scores_as_in_the_textbook() {
    // Wikipedia's example of Smith-Waterman with its own weights, linear gap.
    let element = local(3, -3, -2);
    let best = reference(&Wavefront::of(element).rows(b"TGTTACGG").columns(b"GGTTGACTA")).unwrap();
    assert_eq!(best, Kept::Best(Some(Best { score: 13, row: 5, column: 6 })));
}

#[test]
fn of_equal_scores_the_smallest_row_then_column_wins() {
    let pool = pool(3);
    let (rows, columns) = (vec![b'A'; 400], b"CCACCCACCC".repeat(30));
    for policy in policies() {
        let mut executor = CpuExecutor::new(&pool, policy).unwrap();
        let element = local(1, -1, -1);
        let wavefront = Wavefront::of(element).rows(&rows).columns(&columns);
        let (kept, _) = executor.run(&wavefront).unwrap();
        assert_eq!(kept, Kept::Best(Some(Best { score: 1, row: 0, column: 2 })), "{policy:?}");
    }
}

#[test]
fn scores_that_are_no_numbers_are_never_best() {
    let pool = pool(1);
    let mut executor = CpuExecutor::new(&pool, policies()[2]).unwrap();
    let wavefront = Wavefront::of(warp()).rows(&[1.0, f32::NAN]).columns(&[3.0, f32::NAN]);
    let (kept, _) = executor.run(&wavefront).unwrap();
    assert_eq!(kept, Kept::Best(Some(Best { score: 2.0, row: 0, column: 0 })));
    assert_eq!(kept, reference(&wavefront).unwrap());
    let nothing = Wavefront::of(warp()).rows(&[f32::NAN; 3]).columns(&[3.0]);
    assert_eq!(reference(&nothing).unwrap(), Kept::Best(None));
}

#[test]
fn the_last_row_of_a_sum_of_ones_counts_paths() {
    /// Cell = north + west: binomial coefficients.
    #[wavefront(bounds = most)]
    fn paths(h: Earlier<u64>) -> u64 {
        h[[-1, 0]] + h[[0, -1]]
    }
    fn most(_: &paths, rows: u64, columns: u64) -> [f64; 2] {
        [0.0, 2f64.powi((rows + columns) as i32)]
    }
    let border = Border::from_fn(5, 5, |i, _| if i == -1 { 1 } else { 0 });
    let spec = Wavefront::of(paths()).over([5, 5]).border(border);
    let row = reference(&spec.clone().keep(Keep::LastRow)).unwrap();
    assert_eq!(row, Kept::LastRow(vec![1, 6, 21, 56, 126]));
    let error = Wavefront::of(paths()).over([40, 40]).check().unwrap_err().to_string();
    assert!(error.contains("make the cell's scores f64"), "{error}");
}

/// Cells are binomial coefficients; the sum of all is one more, less a border.
#[test]
fn a_sum_is_exact_beyond_64_bits() {
    #[wavefront]
    fn paths(h: Earlier<u64>) -> u64 {
        h.n + h.w
    }
    #[wavefront]
    fn signed(h: Earlier<i64>) -> i64 {
        -h.n - h.w
    }
    let binomial = |n: i128, k: i128| (0..k).fold(1, |product, i| product * (n - i) / (i + 1));
    let pools = [pool(1), pool(3)];
    for n in [1, 5, 34] {
        let sum = binomial(2 * n + 1, n) - n - 1;
        assert!(n < 34 || sum > u64::MAX.into());
        let border = Border::function(|i, _| u64::from(i == -1));
        let size = [n as usize; 2];
        let wavefront = Wavefront::of(paths()).over(size).border(border).keep(Keep::Sum);
        // With a sign like the colours of a chessboard, and three columns.
        let cell = |i, j| binomial(i + j + 1, j) * if (i + j) % 2 == 0 { -1 } else { 1 };
        let three = (0..n).flat_map(|i| (0..3).map(move |j| cell(i, j))).sum();
        let border = |i, j: isize| if i == -1 { 1 - 2 * (j & 1) as i64 } else { 0 };
        let other = Wavefront::of(signed()).over([size[0], 3]).keep(Keep::Sum);
        let other = other.border(Border::function(border));
        assert_eq!(reference(&wavefront).unwrap(), Kept::Sum(sum));
        assert_eq!(reference(&other).unwrap(), Kept::Sum(three));
        for pool in &pools {
            for policy in policies() {
                let mut executor = CpuExecutor::new(pool, policy).unwrap();
                assert_eq!(executor.run(&wavefront).unwrap().0, Kept::Sum(sum), "{policy:?}");
                assert_eq!(executor.run(&other).unwrap().0, Kept::Sum(three), "{policy:?}");
            }
        }
    }
}

#[test]
fn a_sum_of_truth_values_counts_and_that_of_floats_is_refused() {
    /// Whether the row's letter is here or to the west.
    #[wavefront]
    fn seen(h: Earlier<bool>, #[row] a: u8, #[column] b: u8) -> bool {
        h.w || a == b
    }
    let (rows, columns) = (b"GATTACA".repeat(30), b"TTAGAC".repeat(50));
    let after = |letter| columns.len() - columns.iter().position(|&b| b == letter).unwrap();
    let expect: usize = rows.iter().map(|&letter| after(letter)).sum();
    let wavefront = Wavefront::of(seen()).rows(&rows).columns(&columns).keep(Keep::Sum);
    // Here all cells to the west of the band are true: so are those in it, which alone count.
    let band = wavefront.clone().band(3, 17, true);
    let pool = pool(2);
    for policy in policies() {
        let mut executor = CpuExecutor::new(&pool, policy).unwrap();
        assert_eq!(executor.run(&wavefront).unwrap().0, Kept::Sum(expect as i128));
        assert_eq!(executor.run(&band).unwrap().0, Kept::Sum(rows.len() as i128 * 15));
    }
    let mut executor = CpuExecutor::new(&pool, policies()[1]).unwrap();
    let floats = Wavefront::of(warp()).rows(&[1.0]).columns(&[2.0]).keep(Keep::Sum);
    let error = executor.run(&floats).unwrap_err().to_string();
    assert!(error.contains("sum of scores of warp, which are f32"), "{error}");
    assert!(error.contains("score an integer"), "{error}");
}

/// Tiles before the band and behind it are skipped, wherever it enters them.
#[test]
fn narrow_bands_anywhere_hold_the_references_cells() {
    let mut inputs = Inputs(26);
    let pool = pool(1);
    for _ in 0..300 {
        let mut below = |most: u64| (inputs.bits() % most) as usize;
        let (m, n) = (1 + below(260), 1 + below(330));
        let [rows, columns] = [m, n].map(|count| vec![1u8; count]);
        let lower = below(2 * m as u64 + 40) as isize - m as isize - 10;
        let upper = lower + below(40) as isize;
        let (tile_rows, tile_columns) = (1 + below(70), 1 + below(90));
        let policy = CpuPolicy { tile_rows, tile_columns, cells_16_bit: true };
        let mut executor = CpuExecutor::new(&pool, policy).unwrap();
        for keep in [Keep::LastRow, Keep::Best, Keep::Score, Keep::Matrix] {
            let banded = Wavefront::of(LOCAL).rows(&rows).columns(&columns).keep(keep);
            let banded = banded.border(Border::Value(3)).band(lower, upper, -1000);
            let Ok(expect) = reference(&banded) else { continue };
            let found = executor.run(&banded).unwrap().0;
            assert_eq!(found, expect, "{m} x {n}, {lower} to {upper}, {policy:?}, {keep:?}");
        }
    }
}

#[test]
fn ill_posed_problems_are_refused_with_their_values() {
    let error = reference(&Wavefront::of(LOCAL).columns(b"AC")).unwrap_err().to_string();
    assert!(error.contains("0 rows for local"), "{error}");
    let border = Border::Lines { corner: 0, top: vec![0; 3], left: vec![0; 2] };
    let spec = Wavefront::of(LOCAL).rows(b"AC").columns(b"AC").border(border);
    let error = reference(&spec).unwrap_err().to_string();
    assert!(error.contains("3 columns and 2 rows"), "{error}");
}

#[test]
fn only_words_that_the_row_below_reads_are_handed_on() {
    #[derive(Clone, Copy, Debug, Default, PartialEq, Device, Ranked)]
    #[repr(C)]
    struct Wide {
        #[score]
        best: f32,
        sum: f64,
        left: f32,
    }
    #[wavefront]
    fn wide(h: Earlier<Wide>, #[row] a: f32) -> Wide {
        let sum = h.nw.sum + h.n.sum;
        Wide { best: h.w.best.max(a), sum, left: h.w.left + 1.0 }
    }
    assert_eq!(wide::SOUTH, 0b1100);
    assert_eq!(affine_local::SOUTH, 0b101);
    assert_eq!(local::SOUTH, !0);
}
