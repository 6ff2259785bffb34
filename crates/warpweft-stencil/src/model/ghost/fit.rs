//! Rates from samples, without a prior: least squares over non-negative rates.

use super::{Geometry, GhostModel, Kernel, Linear, Overlap, Staging};
use warpweft_core::error::{Error, Result};
use warpweft_core::tune::median;

/// One measured run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample<G> {
    /// What was run.
    pub part: G,
    /// Steps between swaps.
    pub depth: usize,
    /// Seconds a step.
    pub seconds: f64,
}

/// A fitted model and how well it reproduces its own samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// The model.
    pub model: GhostModel,
    /// Median of |predicted − measured| / measured.
    pub median_error: f64,
    /// Largest of the same.
    pub worst_error: f64,
}

/// Rates that can be told apart: a_c, b_c, a_m and b_m, network and host link taken together.
const RATES: usize = 4;

/// Fits equation (7) to samples by least squares on relative errors, every rate at least 0, with
/// outliers (beyond 2.5 median deviations) given less weight, in proportion.
///
/// The network's and the host link's latencies appear only as a sum, and their bytes nearly
/// in proportion; with `staging` the fitted link is the host's, whose bytes count both.
///
/// # Errors
/// Fewer than three samples, or all of the same depth; times that are not positive.
pub fn fit<G: Geometry>(samples: &[Sample<G>], kernel: Kernel, staging: Staging) -> Result<Fitted> {
    if let Some(bad) = samples.iter().find(|s| !(s.seconds.is_finite() && s.seconds > 0.0)) {
        return Err(Error::spec(
            format!("a sample of {} seconds a step at R = {}", bad.seconds, bad.depth),
            "measure it again",
        ));
    }
    if samples.len() < 3 || samples.iter().all(|s| s.depth == samples[0].depth) {
        return Err(Error::spec(
            format!("{} samples, which can't tell latency from work", samples.len()),
            "measure at least three, at two or more depths",
        ));
    }
    let rows: Vec<[f64; RATES]> = samples.iter().map(|s| row(s, kernel, staging)).collect();
    let mut weights = vec![1.0; rows.len()];
    let mut rates = [0.0; RATES];
    // Huber's weights settle within a few rounds; the first is plain least squares.
    for _ in 0..6 {
        rates = non_negative(&rows, &weights);
        let errors: Vec<f64> = rows.iter().map(|row| (dot(row, &rates) - 1.0).abs()).collect();
        let scale = 2.5 * median(&errors).max(1e-6);
        for (weight, error) in weights.iter_mut().zip(errors) {
            *weight = (scale / error).min(1.0);
        }
    }
    let [a_c, b_c, a_m, b_m] = rates;
    let link = Linear { per_unit: a_m, fixed: b_m };
    let (network, host_link) = match staging {
        Staging::None => (link, Linear::default()),
        Staging::Halos | Staging::Whole => (Linear::default(), link),
    };
    let compute = Linear { per_unit: a_c, fixed: b_c };
    let model = GhostModel { compute, network, host_link, kernel, staging, overlap: Overlap::None };
    Ok(assess(model, samples))
}

/// How well `model` predicts `samples`.
pub(super) fn assess<G: Geometry>(model: GhostModel, samples: &[Sample<G>]) -> Fitted {
    let error = |s: &Sample<G>| (model.predict(&s.part, s.depth).seconds / s.seconds - 1.0).abs();
    let errors: Vec<f64> = samples.iter().map(error).collect();
    let worst_error = errors.iter().copied().fold(0.0, f64::max);
    Fitted { model, median_error: median(&errors), worst_error }
}

/// The sample's equation, divided by its measured time: `row · rates = 1`.
fn row<G: Geometry>(sample: &Sample<G>, kernel: Kernel, staging: Staging) -> [f64; RATES] {
    let unit = Linear { per_unit: 1.0, fixed: 1.0 };
    let counts = GhostModel {
        compute: unit,
        network: unit,
        host_link: unit,
        kernel,
        staging,
        overlap: Overlap::None,
    };
    let (cells, launches) = counts.work(&sample.part, sample.depth);
    let bytes = match staging {
        Staging::None => sample.part.halo_bytes(sample.depth),
        _ => counts.staged_bytes(&sample.part, sample.depth),
    };
    let swaps = if bytes > 0.0 { 1.0 } else { 0.0 };
    [cells, launches, bytes, swaps].map(|x| x / (sample.depth as f64 * sample.seconds))
}

/// Weighted least squares of `rows · x = 1` over x ≥ 0: of all sets of rates left free, the best
/// whose solution is non-negative. With four rates that is 15 small solves and exact.
fn non_negative(rows: &[[f64; RATES]], weights: &[f64]) -> [f64; RATES] {
    let mut best = ([0.0; RATES], f64::INFINITY);
    for free in 1u32..1 << RATES {
        let columns: Vec<usize> = (0..RATES).filter(|c| free >> c & 1 == 1).collect();
        let Some(solution) = least_squares(rows, weights, &columns) else { continue };
        let mut rates = [0.0; RATES];
        for (&column, value) in columns.iter().zip(solution) {
            rates[column] = value;
        }
        let error: f64 =
            rows.iter().zip(weights).map(|(row, w)| w * (dot(row, &rates) - 1.0).powi(2)).sum();
        // A further rate must earn its place: rounding alone always improves a little.
        if rates.iter().all(|&rate| rate >= 0.0) && error < best.1 * 0.999 {
            best = (rates, error);
        }
    }
    best.0
}

/// Least squares over some columns by Gram-Schmidt twice over; `None` when they are dependent.
fn least_squares(rows: &[[f64; RATES]], weights: &[f64], columns: &[usize]) -> Option<Vec<f64>> {
    let roots: Vec<f64> = weights.iter().map(|w| w.sqrt()).collect();
    let n = columns.len();
    let mut q: Vec<Vec<f64>> = Vec::new();
    let mut r = vec![vec![0.0; n]; n];
    for (j, &column) in columns.iter().enumerate() {
        let mut v: Vec<f64> = rows.iter().zip(&roots).map(|(row, w)| row[column] * w).collect();
        let length = norm(&v);
        for _ in 0..2 {
            for (i, basis) in q.iter().enumerate() {
                let along: f64 = basis.iter().zip(&v).map(|(a, b)| a * b).sum();
                r[i][j] += along;
                v.iter_mut().zip(basis).for_each(|(v, b)| *v -= along * b);
            }
        }
        r[j][j] = norm(&v);
        if !(r[j][j] > 1e-9 * length && length > 0.0) {
            return None;
        }
        q.push(v.iter().map(|v| v / r[j][j]).collect());
    }
    let mut x: Vec<f64> =
        q.iter().map(|basis| basis.iter().zip(&roots).map(|(b, w)| b * w).sum()).collect();
    for j in (0..n).rev() {
        for k in j + 1..n {
            x[j] -= r[j][k] * x[k];
        }
        x[j] /= r[j][j];
    }
    Some(x)
}

fn dot(row: &[f64; RATES], rates: &[f64; RATES]) -> f64 {
    row.iter().zip(rates).map(|(a, b)| a * b).sum()
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}
