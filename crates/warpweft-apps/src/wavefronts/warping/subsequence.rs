//! Search for a short series in a long one: the parts of the long one that are nearest to the
//! short one.

use warpweft::error::{Error, Result};
use warpweft::prelude::*;
use warpweft::report::Report;
use warpweft::wavefront::traceback::{Traced, Way};
use warpweft::wavefront::{Kept, WavefrontExecutor};

use super::pair::{pairs, trace};
use super::{Cost, Executor, Sample, check};

/// A part of a series that is near to a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Match<T> {
    /// The distance between the whole query and the part.
    pub distance: T,
    /// The index of the first sample of the part.
    pub start: usize,
    /// The index after its last sample.
    pub end: usize,
    /// The pairs of a best path, from the first to the last: an index in the query and one in the
    /// series.
    pub pairs: Vec<[usize; 2]>,
}

/// The `count` parts of `series` that are nearest to the whole of `query`, nearest first. A part
/// that overlaps a nearer one is left out, so there may be fewer than `count`. Of equally near
/// parts the one that ends first comes first.
///
/// In dtaidistance: `subsequence_alignment(query, series, penalty=0)`, then
/// `kbest_matches(overlap=0)`.
///
/// Complexity: query × series cells, and as many again for each part that is examined.
///
/// # Errors
/// As [`check`]; `count` is 0; the executor's.
pub fn matches<T: Sample>(
    query: &[T],
    series: &[T],
    cost: Cost,
    count: usize,
    executor: &mut dyn Executor<T>,
) -> Result<(Vec<Match<T>>, Report)> {
    check("A", query)?;
    check("B", series)?;
    if count == 0 {
        return Err(Error::spec("0 matches", "ask for at least one"));
    }
    let search = Search { query, series, cost, count };
    match cost {
        Cost::Absolute => search.run(T::absolute(), executor),
        Cost::Squared => search.run(T::squared(), executor),
    }
}

/// A search with its inputs.
struct Search<'s, T> {
    query: &'s [T],
    series: &'s [T],
    cost: Cost,
    count: usize,
}

/// The border, which is zero above the first row: a path may begin at any sample of the series.
fn border<T: Real>() -> Border<T> {
    Border::function(|i, _| T::lit(if i == -1 { 0.0 } else { f64::INFINITY }))
}

impl<'s, T: Sample> Search<'s, T> {
    /// The recurrence up to the sample before `end`.
    fn up_to<E>(&self, element: E, end: usize) -> Wavefront<'s, E>
    where
        E: Traced<Cell = T, Row = T, Column = T>,
    {
        Wavefront::of(element)
            .rows(self.query)
            .columns(&self.series[..end])
            .border(border())
            .keep(Keep::LastRow)
    }

    fn run<E, X>(&self, element: E, executor: &mut X) -> Result<(Vec<Match<T>>, Report)>
    where
        E: Traced<Cell = T, Row = T, Column = T>,
        X: WavefrontExecutor<E> + ?Sized,
    {
        let (kept, mut report) = executor.run(&self.up_to(element, self.series.len()))?;
        let Kept::LastRow(mut sums) = kept else {
            return Err(Error::spec("no last row came back", "report this as a bug"));
        };
        let infinity = T::lit(f64::INFINITY);
        let mut found: Vec<Match<T>> = Vec::new();
        while found.len() < self.count
            && let Some(at) = least(&sums)
        {
            let wavefront = self.up_to(element, at + 1);
            let (path, further) = trace(&wavefront, Way::Auto, None, executor)?;
            report = report.followed_by(&further);
            let pairs = pairs(&path)?;
            let start = pairs.first().map_or(at, |pair| pair[1]);
            if found.iter().any(|other| start < other.end && other.start <= at) {
                sums[at] = infinity;
                continue;
            }
            sums[start..=at].fill(infinity);
            let distance = self.cost.distance(path.score);
            found.push(Match { distance, start, end: at + 1, pairs });
        }
        Ok((found, report))
    }
}

/// The index of the least sum, the first of equal ones; `None` if no sum is finite.
fn least<T: Real>(sums: &[T]) -> Option<usize> {
    let mut least: Option<usize> = None;
    for (at, sum) in sums.iter().enumerate() {
        let finite = Scalar::to_f64(*sum).is_finite();
        if finite && least.is_none_or(|least| *sum < sums[least]) {
            least = Some(at);
        }
    }
    least
}
