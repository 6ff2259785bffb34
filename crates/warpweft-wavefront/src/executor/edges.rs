//! The last row and the last column of a rectangle together, from any executor.

use super::WavefrontExecutor;
use crate::path::other;
use crate::recurrence::{Best, Ranked, WavefrontElement};
use crate::spec::{Keep, Kept, Wavefront};
use warpweft_core::error::Result;
use warpweft_core::report::Report;

/// What a block of a larger domain hands to its neighbours.
#[derive(Clone, Debug, PartialEq)]
pub struct Edges<C: Ranked> {
    /// The last row, one cell a column.
    pub row: Vec<C>,
    /// The last column, one cell a row.
    pub column: Vec<C>,
    /// The greatest or least score, if one was to be kept.
    pub best: Option<Best<C::Score>>,
    /// The sum of all scores, if it was.
    pub sum: Option<i128>,
}

/// The edges by a run for each: for executors that keep one thing a run.
pub(crate) fn edges_by_runs<E: WavefrontElement>(
    executor: &mut dyn WavefrontExecutor<E>,
    wavefront: &Wavefront<'_, E>,
) -> Result<(Edges<E::Cell>, Report)> {
    let mut run = |keep| executor.run(&wavefront.clone().keep(keep));
    let (Kept::LastRow(row), mut report) = run(Keep::LastRow)? else {
        return Err(other(Keep::LastRow));
    };
    let (Kept::LastColumn(column), further) = run(Keep::LastColumn)? else {
        return Err(other(Keep::LastColumn));
    };
    report = report.followed_by(&further);
    let mut edges = Edges { row, column, best: None, sum: None };
    if let Some(keep) = wavefront.keep.with_edges() {
        let (kept, further) = run(keep)?;
        report = report.followed_by(&further);
        match kept {
            Kept::Best(best) => edges.best = best,
            Kept::Sum(sum) => edges.sum = Some(sum),
            _ => return Err(other(keep)),
        }
    }
    Ok((edges, report))
}
