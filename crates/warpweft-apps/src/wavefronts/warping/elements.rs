//! The recurrences, and the functions that tell from which earlier cell a cell was computed.

use warpweft::prelude::*;
use warpweft::wavefront::traceback::{Stored, Traced};
use warpweft::wavefront::{Dependence, Earlier, WavefrontElement};

use super::parts::{
    PartCell, PartF32, PartF64, part_warping_f32, part_warping_f64, squared_part_warping_f32,
    squared_part_warping_f64,
};

/// The cost of the best path to this pair: the pair's absolute difference, plus the least of the
/// costs of the three cells before it.
#[wavefront]
pub fn time_warping<T: Real>(h: Earlier<T>, #[row] a: T, #[column] b: T) -> T {
    // The cell above is there last.
    (a - b).abs() + h.w.min(h.nw).min(h.n)
}

/// Like `time_warping`, with the squared difference.
#[wavefront]
pub fn squared_warping<T: Real>(h: Earlier<T>, #[row] a: T, #[column] b: T) -> T {
    (a - b) * (a - b) + h.w.min(h.nw).min(h.n)
}

/// Which step to a cell is the best: 0 for a step in both series, 1 in B only, 2 in A only. Of
/// equally good steps the lowest number is taken.
#[wavefront(choice)]
pub fn best_way<T: Real>(h: Earlier<T>, #[row] _a: T, #[column] _b: T) -> u8 {
    let least = h.n.min(h.w).min(h.nw);
    // By sums: branches keep loops over lanes from being vectors.
    let alone = h.nw != least;
    (alone as i32 + (alone & (h.w != least)) as i32) as u8
}

/// A sample of a series, `f32` or `f64`, and its recurrences.
pub trait Sample: Real + Stored + Ranked<Score = Self> {
    /// The recurrence with absolute differences.
    type Absolute: Traced<Cell = Self, Row = Self, Column = Self>;
    /// The recurrence with squared differences.
    type Squared: Traced<Cell = Self, Row = Self, Column = Self>;
    /// The cell of a search for parts.
    type PartCell: PartCell<Self>;
    /// The recurrence of such a search with absolute differences.
    type AbsolutePart: WavefrontElement<Cell = Self::PartCell, Row = Self, Column = Self>;
    /// The recurrence of such a search with squared differences.
    type SquaredPart: WavefrontElement<Cell = Self::PartCell, Row = Self, Column = Self>;
    /// Makes the recurrence with absolute differences.
    fn absolute() -> Self::Absolute;
    /// Makes the recurrence with squared differences.
    fn squared() -> Self::Squared;
    /// Makes the recurrence of a search for parts with absolute differences.
    fn absolute_part() -> Self::AbsolutePart;
    /// Makes the recurrence of a search for parts with squared differences.
    fn squared_part() -> Self::SquaredPart;
}

macro_rules! traced {
    ($element:ident, $real:ty) => {
        impl Traced for $element<$real> {
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
    };
}

macro_rules! samples {
    ($($real:ty, $part:ident, $absolute:ident, $squared:ident;)*) => {$(
        traced!(time_warping, $real);
        traced!(squared_warping, $real);
        impl Sample for $real {
            type Absolute = time_warping<$real>;
            type Squared = squared_warping<$real>;
            type PartCell = $part;
            type AbsolutePart = $absolute;
            type SquaredPart = $squared;
            fn absolute() -> time_warping<$real> {
                time_warping()
            }
            fn squared() -> squared_warping<$real> {
                squared_warping()
            }
            fn absolute_part() -> $absolute {
                $absolute()
            }
            fn squared_part() -> $squared {
                $squared()
            }
        }
    )*};
}
samples! {
    f32, PartF32, part_warping_f32, squared_part_warping_f32;
    f64, PartF64, part_warping_f64, squared_part_warping_f64;
}
