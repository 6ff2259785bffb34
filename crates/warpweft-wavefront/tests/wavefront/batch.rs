//! Many problems of different sizes at once: each as if it were alone.

use warpweft::cpu::Pool;
use warpweft::cuda::{Device, compiler};
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::{CudaExecutor, compile_batch_check, compile_search_check};
use warpweft::wavefront::traceback::{End, Score};
use warpweft::wavefront::{
    Best, Border, CpuPolicy, Database, Earlier, Keep, Kept, Pairs, Ranked, Solution, Wavefront,
    WavefrontElement, WavefrontExecutor, reference, wavefront,
};
use warpweft_conformance::wavefront::{AffineCell, Inputs, KEEPS, affine_local, local, warp};

/// Rows and columns of every problem: single cells, reads against a reference, one that is larger
/// than all others together.
const SIZES: [[usize; 2]; 14] = [
    [1, 1],
    [150, 2000],
    [151, 1999],
    [3, 500],
    [32, 32],
    [700, 900],
    [64, 1],
    [1, 77],
    [257, 31],
    [1500, 1500],
    [33, 65],
    [100, 2000],
    [520, 40],
    [149, 1000],
];

/// Scores from `least` on.
#[wavefront(bounds = within)]
fn floored(h: Earlier<i32>, #[row] a: u8, #[column] b: u8, gap: i32, least: i32) -> i32 {
    let pair = if a == b { 2 } else { -1 };
    (h.nw + pair).max(h.n + gap).max(h.w + gap).max(least)
}

fn within(_: &floored, _: u64, _: u64) -> [f64; 2] {
    [-8_000.0, 32_000.0]
}

/// So many workers on one core that the test may use.
fn pool(workers: usize) -> Pool {
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    Pool::new(&vec![core; workers]).unwrap()
}

fn inputs<T>(seed: u64, count: usize, of: impl Fn(&mut Inputs) -> T) -> Vec<T> {
    let mut inputs = Inputs(seed);
    (0..count).map(|_| of(&mut inputs)).collect()
}

/// Runs all problems at once and compares each with the reference.
fn check<E: WavefrontElement<Input = ()>>(
    executor: &mut dyn WavefrontExecutor<E>,
    element: E,
    keeps: &[Keep],
    row: impl Fn(&mut Inputs) -> E::Row,
    column: impl Fn(&mut Inputs) -> E::Column,
    border: &Border<E::Cell>,
) {
    let all: Vec<_> = (SIZES.iter().enumerate())
        .map(|(k, &[m, n])| (inputs(k as u64, m, &row), inputs(99 + k as u64, n, &column)))
        .collect();
    let of = |(a, b)| Wavefront::of(element).rows(a).columns(b).border(border.clone());
    let plain: Vec<_> = all.iter().map(|(a, b)| of((&a[..], &b[..]))).collect();
    let solutions: Vec<_> = plain.iter().map(|one| Solution::of(one).unwrap()).collect();
    for &keep in keeps {
        let problems: Vec<_> = plain.iter().map(|one| one.clone().keep(keep)).collect();
        let (found, report) = executor.run_batch(&problems).unwrap();
        assert_eq!(found.len(), problems.len());
        for (k, (found, solution)) in found.iter().zip(&solutions).enumerate() {
            assert_eq!(found, &solution.kept(keep).unwrap(), "{} {k} {keep:?}", E::NAME);
        }
        assert_eq!(report.done, problems.iter().map(Wavefront::cells).sum::<u64>());
    }
}

fn letter(inputs: &mut Inputs) -> u8 {
    inputs.one_of(b"ACGT")
}

fn sample(inputs: &mut Inputs) -> f32 {
    (inputs.bits() % 1000) as f32 / 8.0
}

/// Runs of equal letters along diagonals, with gaps; one member of a cell is a constant.
#[wavefront(bounds = longest)]
fn runs(h: Earlier<AffineCell>, #[row] a: u8, #[column] b: u8, gap: i32) -> AffineCell {
    let pair = if a == b { 1 } else { -9 };
    let e = h.w.h + gap;
    AffineCell { h: (h.nw.h + pair).max(e).max(h.nw.f), e, f: 0 }
}

fn longest(of: &runs, rows: u64, columns: u64) -> [f64; 2] {
    [f64::from(of.gap.min(-9)), rows.min(columns) as f64]
}

