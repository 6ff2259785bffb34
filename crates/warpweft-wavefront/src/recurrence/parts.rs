//! Cells as numbers of one type: executors keep an array for each number of a cell, so that loops over lanes become
//! vectors. An array of structs would be read with gaps.

use super::Relative;
use warpweft_core::element::Scalar;

/// The most numbers of a cell that are kept apart.
pub const MOST_PARTS: usize = 4;

/// A value that consists of [`Parts::PARTS`] numbers of one type, or is a single part.
pub trait Parts: Copy + 'static {
    /// The type of its parts.
    type Part: Copy + Default + Send + Sync + 'static;
    /// How many, at most [`MOST_PARTS`].
    const PARTS: usize;
    /// Part `which`, counted from 0.
    fn part(&self, which: usize) -> Self::Part;
    /// The value whose part `k` is `part(k)`. Implementations name each `k` as a constant.
    fn of(part: impl FnMut(usize) -> Self::Part) -> Self;
}

macro_rules! whole {
    ($($bound:ident)? : $type:ty) => {
        impl$(<T: $bound>)? Parts for $type {
            type Part = Self;
            const PARTS: usize = 1;
            #[inline(always)]
            fn part(&self, _: usize) -> Self {
                *self
            }
            #[inline(always)]
            fn of(mut part: impl FnMut(usize) -> Self) -> Self {
                part(0)
            }
        }
    };
}
whole!(Scalar: T);
whole!(: Relative);
