//! Dynamic time warping: how far two series are apart when time may stretch.
//!
//! A path pairs the samples of two series, from the pair of first samples to the pair of last
//! samples (Sakoe and Chiba 1978, without slope constraint). The distance is the cost of the
//! cheapest path: the sum of the absolute differences, or the square root of the sum of the
//! squared differences, which is the default of dtaidistance. A band may limit how far the indices
//! of a pair differ.

mod elements;
mod many;
mod measure;
mod nearest;
mod pair;
mod parts;
mod plain;
mod subsequence;

use warpweft::error::{Error, Result};
use warpweft::prelude::*;
use warpweft::wavefront::WavefrontExecutor;

pub use elements::{Sample, best_way, squared_warping, time_warping};
pub use many::{condensed, distances};
pub use measure::{Constraint, Cost, Measure};
pub use nearest::{LeftOut, Neighbour, lower_bounds, nearest};
pub use pair::{distance, path, tune};
pub use parts::{
    PartCell, PartF32, PartF64, part_warping_f32, part_warping_f64, squared_part_warping_f32,
    squared_part_warping_f64,
};
pub use plain::{added_up, plain, plain_matches};
pub use subsequence::{Match, matches};

/// An executor that runs all recurrences.
pub trait Executor<T: Sample>:
    WavefrontExecutor<T::Absolute>
    + WavefrontExecutor<T::Squared>
    + WavefrontExecutor<T::AbsolutePart>
    + WavefrontExecutor<T::SquaredPart>
{
}

impl<T: Sample, X> Executor<T> for X where
    X: WavefrontExecutor<T::Absolute>
        + WavefrontExecutor<T::Squared>
        + WavefrontExecutor<T::AbsolutePart>
        + WavefrontExecutor<T::SquaredPart>
{
}

/// The border of the table, which makes every path begin at the corner: zero there, infinity
/// elsewhere.
pub fn border<T: Real>() -> Border<T> {
    Border::Corner { corner: T::default(), rest: T::lit(f64::INFINITY) }
}

/// Checks that `series` has samples and that all of them are finite.
///
/// # Errors
/// No samples; a sample that is not finite, with its index, counted from 0. The error calls the
/// series `name`.
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

/// Calls [`check`] for each series of `many`. Errors name a series by its index, counted from 0.
///
/// # Errors
/// As [`check`].
pub fn check_all<T: Real>(many: &[&[T]]) -> Result<()> {
    many.iter().enumerate().try_for_each(|(k, series)| check(&k.to_string(), series))
}
