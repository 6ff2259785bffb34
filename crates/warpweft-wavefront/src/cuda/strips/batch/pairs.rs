//! Problems that share their inputs: each sequence is copied to the GPU once, and one value comes back of each problem.

use super::launch::Done;
use super::place::{Around, Batch, Pooled, largest_first};
use super::text::{Problem, Wanted};
use super::{SMALL, Total};
use crate::cuda::filled::kept;
use crate::cuda::strips::executor::CudaExecutor;
use crate::cuda::strips::shape::{missing, possible};
use crate::executor::{Ends, corner, ends_by_batches};
use crate::frame::allocate;
use crate::recurrence::{Best, Extreme, WavefrontElement, bytes_of, bytes_of_mut};
use crate::report::unchecked;
use crate::spec::{Erased, Pairs};
use crate::traceback::{End, Score};
use warpweft_core::error::Result;
use warpweft_core::memory::room;

use crate::cuda::winner::winner;

impl CudaExecutor {
    /// As [`WavefrontExecutor::ends`](crate::WavefrontExecutor::ends).
    pub(in crate::cuda::strips) fn pair_ends<E: WavefrontElement>(
        &mut self,
        pairs: &Pairs<'_, E>,
        end: End,
    ) -> Result<Ends<E>> {
        pairs.check()?;
        let first = pairs.problem(0).keep(end.keep());
        let erased = first.erased();
        possible(&erased)?;
        let around = match (erased.border.corner(), erased.border.function()) {
            (Some(corner), _) => Around::Corners(corner.concat().into()),
            (None, Some(_)) => Around::Function(erased.border),
            (None, None) => return ends_by_batches(self, pairs, end),
        };
        let cells: Vec<_> = (0..pairs.len())
            .map(|k| {
                let [m, n] = pairs.extents(k);
                m as u64 * n as u64
            })
            .collect();
        let all = cells.iter().map(|&count| u128::from(count)).sum::<u128>();
        let fair = all / self.parts()? as u128;
        let large = |k: &usize| cells[*k] > SMALL && u128::from(cells[*k]) > fair;
        let large: Vec<_> = (0..pairs.len()).filter(large).collect();
        if large.len() == pairs.len() || missing(&erased).is_some() || erased.element.input > 0 {
            return ends_by_batches(self, pairs, end);
        }
        let mut found: Vec<Option<Best<Score<E>>>> = room(pairs.len(), "give fewer pairs at once")?;
        let mut total = Total::default();
        let small = (pairs, &large[..], &cells[..]);
        let batch = batch_of(small, &erased, Wanted::of(end), around);
        let mut corners: Vec<E::Cell> = allocate(batch.kept)?;
        let Done { found: winners, report, .. } =
            self.launch(batch, None, bytes_of_mut(&mut corners), unchecked(&erased))?;
        total.add(report);
        match end {
            End::Corner => {
                let each = corners.iter().enumerate();
                found.extend(each.map(|(k, cell)| Some(corner(cell, pairs.extents(k)))));
            }
            End::Best => {
                found.extend(winners.chunks(1).map(|one| winner(one, Extreme::Greatest)));
            }
        }
        for k in large {
            let problem = pairs.problem(k).keep(end.keep());
            let erased = problem.erased();
            let mut cells: Vec<E::Cell> = allocate(erased.kept_cells())?;
            let (winners, report) = self.fill(&erased, bytes_of_mut(&mut cells))?;
            let kept = kept(erased.keep, &winners, cells);
            let ended = end.of(&kept, erased.extents)?;
            found[k] = ended.map(|(score, [row, column])| Best { score, row, column });
            total.add(report);
        }
        Ok((found, total.report()?))
    }
}

/// The problems of `pairs` but the `large` ones, which have so many `cells`; `wanted` of each goes to its number.
fn batch_of<'b, E: WavefrontElement>(
    (pairs, large, cells): (&'b Pairs<'_, E>, &[usize], &[u64]),
    first: &'b Erased<'_>,
    wanted: Wanted,
    border: Around<'b>,
) -> Batch<'b> {
    let rows = pairs.rows.iter().map(|one| (bytes_of(one), one.len()));
    let columns = pairs.columns.iter().map(|one| (bytes_of(one), one.len()));
    let ((rows, row_firsts), (columns, column_firsts)) = (Pooled::all(rows), Pooled::all(columns));
    let place = |k: u32| {
        let [a, b] = pairs.pairs[k as usize];
        let [m, n] = pairs.extents(k as usize);
        Problem {
            rows: row_firsts[a as usize],
            columns: column_firsts[b as usize],
            kept: k.into(),
            directions: 0,
            row_count: m as i32,
            column_count: n as i32,
        }
    };
    let order = largest_first(cells).into_iter();
    let problems = order.filter(|&k| large.binary_search(&(k as usize)).is_err()).map(place);
    Batch {
        element: &first.element,
        wanted,
        problems: problems.collect(),
        rows,
        columns,
        elements: first.parameters.into(),
        border,
        each: false,
        kept: if wanted == Wanted::Corner { pairs.len() } else { 0 },
        results: pairs.len(),
    }
}
