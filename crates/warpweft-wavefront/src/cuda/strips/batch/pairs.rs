//! Problems that share their inputs: each sequence is copied to the GPU once, and one value comes back of each problem.

use super::SMALL;
use super::launch::Done;
use super::place::{Around, Batch, Pooled, Sizes, largest_first};
use super::search::Searched;
use super::text::{Problem, Wanted};
use crate::cuda::filled::{Take, TakeEnds};
use crate::cuda::strips::executor::CudaExecutor;
use crate::cuda::strips::shape::possible;
use crate::executor::{Ends, Scores, ends_by_batches};
use crate::recurrence::WavefrontElement;
use crate::report::{TotalReport, unchecked};
use crate::spec::{Erased, ErasedPairs, Keep, Pairs};
use crate::traceback::End;
use warpweft_core::error::Result;
use warpweft_core::report::Report;

impl CudaExecutor {
    /// As [`WavefrontExecutor::ends`](crate::WavefrontExecutor::ends).
    pub(in crate::cuda::strips) fn pair_ends<E: WavefrontElement>(
        &mut self,
        pairs: &Pairs<'_, E>,
        end: End,
    ) -> Result<Ends<E>> {
        pairs.check()?;
        let first = pairs.problem(0);
        let mut take = TakeEnds::<E::Cell, _, _>::of(pairs.len(), |best| best)?;
        let none = vec![false; pairs.len()];
        match self.found(pairs, &first.erased(), Wanted::of(end), &none, &mut take)? {
            Some(report) => Ok((take.all(pairs.len()), TotalReport(report).report()?)),
            None => ends_by_batches(self, pairs, end),
        }
    }

    /// As [`WavefrontExecutor::scores`](crate::WavefrontExecutor::scores).
    pub(in crate::cuda::strips) fn pair_scores<E: WavefrontElement>(
        &mut self,
        pairs: &Pairs<'_, E>,
        end: End,
    ) -> Result<Scores<E>> {
        pairs.check()?;
        let first = pairs.problem(0);
        let first = first.erased();
        possible(&first)?;
        let mut total = TotalReport::default();
        let mut take = TakeEnds::<E::Cell, _, _>::of(pairs.len(), |best| best.score)?;
        let mut done = vec![];
        if end == End::Best
            && let Some(found) = self.search(pairs, &first, &mut |scores| take.scores(scores))?
        {
            let Searched { done: some, report } = found;
            total.add(report);
            let Some(some) = some else { return Ok((take.ends, total.report()?)) };
            done = some;
        }
        done.resize(pairs.len(), false);
        let wanted = match end {
            End::Best => Wanted::Keep(Keep::Score),
            End::Corner => Wanted::Corner,
        };
        let Some(report) = self.found(pairs, &first, wanted, &done, &mut take)? else {
            let (ends, report) = ends_by_batches(self, pairs, end)?;
            return Ok((ends.into_iter().map(|end| end.map(|end| end.score)).collect(), report));
        };
        if let Some(report) = report {
            total.add(report);
        }
        Ok((take.all(pairs.len()), total.report()?))
    }

    /// Gives `take` what is `wanted` of all of `pairs` but those that are `done`; `first` is the first of them. A report of
    /// those that were computed; none if the kernel can't run them.
    fn found(
        &mut self,
        pairs: &dyn ErasedPairs,
        first: &Erased<'_>,
        wanted: Wanted,
        done: &[bool],
        take: &mut dyn Take,
    ) -> Result<Option<Option<Report>>> {
        let keep = wanted.keep();
        let erased = Erased { keep, ..first.clone() };
        possible(&erased)?;
        let around = match (erased.border.corner(), erased.border.function()) {
            (Some(corner), _) => Around::Corners(corner.concat().into()),
            (None, Some(_)) => Around::Function(erased.border),
            (None, None) => return Ok(None),
        };
        let [large, small] = sizes(pairs, done, self.parts()?);
        if erased.element.input > 0 {
            return Ok(None);
        }
        let mut total = TotalReport::default();
        if !small.is_empty() {
            let batch = batch_of(pairs, &small, &erased, wanted, around);
            let corners = take.cells(batch.kept)?;
            let Done { found, report, .. } =
                self.launch(batch, None, corners, unchecked(&erased))?;
            total.add(report);
            for k in (0..pairs.len()).filter(|&k| !done[k]) {
                let winners = found.get(k..=k).unwrap_or_default();
                take.take(k, keep, winners, k..k + 1, pairs.extents(k));
            }
        }
        for k in large.into_iter().map(|k| k as usize) {
            pairs.problem(k, keep, &mut |problem| {
                total.add(self.one_of(problem, k, take)?);
                Ok(())
            })?;
        }
        Ok(Some(total.0))
    }
}

