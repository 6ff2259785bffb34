//! Cells of 16 bits on the cores: the same results as whole ones, whatever the scores.

use warpweft::cpu::{Pool, Simd};
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::{
    Best, Border, CpuPolicy, Earlier, Keep, Kept, Solution, Wavefront, WavefrontElement,
    WavefrontExecutor, reference, wavefront,
};
use warpweft_conformance::wavefront::{AffineCell, EXTENTS, Inputs, KEEPS, affine_local, local};

/// So many workers on one core that the test may use.
fn pool(workers: usize) -> Pool {
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    Pool::new(&vec![core; workers]).unwrap()
}

fn letters(seed: u64, count: usize) -> Vec<u8> {
    let mut inputs = Inputs(seed);
    (0..count).map(|_| inputs.one_of(b"ACGT")).collect()
}

/// What `policy` makes of `wavefront`, and whether by cells of 16 bits.
fn run<E: WavefrontElement>(
    pool: &Pool,
    policy: CpuPolicy,
    wavefront: &Wavefront<'_, E>,
) -> (Kept<E::Cell>, bool) {
    let (kept, report) = CpuExecutor::new(pool, policy).unwrap().run(wavefront).unwrap();
    (kept, report.policy["cells_16_bit"].as_bool().unwrap())
}

/// Every tile of `tiles` with every instruction set, named.
fn executors<'p>(pool: &'p Pool, tiles: &[(usize, usize)]) -> Vec<(String, CpuExecutor<'p>)> {
    let policies = tiles.iter().map(|&(tile_rows, tile_columns)| CpuPolicy {
        tile_rows,
        tile_columns,
        cells_16_bit: true,
    });
    let each = |policy: CpuPolicy| {
        let simd = Simd::available().into_iter();
        simd.map(move |simd| {
            let name = format!("{} x {} {simd}", policy.tile_rows, policy.tile_columns);
            (name, CpuExecutor::new(pool, policy).unwrap().simd(simd))
        })
    };
    policies.flat_map(each).collect()
}

