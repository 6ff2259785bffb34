//! Alignments by matrices and with free ends, one by one and many at once, against a loop over all gaps of all
//! lengths (Waterman, Smith and Beyer 1976), which shares nothing with Gotoh's recurrence.

mod many;

use std::sync::Arc;

use warpweft::cpu::Pool;
use warpweft::cuda::Device;
use warpweft::wavefront::CpuPolicy;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::CudaExecutor;
use warpweft_apps::align::{
    Aligned, Alignment, Database, Ends, Executor, Matrix, Operation, Scope, Scoring, Sequence,
    Tracing, Weights, align, align_all, best, extend, plain, plain_path, score_all, search, trace,
    trace_all,
};
use warpweft_conformance::wavefront::Inputs;

/// The best score over all alignments of `scope`, and the first end that has it.
fn exhaustive(query: &Sequence, target: &Sequence, scoring: &Scoring, scope: Scope) -> Alignment {
    let (a, b) = (query.as_rows(), target.as_columns());
    let Weights { open, extend, .. } = scoring.weights();
    let gap = |letters: usize| open + extend * (letters as i32 - 1);
    let ends = match scope {
        Scope::Free(ends) => ends,
        _ => Ends::default(),
    };
    let local = scope == Scope::Local;
    let beyond = |i: usize, j: usize| scoring.band().is_some_and(|band| i.abs_diff(j) > band);
    // Entry [i][j] is the best of alignments that end after i and j letters.
    let mut h = vec![vec![0i32; b.len() + 1]; a.len() + 1];
    let mut best: Option<Alignment> = None;
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            let begins = local
                || i == 0 && (j == 0 || ends.target[0])
                || j == 0 && (i == 0 || ends.query[0]);
            let mut most = if begins { 0 } else { i32::MIN };
            if i > 0 && j > 0 {
                most = most.max(h[i - 1][j - 1] + scoring.pair(a[i - 1], b[j - 1]));
            }
            for k in 1..=i {
                most = most.max(h[i - k][j] + gap(k));
            }
            for k in 1..=j {
                most = most.max(h[i][j - k] + gap(k));
            }
            h[i][j] = if beyond(i, j) { i32::MIN / 2 } else { most };
            let may_end = !beyond(i, j)
                && i > 0
                && j > 0
                && match (i == a.len(), j == b.len()) {
                    _ if local => most > 0,
                    (true, true) => true,
                    (true, false) => ends.target[1],
                    (false, true) => ends.query[1],
                    (false, false) => false,
                };
            if may_end && best.is_none_or(|best| most > best.score) {
                best = Some(Alignment { score: most, query_end: i, target_end: j });
            }
        }
    }
    best.unwrap_or(Alignment { score: 0, query_end: 0, target_end: 0 })
}

/// Local, global, and all sixteen kinds of free ends.
fn scopes() -> impl Iterator<Item = Scope> {
    let free = (0..16).map(|bits| {
        let of = |bit: u32| bits >> bit & 1 == 1;
        Scope::Free(Ends { query: [of(0), of(1)], target: [of(2), of(3)] })
    });
    [Scope::Local, Scope::Global].into_iter().chain(free)
}

/// A path leads from a start to the end that the score has, by columns that add up to the score, and leaves
/// out nothing that is not free.
fn is_sound(found: &Aligned, query: &Sequence, target: &Sequence, scoring: &Scoring, scope: Scope) {
    let score = i64::from(found.alignment.score);
    assert_eq!(found.added_up(query, target, scoring), Some(score), "{scope:?} {found:?}");
    if let Scope::Free(ends) = scope {
        assert!(ends.query[0] || found.query_start == 0, "{scope:?} {found:?}");
        assert!(ends.target[0] || found.target_start == 0, "{scope:?} {found:?}");
        assert!(found.query_start == 0 || found.target_start == 0, "{scope:?} {found:?}");
    }
    assert!(found.operations.windows(2).all(|two| two[0].0 != two[1].0), "{found:?}");
}

