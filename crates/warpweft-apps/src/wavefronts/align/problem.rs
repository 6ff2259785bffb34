//! One pair: which recurrence aligns it, where its alignment ends, and its path.

use warpweft::error::{Error, Result};
use warpweft::machine::Machine;
use warpweft::report::Report;
use warpweft::wavefront::traceback::{self, Checkpoint, End, Partition, Traced};
use warpweft::wavefront::{
    Best, Border, Kept, Ranked, Tuned, Tuning, Wavefront, WavefrontElement, WavefrontExecutor,
};

use super::recurrences::{Unreached, by_form};
use super::{Aligned, Alignment, Executor, MEMORY, Scope, Scoring, Sequence, Tracing};

/// What is aligned.
pub(super) struct Problem<'a> {
    pub query: &'a Sequence,
    pub target: &'a Sequence,
    pub scoring: &'a Scoring,
    pub scope: Scope,
    /// How a path is looked for, if at all.
    pub tracing: Option<&'a Tracing>,
}

impl Problem<'_> {
    pub fn solve(&self, executor: &mut dyn Executor) -> Result<(Aligned, Report)> {
        let Self { query, target, scoring, scope, .. } = *self;
        scoring.check()?;
        scoring.check_pair(query, target, scope)?;
        by_form!(scoring, scope, target.is_plain(), |element, border| {
            self.run(element, border, executor)
        })
    }

    /// The fastest policy for its score.
    ///
    /// # Errors
    /// As [`Problem::solve`] and [`Wavefront::tune`].
    pub fn tune(&self, machine: &Machine, tuning: &Tuning) -> Result<Tuned> {
        let Self { query, target, scoring, scope, .. } = *self;
        scoring.check()?;
        scoring.check_pair(query, target, scope)?;
        let (of, keep) = ((query, target), scope.keeps()[0]);
        by_form!(scoring, scope, target.is_plain(), |element, border| {
            wavefront(element, of, border, scoring).keep(keep).tune(machine, tuning)
        })
    }

    fn run<E, X>(
        &self,
        element: E,
        border: Border<E::Cell>,
        executor: &mut X,
    ) -> Result<(Aligned, Report)>
    where
        E: Traced<Row = u8, Column = u8>,
        E::Cell: Ranked<Score = i32> + Unreached,
        X: WavefrontExecutor<E> + ?Sized,
    {
        let wavefront = wavefront(element, (self.query, self.target), border, self.scoring);
        let Some(tracing) = self.tracing else { return self.score(&wavefront, executor) };
        let Scope::Free(_) = self.scope else { return self.path(&wavefront, tracing, executor) };
        if tracing.checkpoint.is_some() {
            return Err(Error::spec(
                "a checkpoint of an alignment with free ends",
                "align locally or globally, or leave the checkpoint out",
            ));
        }
        let (found, report) = self.score(&wavefront, executor)?;
        let Alignment { query_end, target_end, .. } = found.alignment;
        let [query, target] = [self.query.first(query_end), self.target.first(target_end)];
        let wavefront = wavefront.rows(query.as_rows()).columns(target.as_columns());
        let up_to = Problem { query: &query, target: &target, ..*self };
        let (path, further) = up_to.path(&wavefront, tracing, executor)?;
        Ok((path, report.followed_by(&further)))
    }

    /// Score and end only.
    fn score<E, X>(
        &self,
        wavefront: &Wavefront<'_, E>,
        executor: &mut X,
    ) -> Result<(Aligned, Report)>
    where
        E: Traced,
        E::Cell: Ranked<Score = i32>,
        X: WavefrontExecutor<E> + ?Sized,
    {
        let (kept, report) = match self.scope.keeps() {
            &[keep] => {
                let (kept, report) = executor.run(&wavefront.clone().keep(keep))?;
                (vec![kept], report)
            }
            _ => {
                let keep = warpweft::wavefront::Keep::LastRow;
                let (edges, report) = executor.edges(&wavefront.clone().keep(keep))?;
                (vec![Kept::LastRow(edges.row), Kept::LastColumn(edges.column)], report)
            }
        };
        let found = found(self.scope, &kept, [self.query.len(), self.target.len()]);
        Ok(match found {
            Some(alignment) => (Aligned { alignment, ..Aligned::none() }, report),
            None => (Aligned::none(), report),
        })
    }

    /// The path to the last cell, or locally to the best.
    fn path<E, X>(
        &self,
        wavefront: &Wavefront<'_, E>,
        tracing: &Tracing,
        executor: &mut X,
    ) -> Result<(Aligned, Report)>
    where
        E: Traced<Row = u8, Column = u8>,
        E::Cell: Ranked<Score = i32>,
        X: WavefrontExecutor<E> + ?Sized,
    {
        let cell = size_of::<E::Cell>();
        // What a checkpoint holds must not depend on the machine.
        let within =
            if tracing.checkpoint.is_some() { Partition::within } else { Partition::fitting };
        let cut = tracing.cut.unwrap_or_else(|| within(MEMORY, wavefront.extents(), cell));
        let checkpoint = tracing.checkpoint.as_ref().map(|(directory, resume)| Checkpoint {
            directory: directory.clone(),
            resume: *resume,
            of: self.fingerprint(),
        });
        let end = end_of(self.scope);
        let (path, report) =
            traceback::trace(wavefront, end, tracing.way, &cut, checkpoint.as_ref(), executor)?;
        Ok((aligned(path.as_ref(), self.query, self.target, self.scope)?, report))
    }

    /// What a checkpoint is of.
    fn fingerprint(&self) -> String {
        let Self { query, target, scoring, scope, .. } = self;
        let matrix = scoring
            .matrix()
            .map_or(String::new(), |matrix| format!(" {} {:?}", matrix.name(), matrix.scores()));
        let weights = scoring.weights();
        let band = scoring.band().map_or(String::new(), |band| format!(" band {band}"));
        let [query, target] = [query, target].map(|sequence| sequence.fingerprint());
        format!("{scope:?} {weights:?}{matrix}{band} {query} {target}")
    }
}

