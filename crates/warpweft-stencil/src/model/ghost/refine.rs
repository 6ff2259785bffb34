//! Rates from a prior and a few samples: for searches that can afford only some runs.

use super::fit::assess;
use super::{Fitted, Geometry, GhostModel, Sample};

/// The six rates of a model, as logarithms: always positive, and a factor either way costs alike.
const RATES: usize = 6;

/// How far, in log units, a prior rate is trusted: a factor e either way is one deviation.
const PRIOR_DEVIATION: f64 = 1.0;
/// Relative error that a sample is trusted to: noise plus what the model leaves out.
const SAMPLE_DEVIATION: f64 = 0.02;

/// Factors on network and compute rates from which the fit is begun anew: where communication is
/// hidden a small change of the network changes nothing, and a single descent would never leave.
const STARTS: [[f64; 2]; 8] = [
    [1.0, 1.0],
    [4.0, 1.0],
    [16.0, 1.0],
    [0.25, 1.0],
    [1.0, 0.25],
    [4.0, 0.25],
    [16.0, 0.25],
    [0.25, 4.0],
];

/// Moves the rates of `prior` to explain `samples` (any strategy, overlap included), no further
/// than they force it to: the most probable rates under log-normal errors, by Levenberg-Marquardt
/// from several starts.
///
/// A rate that no sample depends on keeps its prior value, a rate of 0 stays 0, and no samples
/// give the prior back.
pub fn refine<G: Geometry>(prior: &GhostModel, samples: &[Sample<G>]) -> Fitted {
    let mut best = (rates(prior).map(log), f64::INFINITY);
    for [network, compute] in STARTS {
        let mut start = *prior;
        start.compute.per_unit *= compute;
        start.compute.fixed *= compute;
        for link in [&mut start.network, &mut start.host_link] {
            link.per_unit *= network;
            link.fixed *= network;
        }
        let found = descend(prior, rates(&start).map(log), samples);
        if found.1 < best.1 {
            best = found;
        }
    }
    assess(with_rates(prior, &best.0), samples)
}

/// The least squares reached from `start`, and their sum.
fn descend<G: Geometry>(
    prior: &GhostModel,
    start: [f64; RATES],
    samples: &[Sample<G>],
) -> ([f64; RATES], f64) {
    let known = rates(prior).map(log);
    let residuals = |x: &[f64; RATES]| -> Vec<f64> {
        let model = with_rates(prior, x);
        let of_sample = |s: &Sample<G>| {
            (model.predict(&s.part, s.depth).seconds / s.seconds).ln() / SAMPLE_DEVIATION
        };
        let measured = samples.iter().filter(|s| s.seconds > 0.0).map(of_sample);
        measured.chain((0..RATES).map(|i| (x[i] - known[i]) / PRIOR_DEVIATION)).collect()
    };
    let cost = |r: &[f64]| r.iter().map(|r| r * r).sum::<f64>();
    let mut x = start;
    let mut now = residuals(&x);
    let mut damping = 1e-2;
    for _ in 0..60 {
        let columns: [Vec<f64>; RATES] = std::array::from_fn(|i| {
            let mut moved = x;
            moved[i] += 1e-4;
            residuals(&moved).iter().zip(&now).map(|(a, b)| (a - b) / 1e-4).collect()
        });
        let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut matrix = [[0.0; RATES]; RATES];
        let mut right = [0.0; RATES];
        for i in 0..RATES {
            for j in 0..RATES {
                matrix[i][j] = inner(&columns[i], &columns[j]);
            }
            matrix[i][i] *= 1.0 + damping;
            right[i] = -inner(&columns[i], &now);
        }
        let step = solve(matrix, right);
        let moved: [f64; RATES] = std::array::from_fn(|i| x[i] + step[i].clamp(-1.0, 1.0));
        let then = residuals(&moved);
        if cost(&then) < cost(&now) {
            let gain = 1.0 - cost(&then) / cost(&now);
            (x, now, damping) = (moved, then, damping * 0.3);
            if gain < 1e-6 {
                break;
            }
        } else {
            damping *= 10.0;
            if damping > 1e8 {
                break;
            }
        }
    }
    let reached = cost(&now);
    (x, reached)
}

/// The logarithm of a rate; one that is 0 stays out of the way.
fn log(rate: f64) -> f64 {
    rate.max(1e-30).ln()
}

fn rates(model: &GhostModel) -> [f64; RATES] {
    let (c, n, h) = (model.compute, model.network, model.host_link);
    [c.per_unit, c.fixed, n.per_unit, n.fixed, h.per_unit, h.fixed]
}

/// `prior` with the rates whose logarithms are `x`; what was 0 stays 0.
fn with_rates(prior: &GhostModel, x: &[f64; RATES]) -> GhostModel {
    let known = rates(prior);
    let r: [f64; RATES] = std::array::from_fn(|i| if known[i] > 0.0 { x[i].exp() } else { 0.0 });
    let mut model = *prior;
    (model.compute.per_unit, model.compute.fixed) = (r[0], r[1]);
    (model.network.per_unit, model.network.fixed) = (r[2], r[3]);
    (model.host_link.per_unit, model.host_link.fixed) = (r[4], r[5]);
    model
}

/// Solves a positive definite system by elimination; the prior keeps every pivot away from 0.
fn solve(mut a: [[f64; RATES]; RATES], mut b: [f64; RATES]) -> [f64; RATES] {
    for i in 0..RATES {
        for j in i + 1..RATES {
            let factor = a[j][i] / a[i][i];
            for k in i..RATES {
                a[j][k] -= factor * a[i][k];
            }
            b[j] -= factor * b[i];
        }
    }
    for i in (0..RATES).rev() {
        for k in i + 1..RATES {
            b[i] -= a[i][k] * b[k];
        }
        b[i] /= a[i][i];
    }
    b
}