/// A scoring and the letters of its sequences.
fn scorings() -> Vec<(Scoring, Vec<u8>)> {
    let matrix = |name| Arc::new(Matrix::named(name).unwrap());
    // Rows and columns of the matrix differ: a query is not a target.
    let lopsided =
        Arc::new(Matrix::parse("lopsided", "A C G\nA 4 -3 1\nC 0 5 -2\nG -1 -1 3\n").unwrap());
    let all = |matrix: &Matrix| matrix.symbols().to_vec();
    let [blosum, pam] = ["BLOSUM62", "PAM250"].map(matrix);
    vec![
        (Scoring::by_matrix(blosum.clone(), -12, -1), all(&blosum)),
        (Scoring::by_matrix(blosum.clone(), -4, -4), b"WCHLVAX".to_vec()),
        (Scoring::by_matrix(pam.clone(), -8, -2), all(&pam)),
        (Scoring::by_matrix(lopsided.clone(), -3, -1), all(&lopsided)),
        (Weights::default().into(), b"ACGT".to_vec()),
        (Weights { matching: 2, mismatch: -3, open: -5, extend: -1 }.into(), b"ACGTN".to_vec()),
    ]
}

fn sequence(inputs: &mut Inputs, scoring: &Scoring, letters: &[u8], most: u64) -> Sequence {
    let length = 1 + (inputs.bits() % most) as usize;
    let text: Vec<_> = (0..length).map(|_| inputs.one_of(letters)).collect();
    match scoring.matrix() {
        Some(matrix) => Sequence::of(matrix, "case", &text).unwrap(),
        None => Sequence::new("case", &text).unwrap(),
    }
}

/// `count` pairs of each scoring, in every scope, one by one and all together.
fn conforms(executor: &mut dyn Executor, count: usize, most: u64) {
    let mut inputs = Inputs(62);
    for (scoring, letters) in scorings() {
        let pairs: Vec<_> = (0..count)
            .map(|_| [0; 2].map(|_| sequence(&mut inputs, &scoring, &letters, most)))
            .collect();
        let pairs: Vec<_> = pairs.iter().map(|[query, target]| (query, target)).collect();
        for scope in scopes() {
            let (ends, _) = align_all(&pairs, &scoring, scope, executor).unwrap();
            let (paths, _) = trace_all(&pairs, &scoring, scope, executor).unwrap();
            for (k, (query, target)) in pairs.iter().enumerate() {
                let expected = exhaustive(query, target, &scoring, scope);
                assert_eq!(ends[k], expected, "{scope:?} {:?}", scoring.weights());
                assert_eq!(paths[k].alignment, expected, "{scope:?}");
                is_sound(&paths[k], query, target, &scoring, scope);
                let (cigar, starts) = plain_path(query, target, &scoring, scope);
                let cigar = if cigar.is_empty() { "*" } else { &cigar };
                assert_eq!(paths[k].cigar(true), cigar, "{scope:?} {:?}", scoring.weights());
                assert_eq!([paths[k].query_start, paths[k].target_start], starts, "{scope:?}");
                if k % 8 == 0 {
                    let one = align(query, target, &scoring, scope, executor).unwrap().0;
                    assert_eq!((one, plain(query, target, &scoring, scope)), (expected, expected));
                    let tracing = Tracing::default();
                    let path = trace(query, target, &scoring, scope, &tracing, executor).unwrap().0;
                    assert_eq!(path, paths[k], "{scope:?} {:?}", scoring.weights());
                }
            }
        }
    }
}

fn with_cores(test: impl FnOnce(&mut dyn Executor)) {
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    let pool = Pool::new(&[core; 2]).unwrap();
    test(&mut CpuExecutor::new(&pool, CpuPolicy::for_domain(200, 2)).unwrap());
}

#[test]
fn every_scope_and_scoring_equals_all_gaps_of_all_lengths() {
    with_cores(|executor| conforms(executor, 40, 24));
}

#[test]
fn every_scope_and_scoring_equals_all_gaps_on_a_gpu() {
    match Device::open(0) {
        Ok(device) => conforms(&mut CudaExecutor::new(&device, None).unwrap(), 24, 40),
        Err(error) => println!("skipped: {error}"),
    }
}

