//! Functions that look scores up in a table or a slice given as a parameter: cores and GPU equal a plain loop, and no
//! executor leaves them to a slower form.

use std::sync::atomic::{AtomicUsize, Ordering};

use warpweft::cpu::Pool;
use warpweft::cuda::{Device, compiler};
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::{
    CudaExecutor, compile_batch_check, compile_check, compile_paths_check, compile_search_check,
    misses, tiles::TileExecutor,
};
use warpweft::wavefront::traceback::{
    End, Partition, Traced, Way, trace, trace_batch, trace_batch_with,
};
use warpweft::wavefront::{
    Best, CpuPolicy, CudaPolicy, Dependence, Earlier, Keep, Kept, Pairs, Wavefront,
    WavefrontElement, WavefrontExecutor, reference, wavefront,
};
use warpweft_conformance::wavefront::Inputs;

/// Smith-Waterman by a table of 32 symbols and a linear gap. Masks keep every index inside.
#[wavefront]
fn scored(h: Earlier<i32>, #[row] a: u8, #[column] b: u8, scores: [[i8; 32]; 32], gap: i32) -> i32 {
    let column = (b & 31) as usize;
    let pair = scores[(a & 31) as usize][column] as i32;
    (h.n + gap).max((h.nw + pair).max(h.w + gap).max(0))
}

/// The same with an index that may leave the table.
#[wavefront]
fn unproved(h: Earlier<i32>, #[row] a: u8, #[column] b: u8, scores: [[i8; 4]; 4]) -> i32 {
    (h.nw + scores[a as usize][(b & 3) as usize] as i32).max(h.n.max(h.w) - 1).max(0)
}

/// The same by a slice of `width` symbols a row, whatever their number.
#[wavefront(bounds = sliced_bounds)]
fn sliced(
    h: Earlier<i32>,
    #[row] a: u8,
    #[column] b: u8,
    scores: &[i8],
    width: usize,
    gap: i32,
) -> i32 {
    let pair = scores[a as usize * width + b as usize] as i32;
    (h.n + gap).max((h.nw + pair).max(h.w + gap).max(0))
}

fn sliced_bounds(_: &sliced<'_>, rows: u64, columns: u64) -> [f64; 2] {
    [-20.0, 8.0 * rows.min(columns) as f64]
}

#[wavefront(choice)]
fn sliced_choice(
    h: Earlier<i32>,
    #[row] a: u8,
    #[column] b: u8,
    #[cell] cell: i32,
    scores: &[i8],
    width: usize,
    gap: i32,
) -> u8 {
    let pair = scores[a as usize * width + b as usize] as i32;
    if cell == 0 {
        0
    } else if cell == h.nw + pair {
        1
    } else if cell == h.w + gap {
        2
    } else {
        3
    }
}

impl<'s> Traced for sliced<'s> {
    type State = ();
    type Choice = sliced_choice<'s>;
    type Plain = Self;
    const BITS: u32 = 2;
    fn plain(&self) -> Self {
        *self
    }
    fn choice(&self) -> sliced_choice<'s> {
        sliced_choice(self.scores.get(), self.width, self.gap)
    }
    fn back(choice: u8, (): ()) -> Option<(Dependence, ())> {
        let moves: [Dependence; 3] = [[-1, -1], [0, -1], [-1, 0]];
        moves.get(usize::from(choice).wrapping_sub(1)).map(|&back| (back, ()))
    }
}

/// A query by its positions: each row has weights of its own for four symbols. Where a branch decides, a cell checks.
#[wavefront]
fn profile(h: Earlier<i32>, #[row] at: u32, #[column] b: u8, weights: &[i16], rare: &[i16]) -> i32 {
    const SYMBOLS: usize = 4;
    let weight = weights[at as usize * SYMBOLS + (b & 3) as usize] as i32;
    let weight = if b >= 4 { rare[b as usize] as i32 } else { weight };
    (h.nw + weight).max(h.n.max(h.w) - 2).max(0)
}

/// Narrow numbers without a sign wrap in a type of their own: 3 · 86 of 8 bits is 2.
#[wavefront]
fn wrapped(h: Earlier<i32>, #[row] a: u8, #[column] b: u8, scores: &[i8]) -> i32 {
    h.n.max(h.w) + scores[300 - usize::from(a * 3)] as i32 - (b & 1) as i32
}

/// Differences of numbers with a sign, which are kept inside.
#[wavefront]
fn clamped(h: Earlier<i32>, #[row] a: u8, #[column] b: u8, scores: &[i8]) -> i32 {
    let at = (a as i32 - 65).clamp(0, 25);
    h.n.max(h.w) + scores[at as usize] as i32 - (b & 1) as i32
}