/// The numbers of those of `pairs` that are not `done`: of such as would keep one of `parts` parts of a device busy when all
/// others are done, and of the rest, the largest first.
fn sizes(pairs: &dyn ErasedPairs, done: &[bool], parts: usize) -> [Vec<u32>; 2] {
    let of = |k: usize| {
        let [m, n] = pairs.extents(k);
        m as u64 * n as u64
    };
    let cells: Vec<_> = (0..pairs.len()).map(of).collect();
    let all = cells.iter().map(|&count| u128::from(count)).sum::<u128>();
    let most = cells.iter().max().copied().unwrap_or(0);
    let limit = u128::from(SMALL).max(all / parts.max(1) as u128);
    let order = largest_first(&cells);
    if u128::from(most) <= limit && !done.contains(&true) {
        return [Vec::new(), order];
    }
    let left = order.into_iter().filter(|&k| !done[k as usize]);
    let (large, small) = left.partition(|&k| u128::from(cells[k as usize]) > limit);
    [large, small]
}

/// Which rows and which columns the pairs numbered `some` name. Of a set that is both, either: it is then copied once, though
/// the first of all its pairs names no column and the last no row.
fn named(pairs: &dyn ErasedPairs, some: &[u32]) -> [Vec<bool>; 2] {
    let mut named = pairs.counts().map(|count| vec![false; count]);
    let each = pairs.pairs();
    for &k in some {
        let sides = each[k as usize];
        named.iter_mut().zip(sides).for_each(|(named, side)| named[side as usize] = true);
    }
    let [rows, columns] = pairs.counts();
    if rows == columns && (0..rows).all(|k| std::ptr::eq(pairs.rows(k).0, pairs.columns(k).0)) {
        let [rows, columns] = &mut named;
        rows.iter_mut().zip(columns.iter()).for_each(|(row, column)| *row |= column);
        columns.clone_from(rows);
    }
    named
}

/// The sequences that are `named`, and how many items each has; the others are empty.
fn those<'b>(
    sequence: impl Fn(usize) -> (&'b [u8], usize),
    named: Vec<bool>,
) -> impl Iterator<Item = (&'b [u8], usize)> {
    let empty = (&[][..], 0);
    named.into_iter().enumerate().map(move |(k, named)| if named { sequence(k) } else { empty })
}

/// Those of `pairs` that are numbered `some`, the largest first; what is `wanted` of each goes to its number.
fn batch_of<'b>(
    pairs: &'b dyn ErasedPairs,
    some: &[u32],
    first: &'b Erased<'_>,
    wanted: Wanted,
    border: Around<'b>,
) -> Batch<'b> {
    let [rows, columns] = named(pairs, some);
    let rows = those(|k| pairs.rows(k), rows);
    let columns = those(|k| pairs.columns(k), columns);
    let ((rows, row_firsts), (columns, column_firsts)) = (Pooled::all(rows), Pooled::all(columns));
    let mut sizes = Sizes::default();
    let each = pairs.pairs();
    let place = |&k: &u32| {
        let [a, b] = each[k as usize];
        let [m, n] = pairs.extents(k as usize);
        sizes.add([m, n]);
        Problem {
            rows: row_firsts[a as usize],
            columns: column_firsts[b as usize],
            kept: k.into(),
            directions: 0,
            row_count: m as i32,
            column_count: n as i32,
        }
    };
    let problems = some.iter().map(place).collect();
    Batch {
        element: &first.element,
        wanted,
        problems,
        rows,
        columns,
        elements: first.parameters.into(),
        tables: first.tables.clone(),
        border,
        each: false,
        sizes,
        kept: if wanted == Wanted::Corner { pairs.len() } else { 0 },
        results: pairs.len(),
    }
}
