//! What comparing a result with a reference solution came to.

pub mod against;
pub mod cells;
pub mod numbers;
mod window;

use serde::Serialize;
use warpweft::grid::RawVolume;
use warpweft::memory::available_memory;

/// How a result compares with a reference solution.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// What it was compared with, if it was.
    pub reference: Option<String>,
    /// Why nothing was compared, or what is wrong without comparing.
    pub reason: Option<String>,
    /// The largest difference of a cell.
    pub error: Option<f64>,
    /// What rounding allows.
    pub tolerance: Option<f64>,
    /// Whether the error is within the tolerance; `None` when nothing was compared.
    pub passed: Option<bool>,
    /// What was compared where that is not the result itself, or not all of it.
    pub part: Option<String>,
}

impl Check {
    /// A comparison that was made.
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

    /// The same, of a part only.
    pub fn of(self, part: impl Into<String>) -> Self {
        Self { part: Some(part.into()), ..self }
    }

    /// A result that is known to be no good without comparing it, and why.
    pub fn failed(reason: impl Into<String>) -> Self {
        let reason = Some(reason.into());
        let passed = Some(false);
        Self { reference: None, reason, error: None, tolerance: None, passed, part: None }
    }

    /// A result that nothing was compared with, and why.
    pub fn none(reason: impl std::fmt::Display) -> Self {
        Self { passed: None, ..Self::failed(format!("the result was not checked: {reason}")) }
    }
}

/// The difference of two values; NaN when either is, for then they were not compared.
pub fn difference(a: f64, b: f64) -> f64 {
    if a == b { 0.0 } else { (a - b).abs() }
}

/// The larger of two differences, NaN when either is.
pub fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// That a result was not checked for want of memory, if there are not the bytes `needed`.
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
    fn nan_never_passes() {
        for nan in [difference(f64::NAN, 1.0), difference(f64::NAN, f64::NAN)] {
            let error =
                [difference(1.0, 1.0), nan, difference(2.0, 1.0)].into_iter().fold(0.0, worse);
            assert_eq!(Check::made("x", error, 9.0).passed, Some(false));
        }
        assert_eq!(Check::failed("x").passed, Some(false));
    }
}
