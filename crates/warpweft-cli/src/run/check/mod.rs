//! The result of comparing with a reference solution.

pub mod against;
pub mod cells;
pub mod choice;
pub mod numbers;
pub mod rows;
mod window;

use serde::Serialize;
use warpweft::grid::RawVolume;
use warpweft::memory::available_memory;

/// The comparison of a result with a reference solution.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The reference solution, if there was a comparison.
    pub reference: Option<String>,
    /// Why nothing was compared, or what is wrong without a comparison.
    pub reason: Option<String>,
    /// The largest difference of a cell.
    pub error: Option<f64>,
    /// The allowed rounding error.
    pub tolerance: Option<f64>,
    /// Whether the error is within the tolerance; `None` if nothing was compared.
    pub passed: Option<bool>,
    /// What was compared, if it is not the whole result.
    pub part: Option<String>,
}

impl Check {
    /// A completed comparison.
    pub fn made(reference: impl Into<String>, error: f64, tolerance: f64) -> Self {
        let passed = Some(error <= tolerance);
        Self {
            reference: Some(reference.into()),
            reason: None,
            error: Some(error),
            tolerance: Some(tolerance),
            passed,
            part: None,
        }
    }

    /// The same for a part of the result.
    pub fn of(self, part: impl Into<String>) -> Self {
        Self { part: Some(part.into()), ..self }
    }

    /// A result that is known to be wrong without a comparison, and why.
    pub fn failed(reason: impl Into<String>) -> Self {
        let reason = Some(reason.into());
        let passed = Some(false);
        Self { reference: None, reason, error: None, tolerance: None, passed, part: None }
    }

    /// A result without a comparison, and why.
    pub fn none(reason: impl std::fmt::Display) -> Self {
        Self { passed: None, ..Self::failed(format!("the result was not checked: {reason}")) }
    }
}

/// An order of `0..count` that no pattern of what is checked follows: by the golden ratio. Every number comes once.
pub fn scattered(count: u64) -> impl Iterator<Item = u64> {
    let shared = |step: u64| {
        let (mut a, mut b) = (count, step);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    // Without a common divisor no number comes twice.
    let step = (0x9e37_79b9..).find(|&step| shared(step) == 1).unwrap_or(1);
    (0..count).map(move |k| (u128::from(k) * u128::from(step) % u128::from(count)) as u64)
}

/// The difference of two values; NaN if either is NaN.
pub fn difference(a: f64, b: f64) -> f64 {
    if a == b { 0.0 } else { (a - b).abs() }
}

/// The larger of two differences; NaN if either is NaN.
pub fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// The check of a result that was skipped because there are not `needed` bytes of memory.
pub fn no_room(needed: u64) -> Option<Check> {
    let available = available_memory()?;
    (needed > available)
        .then(|| Check::none(format!("{needed} bytes needed for that, {available} available")))
}

/// The cells of a field of floats.
pub fn values(volume: &RawVolume, field: usize) -> Vec<f64> {
    match volume.field::<f32>(field) {
        Some(cells) => cells.iter().map(|&cell| f64::from(cell)).collect(),
        None => volume.field::<f64>(field).unwrap_or_default().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scattered_order_has_every_number_once() {
        // The second has divisors of the ratio that is taken.
        for count in [1, 3 * 89 * 523, 518_400] {
            let mut all: Vec<_> = scattered(count).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..count), "{count}");
        }
    }

    #[test]
    fn nan_never_passes() {
        for nan in [difference(f64::NAN, 1.0), difference(f64::NAN, f64::NAN)] {
            let error =
                [difference(1.0, 1.0), nan, difference(2.0, 1.0)].into_iter().fold(0.0, worse);
            assert_eq!(Check::made("x", error, 9.0).passed, Some(false));
        }
        assert_eq!(Check::failed("x").passed, Some(false));
    }
}