/// That every executor computes what the reference does, by cells of 16 bits.
fn all_agree<E: WavefrontElement>(
    executors: &mut [(String, CpuExecutor<'_>)],
    (solution, wavefront): (&Solution<'_, '_, E>, &Wavefront<'_, E>),
    keep: Keep,
    case: &str,
) {
    let (expect, wavefront) = (solution.kept(keep).unwrap(), &wavefront.clone().keep(keep));
    for (name, executor) in executors {
        let (kept, report) = executor.run(wavefront).unwrap();
        assert_eq!(kept, expect, "{case} {name}");
        assert_eq!(report.policy["cells_16_bit"], true, "{case} {name}");
    }
}

#[test]
fn all_that_is_kept_is_the_references_at_any_tile_and_instruction_set() {
    let pool = pool(1);
    let mut narrow = executors(&pool, &[(1, 7), (50, 3)]);
    let mut wide = executors(&pool, &[(64, 100), (512, 4096)]);
    for (seed, [m, n]) in EXTENTS.into_iter().enumerate() {
        let (a, b) = (letters(seed as u64, m), letters(99 + seed as u64, n));
        let wavefront = Wavefront::of(local(3, -2, -4)).rows(&a).columns(&b);
        let solution = Solution::of(&wavefront).unwrap();
        for keep in KEEPS {
            let case = format!("{m} × {n} {keep:?}");
            all_agree(&mut wide, (&solution, &wavefront), keep, &case);
            // Many tiles of few cells take most of the time, and large tables of them show no more.
            if m * n <= 70_000 {
                all_agree(&mut narrow, (&solution, &wavefront), keep, &case);
            }
        }
    }
}

#[test]
fn scores_pass_beyond_what_16_bits_hold() {
    let pool = pool(1);
    let policy = CpuPolicy { tile_rows: 512, ..CpuPolicy::for_domain(8000, 1) };
    let a = letters(1, 8000);
    for (weights, short) in [(local(5, -4, -8), true), (local(20, -20, -20), true)] {
        let wavefront = Wavefront::of(weights).rows(&a).columns(&a).keep(Keep::Best);
        let (found, cells_16_bit) = run(&pool, policy, &wavefront);
        let score = weights.matching * 8000;
        assert!(score > 32_767);
        assert_eq!(found, Kept::Best(Some(Best { score, row: 7999, column: 7999 })));
        assert_eq!(cells_16_bit, short, "{}", weights.matching);
    }
    let sum = Wavefront::of(local(40, -30, -35)).rows(&a[..1000]).columns(&a[..900]);
    let sum = sum.keep(Keep::Sum);
    assert_eq!(run(&pool, policy, &sum), (reference(&sum).unwrap(), true));
}

#[test]
fn tiles_shrink_until_scores_fit_or_cells_stay_whole() {
    let pool = pool(1);
    let (a, b) = (letters(1, 900), letters(2, 1100));
    let policy = CpuPolicy { tile_rows: 512, ..CpuPolicy::for_domain(900, 1) };
    let cells_16_bit = |wavefront: &Wavefront<'_, local>| {
        let (found, cells_16_bit) = run(&pool, policy, wavefront);
        assert_eq!(found, reference(wavefront).unwrap());
        cells_16_bit
    };
    let of = |element: local| Wavefront::of(element).rows(&a).columns(&b);
    assert!(cells_16_bit(&of(local(40, -30, -35))));
    // 64 rows and columns differ by too much.
    assert!(!cells_16_bit(&of(local(400, -300, -350))));
    // Nobody knows by how much neighbours differ.
    assert!(!cells_16_bit(&of(local(2, -1, 1)).keep(Keep::Score)));
    assert!(!cells_16_bit(&of(local(2, -1, -1)).border(Border::Value(7))));
    assert!(!cells_16_bit(&of(local(2, -1, -1)).border(Border::function(|_, _| 0))));
    assert!(!cells_16_bit(&of(local(2, -1, -1)).band(-200, 300, 0)));
    assert_eq!(local(2, -1, -1).step(0), Some(3));
}

/// Borders of affine cells: numbers like others, and gaps that have not been opened.
const BORDERS: [AffineCell; 2] =
    [AffineCell { h: 0, e: 0, f: -7 }, AffineCell { h: 0, e: -(1 << 30), f: -(1 << 30) }];

#[test]
fn cells_of_three_scores_are_the_references_whatever_is_kept() {
    let pool = pool(1);
    let mut executors = executors(&pool, &[(7, 7), (64, 100), (512, 4096)]);
    // The largest extents take most of the time, and show no more.
    let extents = EXTENTS.into_iter().filter(|[m, n]| m * n < 400_000);
    for (seed, [m, n]) in extents.enumerate() {
        let (a, b) = (letters(seed as u64, m), letters(99 + seed as u64, n));
        for border in BORDERS {
            let wavefront = Wavefront::of(affine_local(5, -4, -9, -1)).rows(&a).columns(&b);
            let wavefront = wavefront.border(Border::Value(border));
            let solution = Solution::of(&wavefront).unwrap();
            for keep in KEEPS {
                let case = format!("{m} × {n} {keep:?}");
                all_agree(&mut executors, (&solution, &wavefront), keep, &case);
            }
        }
    }
}

/// Tile-rows of whole vectors, which go in striped order where all lanes have a cell: more columns than lanes by one to
/// many, tiles that end anywhere among four fronts, and a last tile-row that is too low for that.
#[test]
fn fronts_in_striped_order_are_the_references() {
    let pool = pool(1);
    for (rows, tile_rows) in [(384, 128), (416, 160)] {
        for (columns, tile_columns) in [(129, 512), (166, 41), (613, 97), (700, 1024)] {
            let policy = CpuPolicy { tile_rows, tile_columns, cells_16_bit: true };
            let a = letters(3, rows);
            // Part of it is the same, so the best score lies inside.
            let mut b = letters(4, columns);
            b[20..120].copy_from_slice(&a[200..300]);
            let linear = Wavefront::of(local(3, -2, -4)).rows(&a).columns(&b);
            let affine = Wavefront::of(affine_local(5, -4, -9, -1)).rows(&a).columns(&b);
            let affine = affine.border(Border::Value(BORDERS[1]));
            let of_linear = Solution::of(&linear).unwrap();
            let of_affine = Solution::of(&affine).unwrap();
            for simd in Simd::available() {
                let mut executor = CpuExecutor::new(&pool, policy).unwrap().simd(simd);
                for keep in [Keep::Best, Keep::Least, Keep::Score, Keep::LastRow] {
                    let case = format!("{rows} × {columns} by {tile_columns}, {keep:?} {simd}");
                    let found = executor.run(&linear.clone().keep(keep)).unwrap().0;
                    assert_eq!(found, of_linear.kept(keep).unwrap(), "{case}");
                    let found = executor.run(&affine.clone().keep(keep)).unwrap().0;
                    assert_eq!(found, of_affine.kept(keep).unwrap(), "affine {case}");
                }
            }
        }
    }
}

/// The base moves far from where gaps that have not been opened count from.
#[test]
fn gaps_stay_unopened_when_the_base_moves() {
    let pool = pool(1);
    let policy = CpuPolicy { tile_rows: 300, ..CpuPolicy::for_domain(4000, 1) };
    let a = letters(1, 4000);
    let wavefront = Wavefront::of(affine_local(20, -20, -30, -2)).rows(&a).columns(&a);
    let wavefront = wavefront.border(Border::Value(BORDERS[1]));
    let solution = Solution::of(&wavefront).unwrap();
    for keep in [Keep::Best, Keep::LastRow] {
        let found = run(&pool, policy, &wavefront.clone().keep(keep));
        assert_eq!(found, (solution.kept(keep).unwrap(), true));
    }
    let (_, narrow) = run(&pool, policy, &wavefront.clone().border(Border::Value(BORDERS[0])));
    assert!(narrow);
    let above = AffineCell { h: 0, e: 3, f: 0 };
    assert!(!run(&pool, policy, &wavefront.border(Border::Value(above))).1);
}

/// Gotoh's recurrence over pairs that a table scores, from 0 on.
#[wavefront(step = by_table_step)]
fn by_table(
    h: Earlier<AffineCell>,
    #[row] a: u8,
    #[column] b: u8,
    scores: [[i8; 8]; 8],
    open: i32,
    extend: i32,
) -> AffineCell {
    let pair = scores[(a & 7) as usize][(b & 7) as usize] as i32;
    let (left, above) = (h.w.e + extend, h.n.f + extend);
    let (e, f) = (left.max(h.w.h + open), above.max(h.n.h + open));
    AffineCell { h: (h.nw.h + pair).max(e).max(f).max(0), e, f }
}

fn by_table_step(of: &by_table, border: AffineCell) -> Option<u32> {
    (border == AffineCell::default()).then(|| (7 - of.open) as u32)
}

/// Lanes have what a profile of the columns says, and where they begin or end what the table does.
#[test]
fn what_a_table_says_of_rows_and_columns_comes_from_a_profile() {
    const { assert!(<by_table as WavefrontElement>::LOOKS_UP) };
    let pool = pool(1);
    let mut inputs = Inputs(7);
    let scores =
        std::array::from_fn(|_| std::array::from_fn(|_| inputs.one_of(&[-4, -1, 0, 7, -2])));
    let mut symbols =
        |count: usize| -> Vec<u8> { (0..count).map(|_| inputs.one_of(b"\x01\x07ACGT")).collect() };
    let (rows, columns) = (symbols(600), symbols(1101));
    let mut all = executors(&pool, &[(512, 4096), (128, 100)]);
    for [m, n] in [[128, 150], [256, 1101], [600, 700], [300, 301]] {
        let wavefront =
            Wavefront::of(by_table(scores, -9, -1)).rows(&rows[..m]).columns(&columns[..n]);
        let solution = Solution::of(&wavefront).unwrap();
        for keep in [Keep::Best, Keep::Score, Keep::LastRow, Keep::LastColumn] {
            let case = format!("{m} × {n} {keep:?}");
            all_agree(&mut all, (&solution, &wavefront), keep, &case);
        }
    }
}
