//! The recurrences, and what their cells were made from.

use warpweft::prelude::*;
use warpweft::wavefront::traceback::{Stored, Traced};
use warpweft::wavefront::{Dependence, Earlier};

/// The distance of the series up to here: the pair's absolute difference after the best of three ways to it.
#[wavefront]
pub fn time_warping<T: Real>(h: Earlier<T>, #[row] a: T, #[column] b: T) -> T {
    (a - b).abs() + h.n.min(h.w).min(h.nw)
}

/// The same with the squared difference.
#[wavefront]
pub fn squared_warping<T: Real>(h: Earlier<T>, #[row] a: T, #[column] b: T) -> T {
    (a - b) * (a - b) + h.n.min(h.w).min(h.nw)
}

/// Which of the three ways to a cell is the best: of equal ones both series go on, 0, before only B
/// does, 1, before only A does, 2.
#[wavefront(choice)]
pub fn best_way<T: Real>(h: Earlier<T>, #[row] _a: T, #[column] _b: T) -> u8 {
    let least = h.n.min(h.w).min(h.nw);
    // By sums: branches keep loops over lanes from being vectors.
    let alone = h.nw != least;
    (alone as i32 + (alone & (h.w != least)) as i32) as u8
}

/// A sample of a series, `f32` or `f64`, and its recurrences.
pub trait Sample: Real + Stored + Ranked<Score = Self> {
    /// By absolute differences.
    type Absolute: Traced<Cell = Self, Row = Self, Column = Self>;
    /// By squared differences.
    type Squared: Traced<Cell = Self, Row = Self, Column = Self>;
    /// By absolute differences.
    fn absolute() -> Self::Absolute;
    /// By squared differences.
    fn squared() -> Self::Squared;
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
    ($($real:ty)*) => {$(
        traced!(time_warping, $real);
        traced!(squared_warping, $real);
        impl Sample for $real {
            type Absolute = time_warping<$real>;
            type Squared = squared_warping<$real>;
            fn absolute() -> time_warping<$real> {
                time_warping()
            }
            fn squared() -> squared_warping<$real> {
                squared_warping()
            }
        }
    )*};
}
samples!(f32 f64);
