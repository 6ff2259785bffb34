//! Where many problems end, from any executor that runs batches.

use super::WavefrontExecutor;
use crate::path::{End, Score};
use crate::recurrence::{Best, Ranked, WavefrontElement};
use crate::report::TotalReport;
use crate::spec::Pairs;
use warpweft_core::error::Result;
use warpweft_core::memory::room;
use warpweft_core::report::Report;

/// The score of each of many problems and its position; `None` for a problem whose scores are all NaN.
pub type Ends<E> = (Vec<Option<Best<Score<E>>>>, Report);

/// The score of each of many problems; `None` for a problem whose scores are all NaN.
pub type Scores<E> = (Vec<Option<Score<E>>>, Report);

/// Cells of last rows that are kept at once.
const KEPT: usize = 1 << 24;
/// Problems of a batch at most.
const MOST: usize = 1 << 14;

/// The ends of `pairs` by batches.
pub(crate) fn ends_by_batches<E: WavefrontElement>(
    executor: &mut dyn WavefrontExecutor<E>,
    pairs: &Pairs<'_, E>,
    end: End,
) -> Result<Ends<E>> {
    pairs.check()?;
    let mut all = room(pairs.len(), "give fewer pairs at once")?;
    let mut total = TotalReport::default();
    while all.len() < pairs.len() {
        let (first, mut cells) = (all.len(), 0);
        let fits = |k: &usize| {
            cells += pairs.extents(*k)[1];
            *k == first || cells <= KEPT
        };
        let some = (first..pairs.len()).take(MOST).take_while(fits);
        let some: Vec<_> = some.map(|k| pairs.problem(k).keep(end.keep())).collect();
        let (kept, report) = executor.run_batch(&some)?;
        for (kept, problem) in kept.iter().zip(&some) {
            let found = end.of(kept, problem.extents())?;
            all.push(found.map(|(score, [row, column])| Best { score, row, column }));
        }
        total.add(report);
    }
    Ok((all, total.report()?))
}

/// The last cell of a problem as the end that it is.
pub(crate) fn corner<C: Ranked>(cell: &C, [rows, columns]: [usize; 2]) -> Best<C::Score> {
    Best { score: cell.score(), row: rows - 1, column: columns - 1 }
}