const WIDTH: f32 = 2.5;
const FIRST: usize = 40;

/// A constant that is no whole number: 2.5 · 3 is 7.
#[wavefront]
fn scaled(h: Earlier<i32>, #[row] a: u8, #[column] b: u8, scores: &[i8]) -> i32 {
    const SCALE: f32 = 3.0;
    h.n.max(h.w) + scores[a as usize + (WIDTH * SCALE) as usize] as i32 - (b & 1) as i32
}

/// Constants of inner blocks, which are no others' business.
#[wavefront]
fn nested(h: Earlier<i32>, #[row] a: u8, #[column] b: u8, scores: &[i8]) -> i32 {
    let first = scores[a as usize + FIRST];
    let second = {
        const FIRST: usize = 0;
        scores[b as usize + FIRST]
    };
    let third = {
        const FIRST: usize = 1;
        scores[b as usize + FIRST]
    };
    h.n.max(h.w) + first as i32 - second as i32 - third as i32
}

/// Letters in common, whose choice alone looks something up.
#[wavefront]
fn common(h: Earlier<i32>, #[row] a: u8, #[column] b: u8) -> i32 {
    if a == b { h.nw + 1 } else { h.n.max(h.w) }
}

#[wavefront(choice)]
fn common_choice(
    h: Earlier<i32>,
    #[row] a: u8,
    #[column] b: u8,
    #[cell] cell: i32,
    moves: &[u8],
) -> u8 {
    let own = moves[a as usize];
    if a == b {
        own
    } else if cell == h.n {
        1
    } else {
        2
    }
}

static MOVES: [u8; 128] = [0; 128];

impl Traced for common {
    type State = ();
    type Choice = common_choice<'static>;
    type Plain = Self;
    const BITS: u32 = 2;
    fn plain(&self) -> Self {
        *self
    }
    fn choice(&self) -> common_choice<'static> {
        common_choice(&MOVES)
    }
    fn back(choice: u8, (): ()) -> Option<(Dependence, ())> {
        let moves: [Dependence; 3] = [[-1, -1], [-1, 0], [0, -1]];
        moves.get(usize::from(choice)).map(|&back| (back, ()))
    }
}

/// A table without symmetry, so that rows and columns can't be mistaken for one another.
fn table(inputs: &mut Inputs) -> [[i8; 32]; 32] {
    [(); 32].map(|()| [(); 32].map(|()| (inputs.bits() % 17) as i8 - 9))
}

fn symbols(inputs: &mut Inputs, count: usize) -> Vec<u8> {
    (0..count).map(|_| (inputs.bits() % 32) as u8).collect()
}

/// The best score and its first place, by a whole table in 64 bits.
fn plain(a: &[u8], b: &[u8], scores: &[[i8; 32]; 32], gap: i64) -> Option<Best<i32>> {
    let mut h = vec![vec![0i64; b.len() + 1]; a.len() + 1];
    let mut best: Option<Best<i32>> = None;
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            let pair = i64::from(scores[usize::from(x)][usize::from(y)]);
            let cell = (h[i][j] + pair).max(h[i][j + 1] + gap).max(h[i + 1][j] + gap).max(0);
            h[i + 1][j + 1] = cell;
            if best.is_none_or(|best| cell > best.score.into()) {
                best = Some(Best { score: cell as i32, row: i, column: j });
            }
        }
    }
    best
}

fn conforms<E>(executor: &mut dyn WavefrontExecutor<E>, element: E, scores: &[[i8; 32]; 32])
where
    E: WavefrontElement<Cell = i32, Row = u8, Column = u8, Input = ()>,
{
    let mut inputs = Inputs(25);
    let sizes = [[1, 1], [3, 70], [64, 65], [150, 200], [331, 257], [700, 30]];
    let pairs = sizes.map(|[m, n]| (symbols(&mut inputs, m), symbols(&mut inputs, n)));
    let problems: Vec<_> = (pairs.iter())
        .map(|(a, b)| Wavefront::of(element).rows(a).columns(b).keep(Keep::Best))
        .collect();
    let (batch, _) = executor.run_batch(&problems).unwrap();
    for ((problem, (a, b)), batched) in problems.iter().zip(&pairs).zip(batch) {
        let expected = Kept::Best(plain(a, b, scores, -3));
        assert_eq!(executor.run(problem).unwrap().0, expected, "{} x {}", a.len(), b.len());
        assert_eq!(batched, expected, "{} x {} in a batch", a.len(), b.len());
    }
}