/// Whether an alignment of so many letters may end in the band.
fn may_end(scope: Scope, band: usize, [m, n]: [usize; 2]) -> bool {
    let ends = match scope {
        Scope::Local => return true,
        Scope::Free(ends) => ends,
        Scope::Global => Ends::default(),
    };
    let row = (1..=n).filter(|&j| j == n || ends.target[1]).map(|j| (m, j));
    let column = (1..=m).filter(|&i| i == m || ends.query[1]).map(|i| (i, n));
    row.chain(column).any(|(i, j)| i.abs_diff(j) <= band)
}

#[test]
fn bands_leave_out_what_lies_further_apart() {
    let mut inputs = Inputs(64);
    for (scoring, letters) in scorings() {
        let pairs: Vec<_> = (0..12)
            .map(|_| [0; 2].map(|_| sequence(&mut inputs, &scoring, &letters, 20)))
            .collect();
        for (band, scope) in
            [0, 2, 9].into_iter().flat_map(|band| scopes().map(move |of| (band, of)))
        {
            let scoring = scoring.clone().within(Some(band));
            let (fit, rest): (Vec<_>, Vec<_>) =
                (pairs.iter().map(|[query, target]| (query, target)))
                    .partition(|(query, target)| may_end(scope, band, [query.len(), target.len()]));
            with_cores(|executor| {
                for (query, target) in rest {
                    let error = align(query, target, &scoring, scope, executor).unwrap_err();
                    assert!(
                        error.to_string().contains(&format!("a band of {band} for")),
                        "{error}"
                    );
                }
                if fit.is_empty() {
                    return;
                }
                let (ends, _) = align_all(&fit, &scoring, scope, executor).unwrap();
                let (paths, _) = trace_all(&fit, &scoring, scope, executor).unwrap();
                for (k, (query, target)) in fit.iter().enumerate() {
                    let expected = exhaustive(query, target, &scoring, scope);
                    assert_eq!(ends[k], expected, "{scope:?} {band} {:?}", scoring.weights());
                    assert_eq!(plain(query, target, &scoring, scope), expected);
                    assert_eq!(paths[k].alignment, expected);
                    is_sound(&paths[k], query, target, &scoring, scope);
                    let (cigar, starts) = plain_path(query, target, &scoring, scope);
                    let cigar = if cigar.is_empty() { "*" } else { &cigar };
                    assert_eq!(paths[k].cigar(true), cigar, "{scope:?} {band}");
                    assert_eq!([paths[k].query_start, paths[k].target_start], starts);
                }
            });
        }
    }
}

/// The extension by whole tables: a cell more than `drop` below the best of all anti-diagonals before is none.
fn extension(query: &Sequence, target: &Sequence, scoring: &Scoring, drop: i64) -> Alignment {
    const NEVER: i64 = i64::MIN / 4;
    let (a, b) = (query.as_rows(), target.as_columns());
    let [open, extend] = [scoring.weights().open, scoring.weights().extend].map(i64::from);
    let mut tables = vec![vec![[NEVER; 3]; b.len() + 1]; a.len() + 1];
    tables[0][0] = [0, NEVER, NEVER];
    let (mut best, mut most) = ((0, 0, 0), 0);
    for number in 1..=a.len() + b.len() {
        let least = most - drop;
        for i in number.saturating_sub(b.len())..=number.min(a.len()) {
            let j = number - i;
            let [mut h, mut e, mut f] = [NEVER; 3];
            if j > 0 {
                let [before, further, _] = tables[i][j - 1];
                e = (before + open).max(further + extend);
            }
            if i > 0 {
                let [before, _, further] = tables[i - 1][j];
                f = (before + open).max(further + extend);
            }
            if i > 0 && j > 0 {
                h = tables[i - 1][j - 1][0] + i64::from(scoring.pair(a[i - 1], b[j - 1]));
            }
            h = h.max(e).max(f);
            if h >= least {
                tables[i][j] = [h, e, f];
                most = most.max(h);
                let wins = h > best.0 || h == best.0 && (i, j) < (best.1, best.2);
                best = if wins { (h, i, j) } else { best };
            }
        }
    }
    Alignment { score: best.0 as i32, query_end: best.1, target_end: best.2 }
}

