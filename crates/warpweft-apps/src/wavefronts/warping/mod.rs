//! Dynamic time warping: how far two series are apart when time may stretch.
//!
//! The distance is the least cost of a path of pairs of samples from both beginnings to both ends (Sakoe and Chiba
//! 1978, without slope constraint): the sum of absolute differences, or the root of the sum of squared ones, as
//! dtaidistance has it by default. A band may limit how far the indices of a pair differ.

mod elements;
mod many;
mod measure;
mod nearest;
mod pair;
mod plain;
mod subsequence;

use warpweft::error::{Error, Result};
use warpweft::prelude::*;
use warpweft::wavefront::WavefrontExecutor;

pub use elements::{Sample, best_way, squared_warping, time_warping};
pub use many::{condensed, distances};
pub use measure::{Constraint, Cost, Measure};
pub use nearest::{LeftOut, Neighbour, lower_bounds, nearest};
pub use pair::{distance, path};
pub use plain::{added_up, plain, plain_matches};
pub use subsequence::{Match, matches};

/// An executor that runs both recurrences.
pub trait Executor<T: Sample>:
    WavefrontExecutor<T::Absolute> + WavefrontExecutor<T::Squared>
{
}

impl<T: Sample, X> Executor<T> for X where
    X: WavefrontExecutor<T::Absolute> + WavefrontExecutor<T::Squared>
{
}

/// What cells outside hold: paths begin at the corner.
pub fn border<T: Real>() -> Border<T> {
    Border::Corner { corner: T::default(), rest: T::lit(f64::INFINITY) }
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

/// The same of each of `many`, which errors call by their numbers from 0.
///
/// # Errors
/// As [`check`].
pub fn check_all<T: Real>(many: &[&[T]]) -> Result<()> {
    many.iter().enumerate().try_for_each(|(k, series)| check(&k.to_string(), series))
}
