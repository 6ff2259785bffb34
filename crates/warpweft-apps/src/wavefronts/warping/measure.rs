//! What a path costs, and which pairs of indices it may contain.

use warpweft::element::Real;
use warpweft::error::{Error, Result};

/// The cost of a pair of samples, and how the distance follows from the sum of the costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cost {
    /// A pair costs the absolute difference, and the distance is the sum of the costs. In
    /// dtaidistance: `inner_dist="euclidean"`.
    #[default]
    Absolute,
    /// A pair costs the squared difference, and the distance is the square root of the sum. The
    /// default of dtaidistance.
    Squared,
}

impl Cost {
    /// The cost of the pair `a` and `b`.
    pub fn of<T: Real>(self, a: T, b: T) -> T {
        let difference = if a < b { b - a } else { a - b };
        match self {
            Self::Absolute => difference,
            Self::Squared => difference * difference,
        }
    }

    /// The distance of two series whose best path costs `sum`.
    pub fn distance<T: Real>(self, sum: T) -> T {
        match self {
            Self::Absolute => sum,
            Self::Squared => sum.sqrt(),
        }
    }
}

/// Which pairs of indices a path may contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Constraint {
    /// All pairs.
    #[default]
    None,
    /// Pairs whose indices differ by at most this much (Sakoe and Chiba's band).
    Band(usize),
    /// The `window` of dtaidistance, at least 1. For a window of w and series of m and n samples,
    /// pair (i, j) is allowed if min(0, n − m) − w < j − i < max(0, n − m) + w. With equally long
    /// series a window of w is a band of w − 1.
    Window(usize),
}

impl Constraint {
    /// The least and the greatest allowed j − i, where i is an index of the first series and j one
    /// of the second; `None` if all pairs are allowed.
    ///
    /// # Errors
    /// A band that does not contain the pair of the last samples; a window of 0.
    pub fn diagonals(self, [m, n]: [usize; 2]) -> Result<Option<[isize; 2]>> {
        let signed = |n: usize| isize::try_from(n).unwrap_or(isize::MAX / 4).min(isize::MAX / 4);
        let (further, shorter) = (signed(m.saturating_sub(n)), signed(n.saturating_sub(m)));
        match self {
            Self::None => Ok(None),
            Self::Band(width) if m.abs_diff(n) > width => Err(Error::spec(
                format!("a band of {width} for series of {m} and {n} samples"),
                "make it at least as wide as the difference of the lengths",
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

/// How the distance of two series is measured: what pairs cost, and which pairs are allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// The cost of a pair.
    pub cost: Cost,
    /// Which pairs a path may contain.
    pub within: Constraint,
}
