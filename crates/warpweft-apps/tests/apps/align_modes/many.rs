//! Many pairs at once: memory that does not grow with them, and errors that name them; matches of ambiguous letters, and
//! extensions of long sequences.

use std::sync::Arc;

use warpweft::Result;
use warpweft::cpu::Pool;
use warpweft::report::Report;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::{CpuPolicy, Kept, Wavefront, WavefrontElement, WavefrontExecutor};
use warpweft_apps::align::{
    Executor, Matrix, Scope, Scoring, Sequence, Tracing, Weights, align_all, extend, score_all,
    trace, trace_all,
};

/// The cores, and the most cells of last rows that a batch kept.
struct Counted<'p> {
    cores: CpuExecutor<'p>,
    most: usize,
}

impl<'p, E: WavefrontElement> WavefrontExecutor<E> for Counted<'p>
where
    CpuExecutor<'p>: WavefrontExecutor<E>,
{
    fn run(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Kept<E::Cell>, Report)> {
        self.cores.run(wavefront)
    }

    fn run_batch(&mut self, all: &[Wavefront<'_, E>]) -> Result<(Vec<Kept<E::Cell>>, Report)> {
        let columns = all.iter().map(|wavefront| wavefront.extents()[1]);
        self.most = self.most.max(columns.sum());
        self.cores.run_batch(all)
    }
}

fn with_cores<T>(test: impl FnOnce(&mut Counted<'_>) -> T) -> T {
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    let pool = Pool::new(&[core; 2]).unwrap();
    let cores = CpuExecutor::new(&pool, CpuPolicy::for_domain(200, 2)).unwrap();
    test(&mut Counted { cores, most: 0 })
}

/// 20 targets of 2^20 letters, each with one C: their last rows would be 84 MB. A batch keeps 2^24 cells.
#[test]
fn last_rows_of_a_batch_are_kept_some_at_a_time() {
    const LETTERS: usize = 1 << 20;
    let place = |k: usize| 1000 + 17 * k;
    let targets: Vec<_> = (0..20)
        .map(|k| {
            let mut text = vec![b'A'; LETTERS];
            text[place(k)] = b'C';
            Sequence::new("target", &text).unwrap()
        })
        .collect();
    let query = Sequence::new("query", b"C").unwrap();
    let pairs: Vec<_> = targets.iter().map(|target| (&query, target)).collect();
    let weights = Weights::default();
    with_cores(|executor| {
        let (ends, _) = align_all(&pairs, weights, Scope::SEMI_GLOBAL, executor).unwrap();
        for (k, end) in ends.iter().enumerate() {
            assert_eq!((end.score, end.query_end, end.target_end), (2, 1, place(k) + 1));
        }
        let (scores, report) = score_all(&pairs, weights, Scope::SEMI_GLOBAL, executor).unwrap();
        assert_eq!(scores, [2; 20]);
        assert_eq!(report.done, 20 << 20);
        assert!((1..=1 << 24).contains(&executor.most), "{}", executor.most);
    });
}

#[test]
fn a_pair_that_can_not_be_aligned_is_named() {
    let [short, long] = [10, 20].map(|count| Sequence::new("case", &vec![b'A'; count]).unwrap());
    let pairs = [(&short, &short), (&long, &long), (&short, &long)];
    let scoring = Scoring::from(Weights::default()).within(Some(5));
    with_cores(|executor| {
        let error = align_all(&pairs, &scoring, Scope::Global, executor).unwrap_err().to_string();
        assert!(error.contains("pair 3: a band of 5 for sequences of 10 and 20"), "{error}");
        let (found, _) = align_all(&pairs[..2], &scoring, Scope::Global, executor).unwrap();
        assert_eq!([found[0].score, found[1].score], [20, 40]);
    });
}

/// As SAM defines NM: only A, C, G and T are potential matches.
#[test]
fn codes_of_several_nucleotides_match_nothing_whatever_they_score() {
    let matrix = Arc::new(Matrix::named("NUC44").unwrap());
    let scoring = Scoring::by_matrix(matrix.clone(), -10, -1);
    let of = |text: &[u8]| Sequence::of(&matrix, "case", text).unwrap();
    // N with N scores -1, R with R -1, and the others 5.
    for (text, cigar, score) in
        [("ACGNACGT", "3=1X4=", 34), ("RACGTACGU", "1X8=", 39), ("ACGT", "4=", 20)]
    {
        let sequence = of(text.as_bytes());
        let pairs = [(&sequence, &sequence), (&sequence, &sequence)];
        with_cores(|executor| {
            let executor: &mut dyn Executor = executor;
            let tracing = Tracing::default();
            let one = trace(&sequence, &sequence, &scoring, Scope::Global, &tracing, executor);
            let all = trace_all(&pairs, &scoring, Scope::Global, executor).unwrap().0;
            for found in all.into_iter().chain([one.unwrap().0]) {
                assert_eq!((found.cigar(true), found.alignment.score), (cigar.into(), score));
                assert_eq!(found.added_up(&sequence, &sequence, &scoring), Some(score.into()));
            }
        });
        let (found, _) = extend(&sequence, &sequence, &scoring, 100).unwrap();
        assert_eq!(found.cigar(true), cigar);
    }
}

/// A global alignment of these may score less than 32 bits hold: a gap of all letters. An extension does not.
#[test]
fn extensions_need_not_hold_scores_far_below_the_best() {
    let text: Vec<_> = (0..3000).map(|k| b"ACGT"[k * k % 7 % 4]).collect();
    let sequence = Sequence::new("long", &text).unwrap();
    let scoring = Weights::linear(1000, -1000, -1_000_000).into();
    let (found, _) = extend(&sequence, &sequence, &scoring, 5_000_000).unwrap();
    assert_eq!((found.alignment.score, found.cigar(true)), (3_000_000, "3000=".into()));
    let error = extend(&sequence, &sequence, &Weights::linear(1_000_000, -1, -1).into(), 10);
    assert!(error.unwrap_err().to_string().contains("more than 32 bits hold"));
}