/// All elements on one executor.
fn conforms<X>(executor: &mut X)
where
    X: WavefrontExecutor<local>
        + WavefrontExecutor<affine_local>
        + WavefrontExecutor<warp>
        + WavefrontExecutor<runs>,
{
    check(executor, local(2, -1, -1), &KEEPS, letter, letter, &Border::Value(0));
    let nothing = AffineCell { h: 0, e: -1_000_000, f: -1_000_000 };
    let affine = affine_local(2, -3, -5, -1);
    check(executor, affine, &KEEPS[..5], letter, letter, &Border::Value(nothing));
    check(executor, warp(), &KEEPS[..5], sample, sample, &Border::Value(0.0));
    let corner = Border::function(|i, j| if i == j { 0.0 } else { f32::INFINITY });
    check(executor, warp(), &[Keep::LastRow], sample, sample, &corner);
    // The same without a call for each cell outside: so a launch holds all of them.
    let corner = Border::Corner { corner: 0.0, rest: f32::INFINITY };
    check(executor, warp(), &[Keep::LastRow, Keep::Best], sample, sample, &corner);
    check_pairs(executor, warp(), sample, sample, &corner);
    check_pairs(executor, local(2, -1, -1), letter, letter, &Border::Value(0));
    let gaps = Border::function(|i, j| -(i as i32 + j as i32 + 2));
    check(executor, local(2, -1, -1), &[Keep::LastRow, Keep::Score], letter, letter, &gaps);
    check_pairs(executor, local(2, -1, -1), letter, letter, &gaps);
    check_pairs(executor, affine, letter, letter, &Border::Value(nothing));
    check_scores(executor, local(5, -4, -7), letter, letter, &Border::Value(0));
    check_scores(executor, runs(-1), letter, letter, &Border::Value(AffineCell::default()));
    check_scores(executor, warp(), sample, sample, &corner);
}

/// Problems of `element` over three sequences of rows and four of columns, each with each and some twice: their ends are
/// those of the reference.
fn check_pairs<E: WavefrontElement<Input = ()>>(
    executor: &mut dyn WavefrontExecutor<E>,
    element: E,
    row: impl Fn(&mut Inputs) -> E::Row,
    column: impl Fn(&mut Inputs) -> E::Column,
    border: &Border<E::Cell>,
) {
    let rows = [1, 150, 1100].map(|m| inputs(m as u64, m, &row));
    let columns = [77, 1, 33, 400].map(|n| inputs(7 + n as u64, n, &column));
    let rows: Vec<_> = rows.iter().map(Vec::as_slice).collect();
    let columns: Vec<_> = columns.iter().map(Vec::as_slice).collect();
    let each: Vec<[u32; 2]> = (0..14).map(|k| [k * 5 % 3, k * 7 % 4]).collect();
    let pairs = Pairs::of(element, &rows, &columns, &each).border(border.clone());
    for end in [End::Best, End::Corner] {
        let (found, report) = executor.ends(&pairs, end).unwrap();
        assert_eq!(found.len(), each.len());
        let mut cells = 0;
        for (k, found) in found.iter().enumerate() {
            let keep = if end == End::Best { Keep::Best } else { Keep::LastRow };
            let problem = pairs.problem(k).keep(keep);
            let [m, n] = problem.extents();
            cells += problem.cells();
            let expected = match reference(&problem).unwrap() {
                Kept::Best(best) => best,
                Kept::LastRow(row) => {
                    let score = row[n - 1].score();
                    Some(Best { score, row: m - 1, column: n - 1 })
                }
                other => panic!("{other:?}"),
            };
            assert_eq!(found, &expected, "{} {k} {end:?}", E::NAME);
        }
        assert_eq!(report.done, cells);
    }
}

fn score<E: WavefrontElement>(problem: &Wavefront<'_, E>) -> Option<Score<E>> {
    match reference(&problem.clone().keep(Keep::Score)).unwrap() {
        Kept::Score(score) => score,
        other => panic!("{other:?}"),
    }
}