/// The same of many pairs that share their sequences, of which those with one query are a search.
fn finds<'s>(
    executor: &mut dyn WavefrontExecutor<sliced<'s>>,
    flat: &'s [i8],
    scores: &[[i8; 32]; 32],
) {
    let mut inputs = Inputs(26);
    let query = symbols(&mut inputs, 90);
    let targets: Vec<_> = (0..80).map(|k| symbols(&mut inputs, 1 + k * 37 % 211)).collect();
    let columns: Vec<_> = targets.iter().map(Vec::as_slice).collect();
    let each: Vec<[u32; 2]> = (0..80).map(|k| [0, k]).collect();
    let rows = [&query[..]];
    let pairs = Pairs::of(sliced(flat, 32, -3), &rows, &columns, &each);
    let (found, _) = executor.scores(&pairs, End::Best).unwrap();
    for (target, found) in targets.iter().zip(found) {
        assert_eq!(found, plain(&query, target, scores, -3).map(|best| best.score));
    }
}

/// Paths in one pass and in linear space, alone and many at once.
fn traces<'s>(executor: &mut dyn WavefrontExecutor<sliced<'s>>, flat: &'s [i8]) {
    let mut inputs = Inputs(27);
    let pairs =
        [[40, 70], [150, 200], [33, 1]].map(|sizes| sizes.map(|count| symbols(&mut inputs, count)));
    let problems =
        pairs.each_ref().map(|[a, b]| Wavefront::of(sliced(flat, 32, -3)).rows(a).columns(b));
    let (many, _) = trace_batch(&problems, End::Best, executor).unwrap();
    for (problem, found) in problems.iter().zip(many) {
        let partition = Partition::within(1 << 20, problem.extents(), 4);
        let linear = trace(problem, End::Best, Way::LinearSpace, &partition, None, executor);
        assert_eq!(found, linear.unwrap().0);
    }
}

fn slices_conform<X>(executor: &mut X)
where
    X: for<'s> WavefrontExecutor<sliced<'s>>,
{
    let scores = table(&mut Inputs(24));
    let flat = scores.concat();
    conforms(executor, sliced(&flat, 32, -3), &scores);
    finds(executor, &flat, &scores);
    traces(executor, &flat);
}

#[test]
fn cores_look_up_scores_in_tables_and_slices() {
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    let pool = Pool::new(&[core; 2]).unwrap();
    let mut executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(200, 2)).unwrap();
    let scores = table(&mut Inputs(24));
    conforms(&mut executor, scored(scores, -3), &scores);
    slices_conform(&mut executor);
}

#[test]
fn a_gpu_looks_up_scores_in_tables_and_slices() {
    match Device::open(0) {
        Ok(device) => {
            let scores = table(&mut Inputs(24));
            let mut strips = CudaExecutor::new(&device, None).unwrap();
            conforms(&mut strips, scored(scores, -3), &scores);
            slices_conform(&mut strips);
            let mut tiles = TileExecutor::new(&device, None).unwrap();
            conforms(&mut tiles, scored(scores, -3), &scores);
            slices_conform(&mut tiles);
        }
        Err(error) => println!("skipped: {error}"),
    }
}

#[test]
fn symbols_that_a_slice_has_no_item_for_are_refused_before_a_run() {
    let scores = vec![1; 400];
    let run =
        |a: &[u8], b: &[u8]| reference(&Wavefront::of(sliced(&scores, 20, -1)).rows(a).columns(b));
    run(&[19, 0], &[3, 19]).unwrap();
    let error = run(&[19, 0], &[3, 20]).unwrap_err().to_string();
    let told = "index 400 of `scores`, a slice of 400 items, in sliced at ";
    assert!(error.contains(told) && error.contains("tables.rs"), "{error}");
    assert!(error.contains("symbols up to 19 in rows and 20 in columns"), "{error}");
    let error = run(b"A", b"C").unwrap_err().to_string();
    assert!(error.contains("65 ('A') in rows and 67 ('C') in columns"), "{error}");
    // Of many pairs, the one that fails.
    let words: [&[u8]; 3] = [&[0, 1], &[19], &[20]];
    let of = |pairs| Pairs::of(sliced(&scores, 20, -1), &words, &words, pairs).check();
    of(&[[0, 1], [1, 1]]).unwrap();
    let error = of(&[[0, 1], [1, 2]]).unwrap_err().to_string();
    assert!(error.contains("problem 2: index 400 of `scores`"), "{error}");
}

