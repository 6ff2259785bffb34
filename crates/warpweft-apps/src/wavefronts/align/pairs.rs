//! Many pairs at once: their scores and ends, or their paths.

use warpweft::error::{Error, Result};
use warpweft::report::Report;
use warpweft::wavefront::traceback::{End, Path, Traced, trace_batch_with};
use warpweft::wavefront::{
    Best, Border, Kept, Pairs, Ranked, TotalReport, Wavefront, WavefrontExecutor,
};

use super::problem::{aligned, end_of, found, wavefront};
use super::recurrences::Unreached;
use super::{
    Aligned, Alignment, Database, Dna, Executor, Scope, Scoring, Sequence, affine, global_affine,
    global_letters, letters, nothing, scored,
};

/// The score and the end of the best alignment of each query with its target: many short pairs take
/// little longer than few.
///
/// # Errors
/// As [`align`](super::align), of any pair; no pairs.
pub fn align_all(
    pairs: &[(&Sequence, &Sequence)],
    scoring: impl Into<Scoring>,
    scope: Scope,
    executor: &mut dyn Executor,
) -> Result<(Vec<Alignment>, Report)> {
    let scoring = &scoring.into();
    let many = Many { pairs, database: None, scoring, scope };
    many.by_form(executor, Want::Ends).map(|(found, report)| (found.alignments(), report))
}

/// The score of the best alignment of each query with its target, which may take less time than [`align_all`]: for a
/// search of a database, whose best targets are then aligned.
///
/// # Errors
/// As [`align_all`].
pub fn score_all(
    pairs: &[(&Sequence, &Sequence)],
    scoring: impl Into<Scoring>,
    scope: Scope,
    executor: &mut dyn Executor,
) -> Result<(Vec<i32>, Report)> {
    let scoring = &scoring.into();
    let many = Many { pairs, database: None, scoring, scope };
    let (found, report) = many.by_form(executor, Want::Scores)?;
    Ok((found.scores(), report))
}

/// The best alignment of each query with its target letter by letter, each as [`trace`](super::trace) finds
/// it.
///
/// # Errors
/// As [`align_all`].
pub fn trace_all(
    pairs: &[(&Sequence, &Sequence)],
    scoring: impl Into<Scoring>,
    scope: Scope,
    executor: &mut dyn Executor,
) -> Result<(Vec<Aligned>, Report)> {
    let scoring = &scoring.into();
    let Scope::Free(_) = scope else {
        let (found, report) =
            Many { pairs, database: None, scoring, scope }.by_form(executor, Want::Paths)?;
        return Ok((found.paths(), report));
    };
    // Up to where each ends, an alignment with free ends is one whose ends are not.
    let (ends, report) = align_all(pairs, scoring, scope, executor)?;
    let cut: Vec<_> = (pairs.iter().zip(&ends))
        .map(|((query, target), end)| (query.first(end.query_end), target.first(end.target_end)))
        .collect();
    let pairs: Vec<_> = cut.iter().map(|(query, target)| (query, target)).collect();
    let many = Many { pairs: &pairs, database: None, scoring, scope };
    let (found, further) = many.by_form(executor, Want::Paths)?;
    Ok((found.paths(), report.followed_by(&further)))
}

/// What is wanted of each pair.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    Scores,
    Ends,
    Paths,
}

/// What was wanted of each pair.
pub(super) enum Found {
    Scores(Vec<i32>),
    Ends(Vec<Alignment>),
    Paths(Vec<Aligned>),
}

impl Found {
    pub(super) fn scores(self) -> Vec<i32> {
        match self {
            Self::Scores(scores) => scores,
            further => further.alignments().into_iter().map(|found| found.score).collect(),
        }
    }

    fn alignments(self) -> Vec<Alignment> {
        let of_score = |score| Alignment { score, ..nothing().alignment };
        match self {
            Self::Scores(scores) => scores.into_iter().map(of_score).collect(),
            Self::Ends(ends) => ends,
            Self::Paths(paths) => paths.into_iter().map(|path| path.alignment).collect(),
        }
    }

    fn paths(self) -> Vec<Aligned> {
        let of_end = |alignment| Aligned { alignment, ..nothing() };
        match self {
            Self::Paths(paths) => paths,
            less => less.alignments().into_iter().map(of_end).collect(),
        }
    }
}

/// Pairs to be aligned.
pub(super) struct Many<'a> {
    pub pairs: &'a [(&'a Sequence, &'a Sequence)],
    /// A query that is scored against a database, in place of pairs.
    pub database: Option<(&'a Sequence, &'a Database<'a>)>,
    pub scoring: &'a Scoring,
    pub scope: Scope,
}

