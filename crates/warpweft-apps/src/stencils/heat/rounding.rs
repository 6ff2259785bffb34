//! How far rounding can carry a run from exact arithmetic, and so what a comparison may allow.
//!
//! An operation on a value up to V rounds by at most u V. A step has the operations of its element,
//! which the rate scales down but for the last; a stable step amplifies no error of earlier ones. So
//! the error of a run is at most the sum over its steps of a constant, found by counting operations,
//! times u times the largest value there was (N. J. Higham, *Accuracy and Stability of Numerical
//! Algorithms*, 2nd ed., 2002, sections 3.1 and 4.2). Values that decay round less and less.
//!
//! Growth with the root of the number of steps, as independent roundings have it, was tried and is
//! wrong here: smooth states change so slowly that cells round the same way for thousands of steps
//! (1000 cells of f32 were off by 0.06 u a step after 32,768 steps).

use warpweft::element::ScalarKind;
use warpweft::prelude::*;

use super::weights;

/// The roundings of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounding {
    /// u of what cells hold, half the distance between 1 and the next number.
    unit: f64,
    /// The most that a step on values up to 1 rounds.
    step: f64,
    /// The most that a step rounds values that are next to nothing.
    floor: f64,
}

impl Rounding {
    /// Of cells of `kind`, an order and rate in so many dimensions.
    ///
    /// # Errors
    /// As [`weights`].
    pub fn of(kind: ScalarKind, order: usize, dims: usize, rate: f64) -> Result<Self> {
        let single = 0.5 * f64::from(f32::EPSILON);
        let weights = weights(order)?;
        // Half the least number of f32 for each product of a step; sums of such numbers are exact.
        let tiny = (weights.len() + 2) as f64 * 2f64.powi(-150);
        // What cells hold, what is computed in, and what a step rounds that is next to nothing.
        let (stored, unit, floor) = match kind {
            ScalarKind::F16 => (2f64.powi(-11), single, 2f64.powi(-25)),
            ScalarKind::Bf16 => (2f64.powi(-8), single, tiny + 2f64.powi(-134)),
            // Half the smallest positive f64 is not representable, so each product counts the smallest one.
            ScalarKind::F64 => {
                let least = f64::from_bits(1);
                (0.5 * f64::EPSILON, 0.5 * f64::EPSILON, (weights.len() + 2) as f64 * least)
            }
            _ => (single, single, tiny),
        };
        let dims = dims as f64;
        // The weighted centre; then for each distance the sums of pairs and of axes, the weighted sum,
        // and the sum with what was before.
        let mut sum = dims * weights[0].abs();
        let mut rounded = sum;
        for weight in weights.iter().skip(1).map(|weight| weight.abs()) {
            let around = 2.0 * dims;
            let axes: f64 = (2..=dims as usize).map(|axes| 2.0 * axes as f64).sum();
            sum += weight * around;
            rounded += weight * (around + axes + around) + sum;
        }
        // The rate times it all, and the new value.
        // The last operation's result is rounded to what cells hold as well, where that is another.
        let last = if stored > unit { stored } else { 0.0 };
        let step = unit * (1.0 + rate * (rounded + sum)) + last;
        Ok(Self { unit: stored, step, floor })
    }

    /// The error that a run may end with, its start's rounding included, when its largest value is
    /// `largest` and the sum over its `steps` steps of the largest value is `sum`.
    pub fn allowed(&self, largest: f64, sum: f64, steps: u64) -> f64 {
        self.unit * largest + self.step * sum + self.floor * (1.0 + steps as f64)
    }

    /// How many steps on values that don't decay keep the error within `share` of them.
    pub fn steps_within(&self, share: f64) -> u64 {
        ((share / self.step) as u64).max(1)
    }
}