#[test]
fn an_index_is_bounded_in_the_type_that_it_is_computed_in() {
    let scores = [0; 50];
    let error = Wavefront::of(wrapped(&scores)).rows(&[86, 90]).columns(b"A").check();
    let error = error.unwrap_err().to_string();
    assert!(error.contains("index 300 of `scores`, a slice of 50 items"), "{error}");
    Wavefront::of(clamped(&scores)).rows(b"<Z").columns(b"A").check().unwrap();
    let error = Wavefront::of(clamped(&scores[..25])).rows(b"<").columns(b"A").check();
    assert!(error.unwrap_err().to_string().contains("index 25 of `scores`"));
    let error = Wavefront::of(scaled(&scores)).rows(&[0]).columns(&[0]).check();
    assert!(error.unwrap_err().to_string().contains("very large of `scores`"));
    let problem = Wavefront::of(nested(&scores)).rows(&[9]);
    problem.clone().columns(&[48]).check().unwrap();
    assert_eq!(misses(&problem.columns(&[48])), Some("a function that may fault"));
    let error = Wavefront::of(nested(&scores)).rows(&[10]).columns(&[0]).check();
    assert!(error.unwrap_err().to_string().contains("index 50 of `scores`"));
}

#[test]
fn a_choice_may_look_up_what_its_recurrence_does_not() {
    let paths = |a: &[u8]| {
        let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
        let pool = Pool::new(&[core]).unwrap();
        let mut executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(7, 1)).unwrap();
        let problem = Wavefront::of(common()).rows(a).columns(b"ATTACK");
        trace_batch(&[problem], End::Corner, &mut executor).map(|(paths, _)| paths)
    };
    assert_eq!(paths(b"GATTACA").unwrap()[0].as_ref().map(|path| path.score), Some(5));
    let error = paths(&[200]).unwrap_err().to_string();
    assert!(error.contains("index 200 of `moves`, a slice of 128 items"), "{error}");
}

#[test]
fn an_error_of_what_takes_paths_ends_the_search_for_them() {
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    let pool = Pool::new(&[core]).unwrap();
    let mut executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(7, 1)).unwrap();
    let problems: Vec<_> =
        (0..2000).map(|_| Wavefront::of(common()).rows(b"GATTACA").columns(b"ATTACK")).collect();
    let calls = AtomicUsize::new(0);
    let make = |_, _| match calls.fetch_add(1, Ordering::Relaxed) {
        0..100 => Ok(()),
        _ => Err(warpweft::Error::spec("enough", "stop")),
    };
    let made = trace_batch_with(&problems, End::Corner, &mut executor, &make);
    assert!(made.unwrap_err().to_string().contains("enough"));
    assert_eq!(calls.into_inner(), 101);
}

#[test]
fn an_index_that_a_branch_decides_is_checked_by_each_cell() {
    let (weights, rare) = ([3, 1, -1, 0, -2, 4, 1, 1], [0, 0, 0, 0, 7]);
    let problem = Wavefront::of(profile(&weights, &rare)).rows(&[0, 1]).keep(Keep::LastRow);
    let found = reference(&problem.clone().columns(&[0, 1, 4])).unwrap();
    assert_eq!(found, Kept::LastRow(vec![1, 7, 8]));
    assert_eq!(misses(&problem.clone().columns(&[0, 1])), Some("a function that may fault"));
    // A third row has no weights, whatever the branch.
    let error = reference(&problem.rows(&[0, 2]).columns(&[0])).unwrap_err().to_string();
    assert!(error.contains("index 8 of `weights`, a slice of 8 items"), "{error}");
}

#[test]
fn proved_indexes_go_by_register_strips_and_others_are_named() {
    let scores = [[1; 32]; 32];
    let proved = Wavefront::of(scored(scores, -3)).rows(&[0; 9]).columns(&[0; 9]);
    assert_eq!(misses(&proved), None);
    let small = Wavefront::of(unproved([[1; 4]; 4])).rows(&[0; 9]).columns(&[0; 9]);
    assert_eq!(misses(&small), Some("a function that may fault"));
}

#[test]
fn kernels_with_tables_compile() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    let letters = [0; 900];
    let problem = Wavefront::of(scored([[1; 32]; 32], -3)).rows(&letters).columns(&letters);
    let element = sliced(&[1; 1024], 32, -3);
    let by_slice = Wavefront::of(element).rows(&letters).columns(&letters);
    assert_eq!(misses(&by_slice), None);
    let policy = &CudaPolicy::for_domain(900, 4, 132);
    compile_check(&problem, policy, "sm_80").unwrap();
    compile_batch_check::<scored>(Some(Keep::Best), 4, false, "sm_90").unwrap();
    compile_check(&by_slice, policy, "sm_90").unwrap();
    compile_paths_check(&element, End::Best, 5, "sm_80").unwrap();
    assert!(compile_search_check::<sliced>(Some(3), "sm_90").unwrap().is_some());
}