#[test]
fn extensions_equal_whole_tables_for_every_drop() {
    let mut inputs = Inputs(65);
    for (scoring, letters) in scorings() {
        for round in 0..60 {
            let query = sequence(&mut inputs, &scoring, &letters, 60);
            // Half of them alike.
            let target = match round % 2 {
                0 => query.clone(),
                _ => sequence(&mut inputs, &scoring, &letters, 60),
            };
            for drop in [0, 3, 10, 40, 100_000] {
                let (found, cells) = extend(&query, &target, &scoring, drop).unwrap();
                let expected = extension(&query, &target, &scoring, i64::from(drop));
                assert_eq!(found.alignment, expected, "drop {drop} {:?}", scoring.weights());
                let score = i64::from(expected.score);
                assert_eq!(found.added_up(&query, &target, &scoring), Some(score));
                assert_eq!((found.query_start, found.target_start), (0, 0));
                assert!(cells <= ((query.len() + 1) * (target.len() + 1)) as u64);
            }
        }
    }
    let one = Sequence::new("one", b"ACGT").unwrap();
    let error = extend(&one, &one, &Weights::default().into(), -1).unwrap_err().to_string();
    assert!(error.contains("a drop of -1"), "{error}");
}

/// By the plain loop, again and again: the best of what no alignment before has taken of the target.
#[test]
fn several_alignments_share_no_letter_of_the_target() {
    let scoring = Scoring::from(Weights { matching: 2, mismatch: -3, open: -5, extend: -1 });
    let mut inputs = Inputs(66);
    let mut text =
        |count: usize| -> Vec<u8> { (0..count).map(|_| inputs.one_of(b"ACGT")).collect() };
    let (query, spacer) = (text(30), text(25));
    let genome = [&spacer[..], &query, &spacer[..9], &query[5..25], &spacer, &query[..12]].concat();
    let [query, target] = [&query, &genome].map(|text| Sequence::new("case", text).unwrap());
    with_cores(|executor| {
        let (found, _) = best(&[&query], &target, &scoring, (5, 1), executor).unwrap();
        let found: Vec<_> = found.into_iter().map(|(_, one)| one).collect();
        let scores: Vec<_> = found.iter().map(|one| one.alignment.score).collect();
        // The whole query, 20 of its letters and 12, each perhaps with more by chance.
        assert!(scores[0] == 60 && scores[1] >= 40 && scores[2] >= 24, "{scores:?}");
        let mut taken = vec![false; target.len()];
        for one in &found {
            is_sound(one, &query, &target, &scoring, Scope::Local);
            let free = taken.chunk_by(|a, b| a == b).scan(0, |at, stretch| {
                let first = *at;
                *at += stretch.len();
                Some((first, stretch))
            });
            let most = free.filter(|(_, stretch)| !stretch[0]).map(|(first, stretch)| {
                let part = &target.text()[first..first + stretch.len()];
                let part = Sequence::new("part", part).unwrap();
                plain(&query, &part, &scoring, Scope::Local).score
            });
            assert_eq!(most.max(), Some(one.alignment.score));
            let stretch = &mut taken[one.target_start..one.alignment.target_end];
            assert!(stretch.iter().all(|taken| !taken));
            stretch.fill(true);
        }
        let (none, _) = best(&[&query], &target, &scoring, (5, 1000), executor).unwrap();
        assert!(none.is_empty());
    });
}

