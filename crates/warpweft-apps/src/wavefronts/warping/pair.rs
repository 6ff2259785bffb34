//! Two series: their distance and a best path.

use warpweft::error::{Error, Result};
use warpweft::machine::Machine;
use warpweft::memory::room;
use warpweft::prelude::*;
use warpweft::report::Report;
use warpweft::wavefront::traceback::{self, End, Partition, Path, Traced, Way};
use warpweft::wavefront::{Kept, Tuned, Tuning, WavefrontElement, WavefrontExecutor};

use super::{Cost, Executor, Measure, Sample, border, check};
use crate::align::MEMORY;

/// The recurrence `element` over `a` and `b`, within a band if there are diagonals.
pub(super) fn wavefront<'s, T: Sample, E>(
    element: E,
    [a, b]: [&'s [T]; 2],
    diagonals: Option<[isize; 2]>,
) -> Wavefront<'s, E>
where
    E: WavefrontElement<Cell = T, Row = T, Column = T>,
{
    let wavefront = Wavefront::of(element).rows(a).columns(b).border(border()).keep(Keep::LastRow);
    match diagonals {
        None => wavefront,
        Some([lower, upper]) => wavefront.band(lower, upper, T::lit(f64::INFINITY)),
    }
}

/// The last cell of the row that was kept.
pub(super) fn last<T: Sample>(kept: &Kept<T>) -> Result<T> {
    match kept {
        Kept::LastRow(row) => row.last().copied(),
        _ => None,
    }
    .ok_or_else(|| Error::spec("no last row came back", "report this as a bug"))
}

/// The distance of `a` and `b`.
///
/// # Errors
/// As [`check`](super::check) and [`Constraint::diagonals`](super::Constraint::diagonals); the executor's.
pub fn distance<T: Sample>(
    a: &[T],
    b: &[T],
    measure: Measure,
    executor: &mut dyn Executor<T>,
) -> Result<(T, Report)> {
    check("A", a)?;
    check("B", b)?;
    let diagonals = measure.within.diagonals([a.len(), b.len()])?;
    let (kept, report) = match measure.cost {
        Cost::Absolute => executor.run(&wavefront(T::absolute(), [a, b], diagonals))?,
        Cost::Squared => executor.run(&wavefront(T::squared(), [a, b], diagonals))?,
    };
    Ok((measure.cost.distance(last(&kept)?), report))
}

/// The fastest policy for the distance of `a` and `b`, found by running it, and kept for later runs of series about as
/// long ([`Wavefront::tune`]).
///
/// # Errors
/// As [`distance`]; those of the search.
pub fn tune<T: Sample>(
    a: &[T],
    b: &[T],
    measure: Measure,
    (machine, tuning): (&Machine, &Tuning),
) -> Result<Tuned> {
    check("A", a)?;
    check("B", b)?;
    let diagonals = measure.within.diagonals([a.len(), b.len()])?;
    match measure.cost {
        Cost::Absolute => wavefront(T::absolute(), [a, b], diagonals).tune(machine, tuning),
        Cost::Squared => wavefront(T::squared(), [a, b], diagonals).tune(machine, tuning),
    }
}

/// The distance of `a` and `b` and a best path: the indices of the samples that are paired, from the
/// first pair to the last. In linear space, `cut` says which cells are kept to find the path. By
/// default they fit half a gigabyte or half of the free memory. All ranks need the same `cut`.
///
/// # Errors
/// As [`distance`].
pub fn path<T: Sample>(
    a: &[T],
    b: &[T],
    measure: Measure,
    way: Way,
    cut: Option<Partition>,
    executor: &mut dyn Executor<T>,
) -> Result<(T, Vec<[usize; 2]>, Report)> {
    check("A", a)?;
    check("B", b)?;
    let diagonals = measure.within.diagonals([a.len(), b.len()])?;
    let (found, report) = match measure.cost {
        Cost::Absolute => trace(&wavefront(T::absolute(), [a, b], diagonals), way, cut, executor)?,
        Cost::Squared => trace(&wavefront(T::squared(), [a, b], diagonals), way, cut, executor)?,
    };
    if !Scalar::to_f64(found.score).is_finite() {
        let what = "the costs overflow the samples' type";
        return Err(Error::spec(what, "give samples of smaller magnitude, or float64"));
    }
    Ok((measure.cost.distance(found.score), pairs(&found)?, report))
}

/// The path to the last pair.
pub(super) fn trace<T: Sample, E, X>(
    wavefront: &Wavefront<'_, E>,
    way: Way,
    cut: Option<Partition>,
    executor: &mut X,
) -> Result<(Path<T>, Report)>
where
    E: Traced<Cell = T>,
    X: WavefrontExecutor<E> + ?Sized,
{
    let cut =
        cut.unwrap_or_else(|| Partition::fitting(MEMORY, wavefront.extents(), size_of::<T>()));
    let (found, report) = traceback::trace(wavefront, End::Corner, way, &cut, None, executor)?;
    let none = || Error::spec("no path between series of numbers", "report this as a bug");
    Ok((found.ok_or_else(none)?, report))
}

/// The indices along `path`.
///
/// # Errors
/// Too little memory.
pub(super) fn pairs<T>(path: &Path<T>) -> Result<Vec<[usize; 2]>> {
    let mut at = path.start;
    let count = path.moves.iter().map(|run| run.count).sum();
    let mut pairs = room(count, "warp shorter series")?;
    for run in &path.moves {
        for _ in 0..run.count {
            at = [at[0] - run.vector[0], at[1] - run.vector[1]];
            pairs.push(at.map(|index| index as usize));
        }
    }
    Ok(pairs)
}
