//! Comparing a result with an oracle.

use serde::Serialize;
use warpweft::element::{Fields, Scalar};
use warpweft::machine::available_memory;
use warpweft::prelude::*;
use warpweft_apps::plain::{Place, Plain};

/// Cell updates that the straightforward loop is given: about a second.
const PLAIN_UPDATES: u64 = 20_000_000;

/// How a result compares with an oracle.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// What it was compared with.
    pub oracle: String,
    /// The largest difference of a cell.
    pub error: Option<f64>,
    /// What rounding allows.
    pub tolerance: Option<f64>,
    /// Whether the error is within the tolerance; `None` when nothing was compared.
    pub passed: Option<bool>,
    /// Whether the result itself was compared, not that of a shorter run made anew.
    #[serde(skip)] // the oracle's name says so
    pub whole: bool,
}

impl Check {
    /// A comparison that was made.
    pub fn made(oracle: impl Into<String>, error: f64, tolerance: f64) -> Self {
        let passed = Some(error <= tolerance);
        Self {
            oracle: oracle.into(),
            error: Some(error),
            tolerance: Some(tolerance),
            passed,
            whole: true,
        }
    }

    /// A comparison that was not made, and why.
    pub fn none(reason: impl Into<String>) -> Self {
        Self { oracle: reason.into(), error: None, tolerance: None, passed: None, whole: false }
    }
}

/// The difference of two values; none when both are NaN or the same infinity.
pub fn difference(a: f64, b: f64) -> f64 {
    if a == b || (a.is_nan() && b.is_nan()) { 0.0 } else { (a - b).abs() }
}

/// The larger of two differences, NaN when either is.
pub fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// How often the straightforward loop is run on `cells` cells for a run of `done` steps.
pub fn plain_steps(cells: usize, done: u64) -> u64 {
    (PLAIN_UPDATES / cells.max(1) as u64).max(1).min(done)
}

/// Why a comparison with the straightforward loop is not made, if there is not the memory for it:
/// two states of `f64`, the start and the end of a shorter run, which may take three of the volume.
pub fn too_large<S: Fields, const D: usize>(start: &Volume<S, D>) -> Option<Check> {
    let values = start.len() as u64 * S::FIELDS.len() as u64;
    let of_volume: u64 = S::FIELDS.iter().map(|field| field.kind.size() as u64).sum();
    let needed = values * 24 + start.len() as u64 * of_volume * 4;
    let available = available_memory()?;
    (needed > available).then(|| {
        Check::none(format!("not compared: {needed} bytes needed for that, {available} available"))
    })
}

/// Compares `after`, the state `steps` steps after `before`, with the straightforward loop; `done`
/// is what the whole run did.
pub fn against_plain<T: Scalar, const D: usize>(
    before: &Volume<T, D>,
    after: &Volume<T, D>,
    faces: &[[Boundary; 2]; D],
    (radius, update): (usize, impl Fn(Place<'_>) -> f64),
    (steps, done): (u64, u64),
    tolerance: f64,
) -> Check {
    let cells = before.as_slice().iter().map(|&cell| cell.to_f64());
    let mut plain = Plain::new(&before.extents(), radius, faces, cells);
    for _ in 0..steps {
        plain.step(&update);
    }
    let error = after
        .as_slice()
        .iter()
        .zip(plain.cells())
        .map(|(&a, b)| difference(a.to_f64(), b))
        .fold(0.0, worse);
    straightforward((steps, done), error, tolerance)
}

/// As [`against_plain`], of several fields of floats: each error is a share of its field's largest
/// value, `step` is one step.
pub fn against<S: Fields, const D: usize>(
    before: &Volume<S, D>,
    after: &Volume<S, D>,
    faces: &[[Boundary; 2]; D],
    (radius, step): (usize, &dyn Fn(&mut Plain)),
    (steps, done): (u64, u64),
    tolerance: f64,
) -> Check {
    let all = 0..S::FIELDS.len();
    let fields = all.clone().map(|f| values(before, f));
    let mut plain = Plain::of_fields(&before.extents(), radius, faces, fields);
    (0..steps).for_each(|_| step(&mut plain));
    let mut error = 0.0;
    for f in all {
        let expect = plain.cells_of(f);
        let finite = expect.iter().filter(|value| value.is_finite());
        let most = finite.fold(f64::MIN_POSITIVE, |most, value| most.max(value.abs()));
        let differences = values(after, f).into_iter().zip(&expect);
        error = differences.map(|(a, &b)| difference(a, b) / most).fold(error, worse);
    }
    straightforward((steps, done), error, tolerance)
}

/// The cells of a field of floats.
pub fn values<S: Fields, const D: usize>(volume: &Volume<S, D>, field: usize) -> Vec<f64> {
    match volume.field::<f32>(field) {
        Some(cells) => cells.iter().map(|&cell| f64::from(cell)).collect(),
        None => volume.field::<f64>(field).unwrap_or_default().to_vec(),
    }
}

/// A comparison with the straightforward loop, which says how far that went.
fn straightforward((steps, done): (u64, u64), error: f64, tolerance: f64) -> Check {
    let name = "straightforward loop";
    if steps == done {
        return Check::made(name, error, tolerance);
    }
    let name = format!("{name}, first {steps} of {done} steps");
    Check { whole: false, ..Check::made(name, error, tolerance) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_where_it_belongs_is_no_difference_and_elsewhere_fails() {
        assert_eq!(difference(f64::NAN, f64::NAN), 0.0);
        assert_eq!(difference(f64::INFINITY, f64::INFINITY), 0.0);
        let error = [difference(1.0, 1.0), difference(f64::NAN, 1.0), difference(2.0, 1.0)]
            .into_iter()
            .fold(0.0, worse);
        assert_eq!(Check::made("x", error, 9.0).passed, Some(false));
    }

    #[test]
    fn the_loop_does_at_least_one_step_and_at_most_all() {
        assert_eq!(plain_steps(usize::MAX, 10), 1);
        assert_eq!(plain_steps(16, 10), 10);
        assert_eq!(plain_steps(1_000_000, 1_000), 20);
    }
}
