//! The series of a set that are nearest to a query. For most of them a lower bound of the distance
//! is computed, not the distance.

use std::collections::VecDeque;

use warpweft::error::{Error, Result};
use warpweft::prelude::*;
use warpweft::report::Report;
use warpweft::wavefront::TotalReport;

use super::many::sums;
use super::{Executor, Measure, Sample, check, check_all};
use crate::errors::about;

/// The least number of series in the first batch; each further batch is twice as large.
const FIRST: usize = 256;

/// A series of a set, and its distance from the query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour<T> {
    /// Its index in the set.
    pub index: usize,
    /// Its distance.
    pub distance: T,
}

/// How many series were left out because a lower bound of their distance exceeds the distance of
/// the last neighbour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Left out by LB_Kim: the sum of the costs of the first and the last pair.
    pub kim: usize,
    /// Left out by LB_Keogh, but not by LB_Kim. LB_Keogh adds up, for each sample of the query,
    /// its cost against the envelope of the samples that it may be paired with.
    pub keogh: usize,
}

/// The lower bounds LB_Kim and LB_Keogh of the distance of `query` and `series`. Neither exceeds
/// what [`distance`] computes: each is lowered by the rounding error that its sum may have.
///
/// LB_Kim uses only the first and the last pair (Kim, Park and Chu 2001, without the extrema).
/// LB_Keogh (Keogh 2002) uses an envelope of the series, found with Lemire's queue (2009). Without
/// a constraint the envelope is the least and the greatest sample.
///
/// [`distance`]: super::distance
///
/// # Errors
/// As [`distance`].
pub fn lower_bounds<T: Sample>(query: &[T], series: &[T], measure: Measure) -> Result<[f64; 2]> {
    check("A", query)?;
    check("B", series)?;
    Ok(costs(query, series, measure)?.map(|sum| measure.cost.distance(sum)))
}

/// The same bounds, of the sums of costs.
fn costs<T: Real>(query: &[T], series: &[T], measure: Measure) -> Result<[f64; 2]> {
    let (m, n) = (query.len(), series.len());
    let cost = |a: T, b: T| measure.cost.of(Scalar::to_f64(a), Scalar::to_f64(b));
    let first = cost(query[0], series[0]);
    let kim = if m + n == 2 { first } else { first + cost(query[m - 1], series[n - 1]) };
    let whole = [1 - m as isize, n as isize - 1];
    let diagonals = measure.within.diagonals([m, n])?.unwrap_or(whole);
    let envelopes = envelopes(series, diagonals, m);
    let outside = query.iter().zip(envelopes).map(|(&a, [low, high])| match a {
        _ if a < low => cost(a, low),
        _ if a > high => cost(a, high),
        _ => 0.0,
    });
    let keogh = outside.sum::<f64>();
    let unit = if size_of::<T>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let lowered = (1.0 - (m + n + 4) as f64 * unit).max(0.0);
    Ok([kim, keogh].map(|sum| sum * lowered))
}

/// For each of `rows` samples of a query, the least and the greatest sample of `series` that the
/// diagonals allow it to be paired with.
fn envelopes<T: Real>(series: &[T], [lower, upper]: [isize; 2], rows: usize) -> Vec<[T; 2]> {
    let n = series.len() as isize;
    // Places of samples that none behind them is beyond, in the window so far.
    let mut queues = [VecDeque::new(), VecDeque::new()];
    let mut next = 0;
    (0..rows as isize)
        .map(|i| {
            let (first, end) = ((i + lower).max(0), (i + upper + 1).clamp(1, n));
            while next < end {
                let sample = series[next as usize];
                let beyond: [fn(T, T) -> bool; 2] = [|a, b| a <= b, |a, b| a >= b];
                for (queue, beyond) in queues.iter_mut().zip(beyond) {
                    while queue
                        .back()
                        .is_some_and(|&at: &isize| beyond(sample, series[at as usize]))
                    {
                        queue.pop_back();
                    }
                    queue.push_back(next);
                }
                next += 1;
            }
            queues.each_mut().map(|queue| {
                while queue.len() > 1 && queue[0] < first {
                    queue.pop_front();
                }
                series[queue[0] as usize]
            })
        })
        .collect()
}

/// The `count` series of `set` that are nearest to `query`, nearest first, and how many series
/// were left out by lower bounds. Of equally near series the one with the lower index comes first.
/// The result is the same as if all distances were computed.
///
/// # Errors
/// `count` is 0, or the set is empty; as [`distance`](super::distance) for each series. The error
/// names a series by its index, counted from 0.
pub fn nearest<T: Sample>(
    query: &[T],
    set: &[&[T]],
    measure: Measure,
    count: usize,
    executor: &mut dyn Executor<T>,
) -> Result<(Vec<Neighbour<T>>, LeftOut, Report)> {
    check("A", query)?;
    check_all(set)?;
    if count == 0 || set.is_empty() {
        let what = format!("{count} neighbours among {} series", set.len());
        return Err(Error::spec(what, "ask for at least one neighbour among at least one series"));
    }
    let of = |(k, series): (usize, &&[T])| {
        costs(query, series, measure).map_err(|error| about(format!("series {k}"), error))
    };
    let bounds = set.iter().enumerate().map(of).collect::<Result<Vec<_>>>()?;
    let bound = |k: usize| bounds[k][0].max(bounds[k][1]);
    let mut order: Vec<_> = (0..set.len()).collect();
    order.sort_by(|&a, &b| bound(a).total_cmp(&bound(b)).then(a.cmp(&b)));
    let mut best: Vec<(T, usize)> = Vec::new();
    let mut total = TotalReport::default();
    let (mut rest, mut most) = (&order[..], FIRST.max(count));
    let mut worst = f64::INFINITY;
    loop {
        let within = rest.partition_point(|&k| bound(k) <= worst).min(most);
        let (batch, further) = rest.split_at(within);
        if batch.is_empty() {
            break;
        }
        let pairs: Vec<_> = batch.iter().map(|&k| [0, k as u32]).collect();
        let (found, report) = sums([&[query], set], &pairs, measure, executor)?;
        best.extend(found.into_iter().zip(batch.iter().copied()));
        best.sort_by(|a, b| {
            Scalar::to_f64(a.0).total_cmp(&Scalar::to_f64(b.0)).then(a.1.cmp(&b.1))
        });
        best.truncate(count);
        if best.len() == count {
            worst = Scalar::to_f64(best[count - 1].0);
        }
        total.add(report);
        (rest, most) = (further, 2 * most);
    }
    let kim = rest.iter().filter(|&&k| bounds[k][0] > worst).count();
    let left_out = LeftOut { kim, keogh: rest.len() - kim };
    let distance = |(sum, index)| Neighbour { index, distance: measure.cost.distance(sum) };
    Ok((best.into_iter().map(distance).collect(), left_out, total.report()?))
}
