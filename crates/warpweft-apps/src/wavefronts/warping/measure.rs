//! What a path costs, and which pairs of indices it may have.

use warpweft::element::Real;
use warpweft::error::{Error, Result};

/// What a pair of samples costs, and what a distance is of the sum of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cost {
    /// The absolute difference; the distance is their sum. dtaidistance: `inner_dist="euclidean"`.
    #[default]
    Absolute,
    /// The squared difference; the distance is the root of their sum. dtaidistance's default.
    Squared,
}

impl Cost {
    /// What a pair costs.
    pub fn of<T: Real>(self, a: T, b: T) -> T {
        let difference = if a < b { b - a } else { a - b };
        match self {
            Self::Absolute => difference,
            Self::Squared => difference * difference,
        }
    }

    /// The distance of series whose path costs `sum`.
    pub fn distance<T: Real>(self, sum: T) -> T {
        match self {
            Self::Absolute => sum,
            Self::Squared => sum.sqrt(),
        }
    }
}

/// Which pairs of indices a path may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Constraint {
    /// Any.
    #[default]
    None,
    /// Those that differ by so much at most (Sakoe and Chiba's band).
    Band(usize),
    /// dtaidistance's `window`, at least 1: those less than so far from the nearer of the diagonals that start at
    /// one corner and end at the other. A window of `n + 1` is a band of `n` where series are equally long.
    Window(usize),
}

impl Constraint {
    /// The least and the greatest index of the second series less that of the first; none if all are allowed.
    ///
    /// # Errors
    /// A band that the last samples lie outside of; a window of 0.
    pub fn diagonals(self, [m, n]: [usize; 2]) -> Result<Option<[isize; 2]>> {
        let signed = |n: usize| isize::try_from(n).unwrap_or(isize::MAX / 4).min(isize::MAX / 4);
        let (further, shorter) = (signed(m.saturating_sub(n)), signed(n.saturating_sub(m)));
        match self {
            Self::None => Ok(None),
            Self::Band(width) if m.abs_diff(n) > width => Err(Error::spec(
                format!("a band of {width} for series of {m} and {n} samples"),
                "make it as wide as their difference at least",
            )),
            Self::Band(width) => Ok(Some([-signed(width), signed(width)])),
            Self::Window(0) => Err(Error::spec(
                "a window of 0",
                "give at least 1, which allows the diagonal alone",
            )),
            Self::Window(width) => {
                Ok(Some([1 - signed(width) - further, shorter + signed(width) - 1]))
            }
        }
    }
}

/// How far apart series are: what pairs cost, and which there may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// Of a pair.
    pub cost: Cost,
    /// Which pairs a path may have.
    pub within: Constraint,
}
