//! How cells are compared and summed when only the best one or the sum is kept.

use super::{Parts, Relative};
use warpweft_core::element::{DeviceType, Scalar, ScalarKind};

/// What a cell can be: comparable by a number it holds.
///
/// Scalars rank by themselves; a struct ranks by one of its members.
///
/// # Safety
/// `MEMBER` must name the C++ member that [`Ranked::score`] reads, of the type `Score`.
pub unsafe trait Ranked:
    DeviceType + Default + PartialEq + std::fmt::Debug + Send + Sync + Parts
{
    /// The number compared and summed.
    type Score: Scalar;
    /// Appended to a C++ cell to read its score: the empty string, or `.h`.
    const MEMBER: &'static str;
    /// Which of its parts is the score, if it has several.
    const SCORE: usize = 0;
    /// The cell as distances of 16 bits from a base: of a struct of `i32`s a struct with the same members.
    type Near: Parts<Part = Relative>;
    /// The names of the members of a C++ cell that consists of them; none of a scalar.
    const NEAR_MEMBERS: &'static [&'static str] = &[];
    /// The number compared and summed.
    fn score(&self) -> Self::Score;
}

// SAFETY: a scalar is its own score.
unsafe impl<T: Scalar> Ranked for T {
    type Score = T;
    const MEMBER: &'static str = "";
    type Near = Relative;
    #[inline(always)]
    fn score(&self) -> T {
        *self
    }
}

/// Which scores win.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    /// The greatest.
    Greatest,
    /// The least.
    Least,
}

impl Extreme {
    /// Whether `a` wins over `b`, which may be NaN: any number wins over that.
    #[inline(always)]
    pub(crate) fn better<S: Scalar>(self, a: S, b: S) -> bool {
        let wins = match self {
            Self::Greatest => a > b,
            Self::Least => a < b,
        };
        wins | is_nan(b)
    }

    /// Where a running extreme starts: a score that no cell's is worse than. NaN where there is one,
    /// so that any number replaces it.
    pub(crate) fn worst<S: Scalar>(self) -> S {
        let nan = S::from_f64(f64::NAN);
        match (S::KIND, self) {
            (ScalarKind::Bool, Self::Greatest) => S::from_f64(0.0),
            (ScalarKind::Bool, Self::Least) => S::from_f64(1.0),
            _ if is_nan(nan) => nan,
            (_, Self::Greatest) => S::from_f64(f64::NEG_INFINITY),
            (_, Self::Least) => S::from_f64(f64::INFINITY),
        }
    }
}

/// The sum of no more than 2³¹ integers: those of 32 bits in 64, which vectors have.
#[inline(always)]
pub(crate) fn sum<S: Scalar>(scores: impl Iterator<Item = S>) -> i128 {
    // Loops by hand: adapters and `sum` would be as much to compile for every element as its own loops.
    if const { S::KIND.size() > 4 } {
        let mut total = 0i128;
        for score in scores {
            total += score.to_i128();
        }
        total
    } else {
        let mut total = 0i64;
        for score in scores {
            total += score.to_i128() as i64;
        }
        total.into()
    }
}

/// Whether `score` is NaN.
#[inline(always)]
#[expect(clippy::eq_op, reason = "only a NaN differs from itself")]
pub(crate) fn is_nan<S: Scalar>(score: S) -> bool {
    score != score
}

/// The extreme score, and of all cells that have it the one of the smallest row, then column.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Best<S> {
    /// The score. NaN is never best.
    pub score: S,
    /// Row of the cell, from 0.
    pub row: usize,
    /// Column of the cell, from 0.
    pub column: usize,
}

impl<S: Scalar> Best<S> {
    /// Whether `self` wins over `other`.
    pub fn beats(&self, other: &Self, extreme: Extreme) -> bool {
        self.score == other.score && (self.row, self.column) < (other.row, other.column)
            || self.score != other.score && extreme.better(self.score, other.score)
    }

    /// The winner of two.
    pub fn of(a: Option<Self>, b: Option<Self>, extreme: Extreme) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(if b.beats(&a, extreme) { b } else { a }),
            (a, b) => a.or(b),
        }
    }
}
