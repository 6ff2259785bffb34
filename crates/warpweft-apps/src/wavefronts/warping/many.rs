//! Many series: the distances of all pairs.

use warpweft::error::{Error, Result};
use warpweft::memory::room;
use warpweft::report::Report;
use warpweft::wavefront::{Wavefront, WavefrontElement, WavefrontExecutor};

use super::pair::{last, wavefront};
use super::{Cost, Executor, Measure, Sample, check_all};

/// The number of last-row cells that are kept at once.
const KEPT: usize = 1 << 25;
/// The least number of pairs in a batch.
const FEWEST: usize = 64;

/// The index in condensed form of the distance of series `i` and `j` of `count` series; `i < j`.
pub fn condensed(count: usize, [i, j]: [usize; 2]) -> usize {
    i * (2 * count - i - 1) / 2 + (j - i - 1)
}

/// The distances of all pairs of `series`, in condensed form: of 0 and 1, 0 and 2, .., 1 and 2, ..
/// This is the order of SciPy's `pdist` and of dtaidistance's `distance_matrix(compact=True)`.
/// `progress` gets the number of pairs done and of all pairs.
///
/// Complexity: for each pair the product of the lengths; memory for the distances and about 2^25
/// cells.
///
/// # Errors
/// Fewer than two series; as [`distance`](super::distance) for each pair. The error names a series
/// by its index, counted from 0.
pub fn distances<T: Sample>(
    series: &[&[T]],
    measure: Measure,
    progress: &dyn Fn(usize, usize),
    executor: &mut dyn Executor<T>,
) -> Result<(Vec<T>, Report)> {
    check_all(series)?;
    let count = series.len();
    if count < 2 {
        return Err(Error::spec(format!("the distances of {count} series"), "give at least two"));
    }
    let pairs = count.checked_mul(count - 1).map_or(usize::MAX, |twice| twice / 2);
    let mut all = room(pairs, "compare fewer series")?;
    let longest = series.iter().map(|series| series.len()).max().unwrap_or(1);
    let most = (KEPT / longest).max(FEWEST);
    let mut total: Option<Report> = None;
    let mut next = (0..count).flat_map(|i| (i + 1..count).map(move |j| [i, j]));
    while all.len() < pairs {
        let some: Vec<_> = next.by_ref().take(most).map(|pair| pair.map(|k| series[k])).collect();
        let (found, report) = sums(&some, measure, executor)?;
        all.extend(found.into_iter().map(|sum| measure.cost.distance(sum)));
        total = Some(match total {
            Some(total) => total.followed_by(&report),
            None => report,
        });
        progress(all.len(), pairs);
    }
    let nothing = || Error::spec("no pair of series", "report this as a bug");
    Ok((all, total.ok_or_else(nothing)?))
}

/// The costs of the best paths of `pairs`.
pub(super) fn sums<T: Sample>(
    pairs: &[[&[T]; 2]],
    measure: Measure,
    executor: &mut dyn Executor<T>,
) -> Result<(Vec<T>, Report)> {
    match measure.cost {
        Cost::Absolute => of_element(T::absolute(), pairs, measure, executor),
        Cost::Squared => of_element(T::squared(), pairs, measure, executor),
    }
}

fn of_element<T: Sample, E, X>(
    element: E,
    pairs: &[[&[T]; 2]],
    measure: Measure,
    executor: &mut X,
) -> Result<(Vec<T>, Report)>
where
    E: WavefrontElement<Cell = T, Row = T, Column = T>,
    X: WavefrontExecutor<E> + ?Sized,
{
    let mut wavefronts: Vec<Wavefront<'_, E>> = Vec::with_capacity(pairs.len());
    for &[a, b] in pairs {
        let diagonals = measure.within.diagonals([a.len(), b.len()])?;
        wavefronts.push(wavefront(element, [a, b], diagonals));
    }
    let (kept, report) = executor.run_batch(&wavefronts)?;
    Ok((kept.iter().map(last).collect::<Result<_>>()?, report))
}
