//! How far rounding can carry a run from exact arithmetic, and so what a comparison may allow.
//!
//! A step rounds the new value once, by at most u A for values up to A, and M smaller things: terms
//! and partial sums, which the rate scales down to at most g A, where g is the rate times the sum of
//! all weights' magnitudes. A stable step amplifies no error, so errors of many steps add up.
//!
//! *At worst* all have one sign: u Σ A (1 + M g) over the steps.
//!
//! *In fact* they have mean zero given the steps before, and then a sum of many exceeds λ times the
//! root of the sum of their squares with a probability below 2 exp(-λ²/2) (Azuma and Hoeffding; for
//! roundings N. J. Higham and T. Mary, "A new approach to probabilistic rounding error analysis",
//! SIAM J. Sci. Comput. 41(5), 2019). With λ = 8 that is one cell in 4 × 10¹³.
//!
//! *But where a step changes less than values are apart*, the change is lost again and again, in one
//! direction. Such steps, which come when a run has almost decayed or is finer than its scalar, count
//! in full.

use warpweft::prelude::*;

use super::weights;

/// λ above.
const DEVIATIONS: f64 = 8.0;

/// What a step's roundings come to, on values up to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounding {
    /// u, half the distance between 1 and the next number.
    pub unit: f64,
    /// All with one sign.
    worst: f64,
    /// The root of the sum of their squares.
    root: f64,
}

/// The magnitudes that roundings act on, summed over the steps of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Magnitudes {
    /// The largest of all.
    pub largest: f64,
    /// The sum over all steps.
    pub sum: f64,
    /// The sum of squares over all steps.
    pub squares: f64,
    /// The sum over the steps that change less than values are apart.
    pub stagnant: f64,
}

impl Rounding {
    /// Of an order and rate in so many dimensions.
    ///
    /// # Errors
    /// As [`weights`].
    pub fn of<T: Real>(order: usize, dims: usize, rate: f64) -> Result<Self> {
        let weights = weights(order)?;
        let unit = 0.5 * if size_of::<T>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let sides = weights.iter().skip(1).map(|weight| 2.0 * weight.abs()).sum::<f64>();
        let scale = rate * dims as f64 * (weights[0].abs() + sides);
        // The centre, per distance both sides of each axis with their sum, its weight and the sum
        // with what was before, and the rate.
        let smaller = (2 + (order / 2) * (2 * dims + 2)) as f64;
        let worst = unit * (1.0 + smaller * scale);
        Ok(Self { unit, worst, root: unit * (1.0 + smaller * scale * scale).sqrt() })
    }

    /// The error that a run over such magnitudes may end with, its start's rounding included.
    pub fn allowed(&self, magnitudes: &Magnitudes) -> f64 {
        let Magnitudes { largest, sum, squares, stagnant } = *magnitudes;
        let likely = self.root * DEVIATIONS * squares.sqrt() + self.worst * stagnant;
        self.unit * largest + likely.min(self.worst * sum)
    }
}

impl Magnitudes {
    /// Of `steps` steps on values up to `largest`, none known to be smaller, on a grid whose longest
    /// axis has `extent` cells.
    pub fn steady(largest: f64, steps: u64, extent: usize, rate: f64) -> Self {
        let steps = steps as f64;
        // The slowest mode's lifetime: what was lost longer ago has been smoothed away.
        let lifetime = (extent as f64 / std::f64::consts::PI).powi(2) / rate;
        let stagnant = largest * steps.min(lifetime);
        Self { largest, sum: largest * steps, squares: largest * largest * steps, stagnant }
    }
}