/// Hundreds of pairs of proteins of different lengths, some alike: more than one group of lanes. Notes say that paths were
/// found `together`. A search of all targets with one query has the same scores.
fn proteins_conform(executor: &mut dyn Executor, together: &str) {
    let matrix = Arc::new(Matrix::named("BLOSUM50").unwrap());
    let scoring = Scoring::by_matrix(matrix.clone(), -10, -2);
    let mut inputs = Inputs(50);
    let letters = &matrix.symbols()[..20];
    let pairs: Vec<_> =
        (0..300).map(|_| [0; 2].map(|_| sequence(&mut inputs, &scoring, letters, 120))).collect();
    let pairs: Vec<_> = pairs.iter().map(|[query, target]| (query, target)).collect();
    for scope in [Scope::Local, Scope::Global, Scope::SEMI_GLOBAL, Scope::OVERLAP] {
        let (ends, _) = align_all(&pairs, &scoring, scope, executor).unwrap();
        let (paths, report) = trace_all(&pairs, &scoring, scope, executor).unwrap();
        let noted = report.notes.iter().any(|note| note.contains(together));
        assert!(noted || matches!(scope, Scope::Free(_)), "{report:?}");
        for (k, (query, target)) in pairs.iter().enumerate() {
            let expected = plain(query, target, &scoring, scope);
            assert_eq!((ends[k], paths[k].alignment), (expected, expected), "{scope:?}");
            is_sound(&paths[k], query, target, &scoring, scope);
        }
    }
    let query = pairs[0].0;
    let pairs: Vec<_> = pairs.iter().map(|(_, target)| (query, *target)).collect();
    let database = Database::of(pairs.iter().map(|(_, target)| *target)).unwrap();
    for scope in [Scope::Local, Scope::Global, Scope::OVERLAP] {
        let (scores, _) = score_all(&pairs, &scoring, scope, executor).unwrap();
        for ((query, target), score) in pairs.iter().zip(&scores) {
            assert_eq!(*score, plain(query, target, &scoring, scope).score, "{scope:?}");
        }
        let (again, _) = search(query, &database, &scoring, scope, executor).unwrap();
        assert_eq!(again, scores, "{scope:?} in a database");
    }
}

#[test]
fn batches_of_proteins_are_aligned_as_if_alone() {
    with_cores(|executor| proteins_conform(executor, "at a time"));
}

#[test]
fn batches_of_proteins_are_aligned_as_if_alone_on_a_gpu() {
    match Device::open(0) {
        Ok(device) => {
            proteins_conform(&mut CudaExecutor::new(&device, None).unwrap(), "a warp each");
        }
        Err(error) => println!("skipped: {error}"),
    }
}

#[test]
fn other_alphabets_and_strands_without_complement_are_refused() {
    let matrix = Arc::new(Matrix::named("BLOSUM62").unwrap());
    let protein = Sequence::of(&matrix, "p", b"mkwuJ*").unwrap();
    assert_eq!((&*protein.text(), protein.ambiguous()), (&b"MKWXX*"[..], 2));
    assert_eq!(protein.reverse_complement(), None);
    let dna = Sequence::new("d", b"ACGT").unwrap();
    let mixed = Database::of([&protein, &dna]).unwrap_err().to_string();
    assert!(mixed.contains("sequence 2 of a database"), "{mixed}");
    assert!(Database::of([]).unwrap_err().to_string().contains("no sequences"));
    let error = Sequence::of(&matrix, "p", b"MK-W").unwrap_err().to_string();
    assert!(
        error.contains("'-' at position 3 of sequence p; help: use the letters of BLOSUM62"),
        "{error}"
    );
    let dna = Sequence::new("d", b"AACGTN").unwrap();
    assert_eq!(&*dna.reverse_complement().unwrap().text(), b"NACGTT");
    with_cores(|executor| {
        let scoring = Scoring::by_matrix(matrix.clone(), -12, -1);
        let error =
            align(&protein, &dna, &scoring, Scope::Local, executor).unwrap_err().to_string();
        assert!(error.contains("is scored by the letters of BLOSUM62"), "{error}");
        let error =
            align(&protein, &protein, Weights::default(), Scope::Local, executor).unwrap_err();
        assert!(error.to_string().contains("scored by nucleotides"), "{error}");
    });
    let identical = [(Operation::Equal, 4)];
    with_cores(|executor| {
        let query = Sequence::of(&matrix, "q", b"WWKM").unwrap();
        let scoring = Scoring::by_matrix(matrix.clone(), -12, -1);
        let (found, _) =
            trace(&query, &query, scoring, Scope::Global, &Tracing::default(), executor).unwrap();
        // 11 + 11 + 5 + 5.
        assert_eq!((found.alignment.score, &found.operations[..]), (32, &identical[..]));
    });
}
