//! Dynamic time warping: how far two series are apart when time may stretch.
//!
//! The cost of a pair is the absolute difference, and the distance the sum of costs along the best
//! path from both beginnings to both ends (Sakoe and Chiba 1978, without slope constraint), not
//! the root of a sum of squares as in some libraries.

use warpweft::error::{Error, Result};
use warpweft::memory::room;
use warpweft::prelude::*;
use warpweft::report::Report;
use warpweft::wavefront::traceback::{self, End, Partition, Stored, Traced, Way};
use warpweft::wavefront::{Dependence, Earlier, Kept, WavefrontExecutor};

use crate::align::MEMORY;
use crate::table::Table;

/// The distance of the series up to here: the pair's cost after the best of three ways to it.
#[wavefront]
pub fn time_warping<T: Real>(h: Earlier<T>, #[row] a: T, #[column] b: T) -> T {
    (a - b).abs() + h.n.min(h.w).min(h.nw)
}

/// What cells outside hold: paths begin at the corner.
pub fn border<T: Real>() -> Border<T> {
    Border::function(|i, j| T::lit(if i == j { 0.0 } else { f64::INFINITY }))
}

/// Whether all of `series` are numbers.
///
/// # Errors
/// No sample; one that is not finite, with its position from 0. `name` is what the error calls the
/// series.
pub fn check<T: Real>(name: &str, series: &[T]) -> Result<()> {
    if series.is_empty() {
        return Err(Error::spec(format!("series {name} is empty"), "give at least one sample"));
    }
    match series.iter().position(|sample| !Scalar::to_f64(*sample).is_finite()) {
        None => Ok(()),
        Some(at) => Err(Error::spec(
            format!("sample {at} of series {name} is {}", series[at]),
            "give finite samples",
        )),
    }
}

/// The distance of `a` and `b`; with a `band`, of paths whose indices differ by so much at most.
///
/// # Errors
/// As [`check`]; a band that no path from corner to corner fits into; the executor's.
pub fn distance<T: Real>(
    a: &[T],
    b: &[T],
    band: Option<usize>,
    executor: &mut dyn WavefrontExecutor<time_warping<T>>,
) -> Result<(T, Report)>
where
    time_warping<T>: warpweft::wavefront::WavefrontElement<Cell = T, Row = T, Column = T>,
{
    check("A", a)?;
    check("B", b)?;
    let mut wavefront =
        Wavefront::of(time_warping::<T>()).rows(a).columns(b).border(border()).keep(Keep::LastRow);
    if let Some(band) = band {
        if a.len().abs_diff(b.len()) > band {
            return Err(Error::spec(
                format!("a band of {band} for series of {} and {} samples", a.len(), b.len()),
                "make it as wide as their difference at least",
            ));
        }
        let width = isize::try_from(band).unwrap_or(isize::MAX);
        wavefront = wavefront.band(-width, width, T::lit(f64::INFINITY));
    }
    let (kept, report) = executor.run(&wavefront)?;
    let distance = match kept {
        Kept::LastRow(row) => row.last().copied(),
        _ => None,
    };
    Ok((distance.unwrap_or_default(), report))
}

/// Which of the three ways to a cell is the best: of equal ones both series go on, 0, before only B
/// does, 1, before only A does, 2.
#[wavefront(choice)]
pub fn best_way<T: Real>(h: Earlier<T>, #[row] _a: T, #[column] _b: T) -> u8 {
    let least = h.n.min(h.w).min(h.nw);
    if h.nw == least {
        0
    } else if h.w == least {
        1
    } else {
        2
    }
}

macro_rules! traced {
    ($($real:ty)*) => {$(
        impl Traced for time_warping<$real> {
            type State = ();
            type Choice = best_way<$real>;
            type Plain = Self;
            const BITS: u32 = 2;
            fn plain(&self) -> Self {
                *self
            }
            fn choice(&self) -> best_way<$real> {
                best_way()
            }
            fn back(choice: u8, (): ()) -> Option<(Dependence, ())> {
                let vector = match choice {
                    0 => [-1, -1],
                    1 => [0, -1],
                    _ => [-1, 0],
                };
                Some((vector, ()))
            }
        }
    )*};
}
traced!(f32 f64);

/// The distance of `a` and `b` and a best path: the indices of the samples that are paired, from the
/// first pair to the last. In linear space `cut` is what is kept meanwhile, by default what fits half a
/// gigabyte or half of the memory that there is; ranks need the same one.
///
/// # Errors
/// As [`check`]; the executor's.
pub fn path<T: Real + Stored + Ranked<Score = T>>(
    a: &[T],
    b: &[T],
    way: Way,
    cut: Option<Partition>,
    executor: &mut dyn WavefrontExecutor<time_warping<T>>,
) -> Result<(T, Vec<[usize; 2]>, Report)>
where
    time_warping<T>: Traced<Cell = T, Row = T, Column = T>,
{
    check("A", a)?;
    check("B", b)?;
    let wavefront = Wavefront::of(time_warping::<T>()).rows(a).columns(b).border(border());
    let cut =
        cut.unwrap_or_else(|| Partition::fitting(MEMORY, wavefront.extents(), size_of::<T>()));
    let (found, report) = traceback::trace(&wavefront, End::Corner, way, &cut, None, executor)?;
    let Some(found) = found else {
        return Err(Error::spec("no path between series of numbers", "report this as a bug"));
    };
    let mut at = found.start;
    let count = found.moves.iter().map(|run| run.count).sum();
    let mut pairs = room(count, "warp shorter series")?;
    for run in &found.moves {
        for _ in 0..run.count {
            at = [at[0] - run.vector[0], at[1] - run.vector[1]];
            pairs.push(at.map(|index| index as usize));
        }
    }
    Ok((found.score, pairs, report))
}

/// What the pairs of a path cost, added in its order, so that it is the distance to the bit; `None` if `pairs` is no
/// path from the first samples to the last ones.
pub fn added_up<T: Real>(a: &[T], b: &[T], pairs: &[[usize; 2]]) -> Option<T> {
    let steps = |[from, to]: &[[usize; 2]; 2]| {
        let step = [0, 1].map(|side| to[side].wrapping_sub(from[side]));
        step != [0, 0] && step.iter().all(|&step| step <= 1)
    };
    let ends = *pairs.first()? == [0, 0] && *pairs.last()? == [a.len() - 1, b.len() - 1];
    let connected = pairs.array_windows().all(steps);
    (ends && connected).then(|| {
        let cost = |&[i, j]: &[usize; 2]| if a[i] < b[j] { b[j] - a[i] } else { a[i] - b[j] };
        pairs.iter().fold(T::default(), |sum, pair| cost(pair) + sum)
    })
}

/// The distance by the straightforward loop over the whole table.
pub fn plain<T: Real>(a: &[T], b: &[T], band: Option<usize>) -> T {
    let infinity = T::lit(f64::INFINITY);
    let mut table = Table::filled(infinity, a.len() + 1, b.len() + 1);
    table[0][0] = T::default();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            if band.is_some_and(|band| i.abs_diff(j) > band) {
                continue;
            }
            let mut least = table[i - 1][j - 1];
            for other in [table[i - 1][j], table[i][j - 1]] {
                if other < least {
                    least = other;
                }
            }
            let cost = if a[i - 1] < b[j - 1] { b[j - 1] - a[i - 1] } else { a[i - 1] - b[j - 1] };
            table[i][j] = cost + least;
        }
    }
    table[a.len()][b.len()]
}
