//! Search for a short series in a long one: the parts of the long one that are nearest to the
//! short one.

use std::collections::BTreeMap;

use warpweft::error::{Error, Result};
use warpweft::memory::filled;
use warpweft::prelude::*;
use warpweft::report::Report;
use warpweft::wavefront::traceback::{Traced, Way};
use warpweft::wavefront::{Kept, Ranked, WavefrontElement, WavefrontExecutor};

use super::pair::{pairs, trace};
use super::{Cost, Executor, PartCell, Sample, check};

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
/// Complexity: query × series cells, and for the path of each match query × its samples. Memory for two numbers and an
/// index for each sample of the series.
///
/// # Errors
/// As [`check`]; `count` is 0; a series of `f32` of 2^31 − 2^23 samples or more; the executor's.
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
    if series.len() > T::PartCell::MOST {
        let what = format!("series B has {} samples, limit {}", series.len(), T::PartCell::MOST);
        return Err(Error::spec(what, "search parts of the series one after another"));
    }
    let (parts, mut report) = match cost {
        Cost::Absolute => parts(T::absolute_part(), [query, series], count, executor)?,
        Cost::Squared => parts(T::squared_part(), [query, series], count, executor)?,
    };
    let mut found = Vec::new();
    for [start, end] in parts {
        let of = [query, &series[start..end]];
        let (path, further) = match cost {
            Cost::Absolute => path(T::absolute(), of, executor)?,
            Cost::Squared => path(T::squared(), of, executor)?,
        };
        report = report.followed_by(&further);
        let (sum, pairs) = path;
        let pairs = pairs.into_iter().map(|[i, j]| [i, start + j]).collect();
        found.push(Match { distance: cost.distance(sum), start, end, pairs });
    }
    Ok((found, report))
}

/// The border, which is `first(j)` above column `j`, where a path may begin, and `rest` elsewhere.
fn border<C: Ranked>(first: impl Fn(isize) -> C + Send + Sync + 'static, rest: C) -> Border<C> {
    Border::function(move |i, j| if i == -1 { first(j) } else { rest })
}

/// The first index of the nearest parts and the index after their last, nearest first: in one pass, whose last row
/// tells of each sample where the best part that ends there begins.
fn parts<T: Sample, E, X>(
    element: E,
    [query, series]: [&[T]; 2],
    count: usize,
    executor: &mut X,
) -> Result<(Vec<[usize; 2]>, Report)>
where
    E: WavefrontElement<Cell = T::PartCell, Row = T, Column = T>,
    X: WavefrontExecutor<E> + ?Sized,
{
    let infinity = T::lit(f64::INFINITY);
    let begins = |j: isize| T::PartCell::new(T::default(), (j + 1) as usize);
    let wavefront = Wavefront::of(element)
        .rows(query)
        .columns(series)
        .border(border(begins, T::PartCell::new(infinity, 0)))
        .keep(Keep::LastRow);
    let (kept, report) = executor.run(&wavefront)?;
    let Kept::LastRow(cells) = kept else {
        return Err(Error::spec("no last row came back", "report this as a bug"));
    };
    let cost = |at: usize| Scalar::to_f64(cells[at].score());
    let mut order = filled(0..cells.len(), "search a shorter series")?;
    order.retain(|&at| cost(at).is_finite());
    order.sort_unstable_by(|&a, &b| cost(a).total_cmp(&cost(b)).then(a.cmp(&b)));
    let mut found = Vec::new();
    // The parts found, which do not overlap: the end of each by its beginning.
    let mut taken = BTreeMap::new();
    for at in order {
        if found.len() == count {
            break;
        }
        let start = cells[at].start();
        let last = taken.range(..=at).next_back();
        if last.is_none_or(|(_, &end)| end <= start) {
            taken.insert(start, at + 1);
            found.push([start, at + 1]);
        }
    }
    Ok((found, report))
}

/// The sum along a path, and its pairs.
type Part<T> = (T, Vec<[usize; 2]>);

/// The sum and the pairs of the best path to the end of `part`, which begins at its first sample: cells before it do
/// not change this path, so its whole table is that of the query and the part.
fn path<T: Sample, E, X>(
    element: E,
    [query, part]: [&[T]; 2],
    executor: &mut X,
) -> Result<(Part<T>, Report)>
where
    E: Traced<Cell = T, Row = T, Column = T>,
    X: WavefrontExecutor<E> + ?Sized,
{
    let border = border(|_| T::default(), T::lit(f64::INFINITY));
    let wavefront = Wavefront::of(element).rows(query).columns(part).border(border);
    let (path, report) = trace(&wavefront.keep(Keep::LastRow), Way::Auto, None, executor)?;
    Ok(((path.score, pairs(&path)?), report))
}
