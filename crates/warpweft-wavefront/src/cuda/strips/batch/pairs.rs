//! Problems that share their inputs: each sequence is copied to the GPU once, and one value comes back of each problem.

use super::SMALL;
use super::launch::Done;
use super::place::{Around, Batch, Pooled, Sizes, largest_first};
use super::search::Searched;
use super::text::{Problem, Wanted};
use crate::cuda::filled::kept;
use crate::cuda::strips::executor::CudaExecutor;
use crate::cuda::strips::shape::possible;
use crate::cuda::winner::winner;
use crate::executor::{Ends, Scores, corner, ends_by_batches};
use crate::frame::allocate;
use crate::recurrence::{Best, Extreme, WavefrontElement, bytes_of, bytes_of_mut};
use crate::report::{TotalReport, unchecked};
use crate::spec::{Erased, Keep, Kept, Pairs};
use crate::traceback::{End, Score};
use warpweft_core::error::Result;
use warpweft_core::memory::room;
use warpweft_core::report::Report;

/// What is found of each problem, if anything is; a report of those that were computed.
type Found<R> = (Vec<Option<R>>, Option<Report>);

impl CudaExecutor {
    /// As [`WavefrontExecutor::ends`](crate::WavefrontExecutor::ends).
    pub(in crate::cuda::strips) fn pair_ends<E: WavefrontElement>(
        &mut self,
        pairs: &Pairs<'_, E>,
        end: End,
    ) -> Result<Ends<E>> {
        pairs.check()?;
        let none = vec![false; pairs.len()];
        match self.found(pairs, Wanted::of(end), &none, |best| best)? {
            Some((found, report)) => Ok((found, TotalReport(report).report()?)),
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
        let (mut done, mut scores) = (vec![], vec![]);
        let searched = if end == End::Best { self.search(pairs, &first)? } else { None };
        match searched {
            Some(Searched { done: None, scores, report }) => return Ok((scores, report)),
            Some(Searched { done: Some(some), scores: found, report }) => {
                (done, scores) = (some, found);
                total.add(report);
            }
            None => done.resize(pairs.len(), false),
        }
        let wanted = match end {
            End::Best => Wanted::Keep(Keep::Score),
            End::Corner => Wanted::Corner,
        };
        let Some((found, report)) = self.found(pairs, wanted, &done, |best| best.score)? else {
            let (ends, report) = ends_by_batches(self, pairs, end)?;
            return Ok((ends.into_iter().map(|end| end.map(|end| end.score)).collect(), report));
        };
        if let Some(report) = report {
            total.add(report);
        }
        if scores.is_empty() {
            return Ok((found, total.report()?));
        }
        for ((score, found), done) in scores.iter_mut().zip(found).zip(done) {
            if !done {
                *score = found;
            }
        }
        Ok((scores, total.report()?))
    }

    /// What is `wanted` of all of `pairs` but those that are `done`, of which nothing is found, as `of` makes it of an end;
    /// none if the kernel can't run them.
    fn found<E: WavefrontElement, R: Clone>(
        &mut self,
        pairs: &Pairs<'_, E>,
        wanted: Wanted,
        done: &[bool],
        of: impl Fn(Best<Score<E>>) -> R,
    ) -> Result<Option<Found<R>>> {
        let first = pairs.problem(0).keep(wanted.keep());
        let erased = first.erased();
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
        let mut found: Vec<Option<R>> = room(pairs.len(), "give fewer pairs at once")?;
        let mut total = TotalReport::default();
        if small.is_empty() {
            found.resize(pairs.len(), None);
        } else {
            let batch = batch_of(pairs, &small, &erased, wanted, around);
            let mut corners: Vec<E::Cell> = allocate(batch.kept)?;
            let Done { found: winners, report, .. } =
                self.launch(batch, None, bytes_of_mut(&mut corners), unchecked(&erased))?;
            total.add(report);
            match wanted {
                Wanted::Corner => {
                    let each = corners.iter().enumerate();
                    found.extend(each.map(|(k, cell)| Some(of(corner(cell, pairs.extents(k))))));
                }
                Wanted::Keep(_) => {
                    let each = winners.chunks(1).map(|one| winner(one, Extreme::Greatest));
                    found.extend(each.map(|best| best.map(&of)));
                }
            }
        }
        for k in large.into_iter().map(|k| k as usize) {
            let problem = pairs.problem(k).keep(wanted.keep());
            let erased = problem.erased();
            let mut cells: Vec<E::Cell> = allocate(erased.kept_cells())?;
            let (winners, report) = self.fill(&erased, bytes_of_mut(&mut cells))?;
            let best = match kept(erased.keep, &winners, cells) {
                Kept::Best(best) => best,
                Kept::Score(score) => score.map(|score| Best { score, row: 0, column: 0 }),
                Kept::LastRow(row) => row.last().map(|cell| corner(cell, erased.extents)),
                _ => None,
            };
            found[k] = best.map(&of);
            total.add(report);
        }
        Ok(Some((found, total.0)))
    }
}

/// The numbers of those of `pairs` that are not `done`: of such as would keep one of `parts` parts of a device busy when all
/// others are done, and of the rest, the largest first.
fn sizes<E: WavefrontElement>(pairs: &Pairs<'_, E>, done: &[bool], parts: usize) -> [Vec<u32>; 2] {
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
fn named<E: WavefrontElement>(pairs: &Pairs<'_, E>, some: &[u32]) -> [Vec<bool>; 2] {
    let mut named = [pairs.rows.len(), pairs.columns.len()].map(|count| vec![false; count]);
    for &k in some {
        let sides = pairs.pairs[k as usize];
        named.iter_mut().zip(sides).for_each(|(named, side)| named[side as usize] = true);
    }
    let mut sides = pairs.rows.iter().zip(pairs.columns);
    let same = sides.all(|(a, b)| std::ptr::eq(bytes_of(a), bytes_of(b)));
    if let [rows, columns] = &mut named
        && same
        && rows.len() == columns.len()
    {
        rows.iter_mut().zip(columns.iter()).for_each(|(row, column)| *row |= column);
        columns.clone_from(rows);
    }
    named
}

/// `sequences`, and how many items each has: those that are not `named` as empty ones.
fn those<'b, T: Copy>(
    sequences: &'b [&'b [T]],
    named: Vec<bool>,
) -> impl Iterator<Item = (&'b [u8], usize)> {
    sequences
        .iter()
        .zip(named)
        .map(|(one, named)| if named { *one } else { &[] })
        .map(|one| (bytes_of(one), one.len()))
}

/// Those of `pairs` that are numbered `some`, the largest first; what is `wanted` of each goes to its number.
fn batch_of<'b, E: WavefrontElement>(
    pairs: &'b Pairs<'_, E>,
    some: &[u32],
    first: &'b Erased<'_>,
    wanted: Wanted,
    border: Around<'b>,
) -> Batch<'b> {
    let [rows, columns] = named(pairs, some);
    let (rows, columns) = (those(&pairs.rows, rows), those(pairs.columns, columns));
    let ((rows, row_firsts), (columns, column_firsts)) = (Pooled::all(rows), Pooled::all(columns));
    let mut sizes = Sizes::default();
    let place = |&k: &u32| {
        let [a, b] = pairs.pairs[k as usize];
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