/// The recurrence of a query and a target in the band of `scoring`, if it has one.
pub(super) fn wavefront<'a, E>(
    element: E,
    (query, target): (&'a Sequence, &'a Sequence),
    border: Border<E::Cell>,
    scoring: &Scoring,
) -> Wavefront<'a, E>
where
    E: WavefrontElement<Row = u8, Column = u8, Cell: Unreached>,
{
    let wavefront =
        Wavefront::of(element).rows(query.as_rows()).columns(target.as_columns()).border(border);
    match scoring.band() {
        None => wavefront,
        Some(band) => {
            let width = isize::try_from(band).unwrap_or(isize::MAX);
            wavefront.band(-width, width, E::Cell::UNREACHED)
        }
    }
}

/// Where a path ends whose sequences end with it, or which is local.
pub(super) fn end_of(scope: Scope) -> End {
    match scope {
        Scope::Local => End::Best,
        Scope::Global | Scope::Free(_) => End::Corner,
    }
}

/// The alignment along `path`; none locally where nothing scores.
///
/// # Errors
/// Too little memory.
pub(super) fn aligned(
    path: Option<&traceback::Path<i32>>,
    query: &Sequence,
    target: &Sequence,
    scope: Scope,
) -> Result<Aligned> {
    match path {
        Some(path) if scope != Scope::Local || path.score > 0 => {
            Aligned::of(path, query, target, scope)
        }
        _ => Ok(Aligned::none()),
    }
}

/// The alignment of a query and a target of these lengths that `kept` tells of, as [`Scope::keeps`] asked,
/// if any.
pub(super) fn found<C: Ranked<Score = i32>>(
    scope: Scope,
    kept: &[Kept<C>],
    [query_end, target_end]: [usize; 2],
) -> Option<Alignment> {
    let ends = scope.ends();
    let mut best: Option<Alignment> = None;
    let mut add = |score: i32, query_end: usize, target_end: usize| {
        let place = (query_end, target_end);
        let wins = best.is_none_or(|best| {
            score > best.score || score == best.score && place < (best.query_end, best.target_end)
        });
        if wins {
            best = Some(Alignment { score, query_end, target_end });
        }
    };
    for kept in kept {
        match kept {
            Kept::Best(Some(Best { score, row, column })) if *score > 0 => {
                add(*score, row + 1, column + 1);
            }
            Kept::LastRow(row) => {
                let free = ends.target[1];
                let first = if free { 0 } else { row.len() - 1 };
                for (j, cell) in row.iter().enumerate().skip(first) {
                    add(cell.score(), query_end, j + 1);
                }
            }
            Kept::LastColumn(column) => {
                for (i, cell) in column.iter().enumerate() {
                    add(cell.score(), i + 1, target_end);
                }
            }
            _ => {}
        }
    }
    best
}
