//! Many series: the distances of all pairs.

use warpweft::error::{Error, Result};
use warpweft::memory::room;
use warpweft::report::Report;
use warpweft::wavefront::traceback::End;
use warpweft::wavefront::{Pairs, TotalReport, Wavefront, WavefrontElement, WavefrontExecutor};

use super::pair::{last, wavefront};
use super::{Cost, Executor, Measure, Sample, border, check_all};
use crate::errors::about;

/// Pairs that are computed at once at least, and at most: between two such batches progress is told.
const TOGETHER: [usize; 2] = [1 << 14, 1 << 19];
/// Cells that are computed at once: 0.2 s of a GPU.
const CELLS: usize = 1 << 40;
/// Cells of last rows that are kept at once, of series with a band.
const KEPT: usize = 1 << 25;
/// The least number of pairs in a batch of these.
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
/// or two by their indices, counted from 0.
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
    if u32::try_from(count).is_err() {
        return Err(Error::spec(
            format!("the distances of {count} series"),
            "compare fewer series",
        ));
    }
    let longest = series.iter().map(|one| one.len()).max().unwrap_or(1).max(1);
    let together = (CELLS / longest / longest).clamp(TOGETHER[0], TOGETHER[1]);
    let mut total = TotalReport::default();
    let mut next = (0..count as u32).flat_map(|i| (i + 1..count as u32).map(move |j| [i, j]));
    while all.len() < pairs {
        let some: Vec<_> = next.by_ref().take(together).collect();
        let (found, report) = sums([series, series], &some, measure, executor)?;
        all.extend(found.into_iter().map(|sum| measure.cost.distance(sum)));
        total.add(report);
        progress(all.len(), pairs);
    }
    Ok((all, total.report()?))
}

/// The costs of the best paths of `pairs`: of one of the first series and one of the second, by their numbers.
pub(super) fn sums<T: Sample>(
    series: [&[&[T]]; 2],
    pairs: &[[u32; 2]],
    measure: Measure,
    executor: &mut dyn Executor<T>,
) -> Result<(Vec<T>, Report)> {
    match measure.cost {
        Cost::Absolute => of_element(T::absolute(), series, pairs, measure, executor),
        Cost::Squared => of_element(T::squared(), series, pairs, measure, executor),
    }
}

fn of_element<T: Sample, E, X>(
    element: E,
    [rows, columns]: [&[&[T]]; 2],
    pairs: &[[u32; 2]],
    measure: Measure,
    executor: &mut X,
) -> Result<(Vec<T>, Report)>
where
    E: WavefrontElement<Cell = T, Row = T, Column = T>,
    X: WavefrontExecutor<E> + ?Sized,
{
    if measure.within.diagonals([1, 1])?.is_none() {
        let pairs = Pairs::of(element, rows, columns, pairs).border(border());
        let (sums, report) = executor.scores(&pairs, End::Corner)?;
        let none = || Error::spec("no last cell came back", "report this as a bug");
        let sums = sums.into_iter().map(|sum| sum.ok_or_else(none));
        return Ok((sums.collect::<Result<_>>()?, report));
    }
    let longest = columns.iter().map(|series| series.len()).max().unwrap_or(1);
    let mut all = room(pairs.len(), "compare fewer series")?;
    let mut total = TotalReport::default();
    for some in pairs.chunks((KEPT / longest.max(1)).max(FEWEST)) {
        let mut wavefronts: Vec<Wavefront<'_, E>> = Vec::with_capacity(some.len());
        for &[i, j] in some {
            let [a, b] = [rows[i as usize], columns[j as usize]];
            let diagonals = measure.within.diagonals([a.len(), b.len()]);
            let diagonals =
                diagonals.map_err(|error| about(format!("series {i} and {j}"), error))?;
            wavefronts.push(wavefront(element, [a, b], diagonals));
        }
        let (kept, report) = executor.run_batch(&wavefronts)?;
        for kept in &kept {
            all.push(last(kept)?);
        }
        total.add(report);
    }
    Ok((all, total.report()?))
}
