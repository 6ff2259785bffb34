//! Many pairs at once: their scores and ends, or their paths.

mod distinct;

use warpweft::error::Result;
use warpweft::memory::room;
use warpweft::report::Report;
use warpweft::wavefront::traceback::{End, Path, Traced, trace_batch_with};
use warpweft::wavefront::{
    Best, Border, Kept, Pairs, Ranked, TotalReport, Wavefront, WavefrontExecutor,
};

use self::distinct::Distinct;
use super::problem::{aligned, end_of, found, wavefront};
use super::recurrences::{Unreached, by_form};
use super::{Aligned, Alignment, Database, Executor, Scope, Scoring, Sequence};
use crate::errors::about;

/// Cells of last rows and columns that are kept at once.
const KEPT: usize = 1 << 24;

/// The score and the end of the best alignment of each query with its target: many short pairs take
/// little longer than few.
///
/// # Errors
/// As [`align`](super::align), of any pair, with its number, counted from 1; no pairs.
pub fn align_all(
    pairs: &[(&Sequence, &Sequence)],
    scoring: impl Into<Scoring>,
    scope: Scope,
    executor: &mut dyn Executor,
) -> Result<(Vec<Alignment>, Report)> {
    let scoring = &scoring.into();
    let many = Many { pairs, database: None, scoring, scope };
    many.find(executor, Want::Ends).map(|(found, report)| (found.alignments(), report))
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
    let (found, report) = many.find(executor, Want::Scores)?;
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
            Many { pairs, database: None, scoring, scope }.find(executor, Want::Paths)?;
        return Ok((found.paths(), report));
    };
    // Up to where each ends, an alignment with free ends is one whose ends are not.
    let (ends, report) = align_all(pairs, scoring, scope, executor)?;
    let cut: Vec<_> = (pairs.iter().zip(&ends))
        .map(|((query, target), end)| (query.first(end.query_end), target.first(end.target_end)))
        .collect();
    let pairs: Vec<_> = cut.iter().map(|(query, target)| (query, target)).collect();
    let many = Many { pairs: &pairs, database: None, scoring, scope };
    let (found, further) = many.find(executor, Want::Paths)?;
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
        let of_score = |score| Alignment { score, ..Aligned::none().alignment };
        match self {
            Self::Scores(scores) => scores.into_iter().map(of_score).collect(),
            Self::Ends(ends) => ends,
            Self::Paths(paths) => paths.into_iter().map(|path| path.alignment).collect(),
        }
    }

    fn paths(self) -> Vec<Aligned> {
        let of_end = |alignment| Aligned { alignment, ..Aligned::none() };
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
    pub(super) fn find(&self, executor: &mut dyn Executor, want: Want) -> Result<(Found, Report)> {
        let Self { pairs, database, scoring, scope } = *self;
        scoring.check()?;
        database.map_or(Ok(()), |(query, database)| database.check(query, scoring, scope))?;
        for (k, (query, target)) in pairs.iter().enumerate() {
            scoring
                .check_pair(query, target, scope)
                .map_err(|error| about(format!("pair {}", k + 1), error))?;
        }
        let plain = database.is_none_or(|(_, database)| database.is_plain)
            && pairs.iter().all(|(_, target)| target.is_plain());
        by_form!(scoring, scope, plain, |element, border| {
            self.solve(element, border, executor, want)
        })
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
        if want != Want::Paths {
            return self.ends(element, &border, executor);
        }
        let wavefronts = self.wavefronts(self.pairs, element, &border);
        let of_pair = |k: usize, path: Option<Path<i32>>| {
            let (query, target) = self.pairs[k];
            aligned(path.as_ref(), query, target, self.scope)
        };
        let end = end_of(self.scope);
        let (all, report) = trace_batch_with(&wavefronts, end, executor, &of_pair)?;
        Ok((Found::Paths(all), report))
    }

    fn wavefronts<'s, E>(
        &self,
        pairs: &[(&'s Sequence, &'s Sequence)],
        element: E,
        border: &Border<E::Cell>,
    ) -> Vec<Wavefront<'s, E>>
    where
        E: Traced<Row = u8, Column = u8>,
        E::Cell: Unreached,
    {
        let of = |&pair| wavefront(element, pair, border.clone(), self.scoring);
        pairs.iter().map(of).collect()
    }

    /// The ends of all that are told by one value each.
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
        let Distinct { queries, targets, pairs } = Distinct::of(self.pairs)?;
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
            _ => Aligned::none().alignment,
        });
        Ok((Found::Ends(ends.collect()), report))
    }

    /// The ends of all, by a run for each thing that tells them: of as many pairs at once as last rows fit memory.
    fn ends<E, X>(
        &self,
        element: E,
        border: &Border<E::Cell>,
        executor: &mut X,
    ) -> Result<(Found, Report)>
    where
        E: Traced<Row = u8, Column = u8>,
        E::Cell: Ranked<Score = i32> + Unreached,
        X: WavefrontExecutor<E> + ?Sized,
    {
        let mut ends = room(self.pairs.len(), "align fewer pairs at once")?;
        let mut total = TotalReport::default();
        while ends.len() < self.pairs.len() {
            let (rest, mut cells) = (&self.pairs[ends.len()..], 0);
            let fits = |(query, target): &&(&Sequence, &Sequence)| {
                cells += query.len().max(target.len());
                cells <= KEPT
            };
            let some = rest.iter().take_while(fits).count().max(1);
            let wavefronts = self.wavefronts(&rest[..some], element, border);
            let mut all: Vec<Vec<Kept<E::Cell>>> = wavefronts.iter().map(|_| Vec::new()).collect();
            for &keep in self.scope.keeps() {
                let keeping: Vec<_> = wavefronts.iter().map(|one| one.clone().keep(keep)).collect();
                let (kept, report) = executor.run_batch(&keeping)?;
                all.iter_mut().zip(kept).for_each(|(all, kept)| all.push(kept));
                total.add(report);
            }
            ends.extend(all.iter().zip(&wavefronts).map(|(kept, wavefront)| {
                let found = found(self.scope, kept, wavefront.extents());
                found.unwrap_or(Aligned::none().alignment)
            }));
        }
        Ok((Found::Ends(ends), total.report()?))
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