impl Many<'_> {
    /// By the recurrence for the scoring and the scope.
    pub(super) fn by_form(
        &self,
        executor: &mut dyn Executor,
        want: Want,
    ) -> Result<(Found, Report)> {
        let Self { pairs, database, scoring, scope } = *self;
        scoring.check()?;
        let weights = scoring.weights();
        database.map_or(Ok(()), |(query, database)| database.check(query, scoring, scope))?;
        for (query, target) in pairs {
            [query, target].into_iter().try_for_each(|of| scoring.check_alphabet(of))?;
            scoring.check_lengths(scope, [query.len(), target.len()])?;
        }
        let band = scoring.band();
        let (border, gapped) = (weights.border(scope, band), weights.gapped_border(scope, band));
        if let Some(element) = scored::with(scoring, scope) {
            return self.solve(element, gapped, executor, want);
        }
        let plain = database.is_none_or(|(_, database)| database.is_plain)
            && pairs.iter().all(|(_, target)| target.is_plain());
        match (scope, weights.is_linear()) {
            (Scope::Local, true) if plain && Dna::can(&weights) => {
                self.solve(Dna::new(weights), border, executor, want)
            }
            (Scope::Local, true) => self.solve(letters::with(weights), border, executor, want),
            (_, true) => self.solve(global_letters::with(weights), border, executor, want),
            (Scope::Local, false) => self.solve(affine::with(weights), gapped, executor, want),
            (_, false) => self.solve(global_affine::with(weights), gapped, executor, want),
        }
    }

    fn solve<E, X>(
        &self,
        element: E,
        border: Border<E::Cell>,
        executor: &mut X,
        want: Want,
    ) -> Result<(Found, Report)>
    where
        E: Traced<Row = u8, Column = u8>,
        E::Cell: Ranked<Score = i32> + Unreached,
        X: WavefrontExecutor<E> + ?Sized,
    {
        if let Some((query, database)) = self.database {
            let pairs = Pairs::search(element, query.as_rows(), &database.columns).border(border);
            return best_scores(&pairs, executor);
        }
        let end = match self.scope {
            Scope::Local => Some(End::Best),
            Scope::Global => Some(End::Corner),
            Scope::Free(_) => None,
        };
        if let (Want::Scores | Want::Ends, None, Some(end)) = (want, self.scoring.band(), end) {
            return self.shared(element, border, (want, end), executor);
        }
        let wavefronts: Vec<_> = (self.pairs.iter())
            .map(|&pair| wavefront(element, pair, border.clone(), self.scoring))
            .collect();
        match want {
            Want::Scores | Want::Ends => self.ends(&wavefronts, executor),
            Want::Paths => {
                let of_pair = |k: usize, path: Option<Path<i32>>| {
                    let (query, target) = self.pairs[k];
                    aligned(path.as_ref(), query, target, self.scope)
                };
                let end = end_of(self.scope);
                let (all, report) = trace_batch_with(&wavefronts, end, executor, &of_pair)?;
                Ok((Found::Paths(all), report))
            }
        }
    }

    /// The ends of all that are told by one value each: a sequence of several pairs in a row is copied to a device once.
    fn shared<E, X>(
        &self,
        element: E,
        border: Border<E::Cell>,
        (want, end): (Want, End),
        executor: &mut X,
    ) -> Result<(Found, Report)>
    where
        E: Traced<Row = u8, Column = u8>,
        E::Cell: Ranked<Score = i32>,
        X: WavefrontExecutor<E> + ?Sized,
    {
        if u32::try_from(self.pairs.len()).is_err() {
            return Err(Error::spec(format!("{} pairs", self.pairs.len()), "align fewer at once"));
        }
        let (mut queries, mut targets): (Vec<&[u8]>, Vec<&[u8]>) = (Vec::new(), Vec::new());
        fn place<'s>(all: &mut Vec<&'s [u8]>, letters: &'s [u8]) -> u32 {
            // The letters of a sequence are none of another: where they lie tells.
            if !all.last().is_some_and(|last| std::ptr::eq(*last, letters)) {
                all.push(letters);
            }
            (all.len() - 1) as u32
        }
        let mut pairs = Vec::with_capacity(self.pairs.len());
        for (query, target) in self.pairs {
            let query = place(&mut queries, query.as_rows());
            pairs.push([query, place(&mut targets, target.as_columns())]);
        }
        let pairs = Pairs::of(element, &queries, &targets, &pairs).border(border);
        if (want, end) == (Want::Scores, End::Best) {
            return best_scores(&pairs, executor);
        }
        let (ends, report) = executor.ends(&pairs, end)?;
        let ends = ends.into_iter().map(|end| match end {
            Some(best) if self.scope != Scope::Local || best.score > 0 => {
                let Best { score, row, column } = best;
                Alignment { score, query_end: row + 1, target_end: column + 1 }
            }
            _ => nothing().alignment,
        });
        Ok((Found::Ends(ends.collect()), report))
    }

    /// The ends of all, by a run for each thing that tells them.
    fn ends<E, X>(
        &self,
        wavefronts: &[Wavefront<'_, E>],
        executor: &mut X,
    ) -> Result<(Found, Report)>
    where
        E: Traced,
        E::Cell: Ranked<Score = i32>,
        X: WavefrontExecutor<E> + ?Sized,
    {
        let mut all: Vec<Vec<Kept<E::Cell>>> = wavefronts.iter().map(|_| Vec::new()).collect();
        let mut total = TotalReport::default();
        for &keep in self.scope.keeps() {
            let keeping: Vec<_> = wavefronts.iter().map(|one| one.clone().keep(keep)).collect();
            let (kept, report) = executor.run_batch(&keeping)?;
            all.iter_mut().zip(kept).for_each(|(all, kept)| all.push(kept));
            total.add(report);
        }
        let ends = all.iter().zip(wavefronts).map(|(kept, wavefront)| {
            found(self.scope, kept, wavefront.extents()).unwrap_or(nothing().alignment)
        });
        Ok((Found::Ends(ends.collect()), total.report()?))
    }
}

/// The scores of the best alignments of `pairs`, 0 where no letters match.
fn best_scores<E, X>(pairs: &Pairs<'_, E>, executor: &mut X) -> Result<(Found, Report)>
where
    E: Traced,
    E::Cell: Ranked<Score = i32>,
    X: WavefrontExecutor<E> + ?Sized,
{
    let (scores, report) = executor.scores(pairs, End::Best)?;
    let scores = scores.into_iter().map(|score| score.unwrap_or(0).max(0));
    Ok((Found::Scores(scores.collect()), report))
}