/// Three sequences of rows, each with 70 of columns: enough for a search.
fn check_scores<E: WavefrontElement<Input = ()>>(
    executor: &mut dyn WavefrontExecutor<E>,
    element: E,
    row: impl Fn(&mut Inputs) -> E::Row,
    column: impl Fn(&mut Inputs) -> E::Column,
    border: &Border<E::Cell>,
) {
    let rows = [150, 1100, 7].map(|m| inputs(m as u64, m, &row));
    let columns: Vec<_> = (0..70).map(|k| inputs(k, 1 + k as usize * 37 % 211, &column)).collect();
    let rows: Vec<_> = rows.iter().map(Vec::as_slice).collect();
    let columns: Vec<_> = columns.iter().map(Vec::as_slice).collect();
    let each: Vec<[u32; 2]> = (0..210).map(|k| [k / 70, k % 70]).collect();
    let pairs = Pairs::of(element, &rows, &columns, &each).border(border.clone());
    let (scores, report) = executor.scores(&pairs, End::Best).unwrap();
    assert_eq!(report.done, (0..210).map(|k| pairs.problem(k).cells()).sum::<u64>());
    let expected: Vec<_> = (0..210).map(|k| score(&pairs.problem(k))).collect();
    assert_eq!(scores, expected, "{}", E::NAME);
    let (corners, _) = executor.scores(&pairs, End::Corner).unwrap();
    let (ends, _) = executor.ends(&pairs, End::Corner).unwrap();
    assert!(corners == ends.iter().map(|end| end.map(|end| end.score)).collect::<Vec<_>>());
    // The same columns as a database, for one query after another, of which the second is long.
    let database = Database::of(columns.iter().copied()).unwrap();
    for (k, query) in rows.iter().enumerate().chain([(1, &rows[1])]) {
        let pairs = Pairs::search(element, query, &database).border(border.clone());
        let (scores, report) = executor.scores(&pairs, End::Best).unwrap();
        assert_eq!(report.done, (0..70).map(|k| pairs.problem(k).cells()).sum::<u64>());
        assert_eq!(scores, expected[70 * k..][..70], "{} {k} in a database", E::NAME);
    }
}

#[test]
fn cores_compute_each_problem_as_if_alone() {
    for workers in [1, 3] {
        let pool = pool(workers);
        conforms(&mut CpuExecutor::new(&pool, CpuPolicy::for_domain(200, workers)).unwrap());
    }
}

#[test]
fn no_problem_and_an_ill_posed_one_are_refused() {
    let pool = pool(1);
    let mut executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(200, 1)).unwrap();
    let error = WavefrontExecutor::<local>::run_batch(&mut executor, &[]).unwrap_err().to_string();
    assert!(error.contains("no problems"), "{error}");
    let good = Wavefront::of(local(2, -1, -1)).rows(b"ACGT").columns(b"ACGA");
    let bad = good.clone().rows(b"");
    let error = executor.run_batch(&[good, bad]).unwrap_err().to_string();
    assert!(error.contains("problem 2: 0 rows for local"), "{error}");
    let words: [&[u8]; 2] = [b"ACGT", b""];
    for (pairs, what) in [
        (&[][..], "no problems"),
        (&[[0, 0], [1, 0]], "problem 2: 0 rows for local"),
        (&[[0, 2]], "problem 1: sequences [0, 2], of 2 and 2"),
    ] {
        let pairs = Pairs::of(local(2, -1, -1), &words, &words, pairs);
        let error = executor.ends(&pairs, End::Best).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn kernels_of_batches_compile() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    for arch in ["sm_80", "sm_90"] {
        compile_batch_check::<local>(Some(Keep::Best), 5, false, arch).unwrap();
    }
    compile_batch_check::<warp>(None, 32, true, "sm_90").unwrap();
    compile_batch_check::<affine_local>(Some(Keep::Least), 2, false, "sm_90").unwrap();
    assert!(compile_search_check::<local>(Some(32), "sm_90").unwrap().is_some());
    assert!(compile_search_check::<floored>(Some(4), "sm_90").unwrap().is_some());
    for arch in ["sm_80", "sm_90"] {
        assert!(compile_search_check::<floored>(None, arch).unwrap().is_some());
    }
    assert!(compile_search_check::<affine_local>(Some(5), "sm_80").unwrap().is_some());
    // What is far above all cells would not stay so.
    assert!(compile_search_check::<warp>(Some(5), "sm_90").unwrap().is_none());
    assert!(compile_search_check::<runs>(Some(2), "sm_90").unwrap().is_some());
}

#[test]
fn a_gpu_computes_each_problem_as_if_alone() {
    match Device::open(0) {
        Ok(device) => {
            let executor = &mut CudaExecutor::new(&device, None).unwrap();
            conforms(executor);
            // The same columns one after another. Less than all cells stays so; 20,000 is more than a search takes.
            for least in [0, -20_000, 20_000] {
                check_scores(executor, floored(-1, least), letter, letter, &Border::Value(0));
            }
        }
        Err(error) => println!("skipped: {error}"),
    }
}
