//! The exact solution of the discrete heat equation from a hot spot.
//!
//! Cosines and sines that fit the boundaries are eigenvectors of a symmetric difference operator,
//! so one explicit step multiplies each by a known factor. The hot spot is a product of sums of few
//! of them. It lies across or near the faces, or slopes at them, so that a boundary gone wrong shows.

use std::f64::consts::PI;
use std::ops::Range;

use warpweft::stencil::Boundary;

use super::rounding::Rounding;

/// Sum of modes along one axis: `coefficient × f(k φ(x))`.
#[derive(Clone, Debug)]
struct Axis {
    /// Values of each mode in every cell, and its coefficient folded in.
    modes: Vec<Vec<f64>>,
    /// Eigenvalue of the second difference for each mode.
    eigenvalues: Vec<f64>,
}

/// The solution at every step: what the hot spot becomes.
#[derive(Clone, Debug)]
pub struct HotSpot {
    axes: [Axis; 3],
    rate: f64,
    base: f64,
}

impl HotSpot {
    /// The hot spot on a grid of 1 to 3 axes, with the weights of the second difference, centre
    /// first; `None` where no mode fits: a face that is a function, a Dirichlet face with a footprint wider than one cell, or
    /// Dirichlet faces that differ.
    pub fn new(
        extents: &[usize],
        boundaries: &[[Boundary; 2]],
        weights: &[f64],
        rate: f64,
    ) -> Option<Self> {
        let mut base = None;
        for &face in boundaries.as_flattened() {
            if let Boundary::Dirichlet(value) = face {
                if weights.len() > 2 || base.is_some_and(|base| base != value) {
                    return None;
                }
                base = Some(value);
            }
            if face == Boundary::Function {
                return None;
            }
        }
        // A missing axis holds the constant mode, which nothing changes.
        let constant = || Axis { modes: vec![vec![1.0]], eigenvalues: vec![0.0] };
        let mut axes = [constant(), constant(), constant()];
        let missing = 3usize.checked_sub(extents.len())?;
        for (d, axis) in axes[missing..].iter_mut().enumerate() {
            *axis = Axis::new(extents[d], boundaries[d], weights);
        }
        Some(Self { axes, rate, base: base.unwrap_or(0.0) })
    }

    /// Calls `row(index, values)` for every row along the last axis after `steps` steps.
    pub fn rows(&self, steps: u64, row: impl FnMut(usize, &[f64])) {
        self.some_rows(0..self.number_of_rows(), steps, row);
    }

    /// Rows along the last axis.
    pub fn number_of_rows(&self) -> usize {
        self.axes[0].modes[0].len() * self.axes[1].modes[0].len()
    }

    /// As [`HotSpot::rows`], for the rows with these numbers only.
    pub fn some_rows(&self, rows: Range<usize>, steps: u64, mut row: impl FnMut(usize, &[f64])) {
        let [az, ay, ax] = &self.axes;
        let (ny, nx) = (ay.modes[0].len(), ax.modes[0].len());
        // What each triple of modes is multiplied by in `steps` steps.
        let mut factors = Vec::new();
        for &lz in &az.eigenvalues {
            for &ly in &ay.eigenvalues {
                for &lx in &ax.eigenvalues {
                    let factor = 1.0 + self.rate * (lz + ly + lx);
                    factors.push(power(factor, steps));
                }
            }
        }
        let mut values = vec![0.0; nx];
        let mut along_x = vec![0.0; ax.modes.len()];
        for number in rows {
            let (z, y) = (number / ny, number % ny);
            along_x.fill(0.0);
            let mut at = 0;
            for mode_z in &az.modes {
                for mode_y in &ay.modes {
                    for sum in &mut along_x {
                        *sum += mode_z[z] * mode_y[y] * factors[at];
                        at += 1;
                    }
                }
            }
            values.fill(self.base);
            for (mode, &part) in ax.modes.iter().zip(&along_x) {
                for (value, &cell) in values.iter_mut().zip(mode) {
                    *value += part * cell;
                }
            }
            row(number, &values);
        }
    }
}

/// How wrong a coefficient must be to be found out, as a fraction.
const WRONG: f64 = 0.02;

impl HotSpot {
    /// Every mode's magnitude at first and its factor a step; what never changes is one with factor 1.
    fn modes(&self) -> Vec<(f64, f64)> {
        let [az, ay, ax] = &self.axes;
        let largest = |axis: &Axis| -> Vec<(f64, f64)> {
            let top = |mode: &Vec<f64>| mode.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            axis.modes.iter().map(top).zip(axis.eigenvalues.iter().copied()).collect()
        };
        let (z, y, x) = (largest(az), largest(ay), largest(ax));
        let mut modes = vec![(self.base.abs(), 1.0)];
        for (cz, lz) in z {
            for &(cy, ly) in &y {
                for &(cx, lx) in &x {
                    modes.push((cz * cy * cx, 1.0 + self.rate * (lz + ly + lx)));
                }
            }
        }
        modes
    }

    /// The error that may be found after `steps` steps.
    pub fn allowed(&self, steps: u64, rounding: &Rounding) -> f64 {
        let modes = self.modes();
        let at = |step: u64| modes.iter().map(|(a, f)| a * power(f.abs(), step)).sum::<f64>();
        let sum = modes.iter().map(|(a, f)| a * geometric(f.abs(), steps)).sum();
        rounding.allowed(at(0).max(at(steps)), sum, steps)
    }

    /// After how many of `steps` steps a comparison tells most: after all of them, unless a
    /// coefficient wrong by a fiftieth would show at an earlier one only, before all has decayed.
    pub fn telling(&self, steps: u64, rounding: &Rounding) -> u64 {
        let modes = self.modes();
        let shows = |step: u64| {
            let lost =
                |(a, f): &(f64, f64)| a * step as f64 * (1.0 - f).abs() * power(f.abs(), step);
            WRONG * modes.iter().map(lost).sum::<f64>() / self.allowed(step, rounding)
        };
        if shows(steps) >= 1.0 {
            return steps;
        }
        let earlier = (0..64).map(|bit| 1 << bit).take_while(|&step| step < steps);
        let best = earlier.max_by(|&a, &b| shows(a).total_cmp(&shows(b)));
        best.filter(|&step| shows(step) >= 1.0).unwrap_or(steps)
    }
}

/// The sum of the first `terms` powers of `ratio`.
fn geometric(ratio: f64, terms: u64) -> f64 {
    if (1.0 - ratio).abs() < 1e-12 {
        terms as f64
    } else {
        (1.0 - power(ratio, terms)) / (1.0 - ratio)
    }
}

fn power(factor: f64, steps: u64) -> f64 {
    // `powi` takes 32 bits; the sign of a negative factor is kept by splitting off whole halves.
    match i32::try_from(steps) {
        Ok(steps) => factor.powi(steps),
        Err(_) => {
            factor.abs().powf(steps as f64) * if steps % 2 == 1 { factor.signum() } else { 1.0 }
        }
    }
}

impl Axis {
    fn new(n: usize, faces: [Boundary; 2], weights: &[f64]) -> Self {
        // Where the solution is symmetric or zero, in cells from the first one.
        let end = |face: Boundary, high: bool| {
            let outward = match face {
                Boundary::Mirror => 0.0,
                Boundary::Neumann => 0.5,
                Boundary::Dirichlet(_) | Boundary::Function => 1.0,
                Boundary::Periodic => 0.5,
            };
            if high { n as f64 - 1.0 + outward } else { -outward }
        };
        let (a, b) = (end(faces[0], false), end(faces[1], true));
        let held = faces.map(|face| matches!(face, Boundary::Dirichlet(_)));
        let periodic = faces[0] == Boundary::Periodic;
        let length = b - a;
        // Angle at the first cell, its growth from cell to cell, and the modes: multiple, coefficient.
        let (first, slope) = match held {
            // Half a wave of sine between two held ends, a quarter between a held and a free one.
            [true, true] => (PI * -a / length, PI / length),
            [true, false] => (0.5 * PI * -a / length, 0.5 * PI / length),
            [false, true] => (0.5 * PI * b / length, -0.5 * PI / length),
            // A whole wave around, its top an eighth from the first face; else half a wave.
            [false, false] if periodic => (-0.25 * PI, 2.0 * PI / length),
            [false, false] => (PI * -a / length, PI / length),
        };
        let sine = held[0] || held[1];
        let modes: &[(f64, f64)] = if sine {
            &[(1.0, 0.9), (3.0, -0.1)]
        } else if periodic {
            // cos⁸(φ/2) = (35 + 56 cos φ + 28 cos 2φ + 8 cos 3φ + cos 4φ) / 128
            &[(0.0, 0.2734375), (1.0, 0.4375), (2.0, 0.21875), (3.0, 0.0625), (4.0, 0.0078125)]
        } else {
            &[(0.0, 0.4), (1.0, 0.35), (2.0, 0.25)]
        };
        let wave = |k: f64, x: usize| {
            let angle = k * (first + slope * x as f64);
            if sine { angle.sin() } else { angle.cos() }
        };
        let eigenvalue = |k: f64| {
            let sum = |(j, w): (usize, &f64)| 2.0 * w * (j as f64 * k * slope).cos();
            weights[0] + weights.iter().enumerate().skip(1).map(sum).sum::<f64>()
        };
        Self {
            modes: modes.iter().map(|&(k, c)| (0..n).map(|x| c * wave(k, x)).collect()).collect(),
            eigenvalues: modes.iter().map(|&(k, _)| eigenvalue(k)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heat::weights;
    use crate::plain::Plain;

    fn values(spot: &HotSpot, steps: u64) -> Vec<f64> {
        let mut all = Vec::new();
        spot.rows(steps, |_, row| all.extend_from_slice(row));
        all
    }

    #[test]
    fn it_is_what_a_straightforward_loop_computes() {
        use Boundary::{Dirichlet, Mirror, Neumann, Periodic};
        let pairs = [
            [Periodic, Periodic],
            [Neumann, Neumann],
            [Mirror, Mirror],
            [Neumann, Mirror],
            [Dirichlet(0.5), Dirichlet(0.5)],
            [Dirichlet(0.5), Mirror],
            [Neumann, Dirichlet(0.5)],
        ];
        for order in [2, 4, 6, 8] {
            let weights = weights(order).unwrap();
            for faces in pairs {
                let boundaries = [faces, [Periodic; 2], [Neumann; 2]];
                let extents = [9, 10, 11];
                let Some(spot) = HotSpot::new(&extents, &boundaries, weights, 0.1) else {
                    assert!(order > 2 && faces.iter().any(|f| matches!(f, Dirichlet(_))));
                    continue;
                };
                let mut plain = Plain::new(&extents, order / 2, &boundaries, values(&spot, 0));
                for _ in 0..20 {
                    plain.step(|u| {
                        let mut sum = 3.0 * weights[0] * u.at([0, 0, 0]);
                        for d in 0..3 {
                            for (k, w) in weights.iter().enumerate().skip(1) {
                                sum += w * u.both_sides(d, k);
                            }
                        }
                        u.at([0, 0, 0]) + 0.1 * sum
                    });
                }
                let error = plain
                    .cells()
                    .iter()
                    .zip(values(&spot, 20))
                    .map(|(a, b)| (a - b).abs())
                    .fold(0.0, f64::max);
                assert!(error < 1e-13, "order {order}, {faces:?}: {error:e}");
            }
        }
    }

    #[test]
    fn the_spot_reaches_the_faces_it_is_free_or_periodic_at_and_slopes_at_held_ones() {
        let line = |faces| {
            let spot = HotSpot::new(&[64], &[faces], weights(2).unwrap(), 0.25);
            values(&spot.unwrap(), 0)
        };
        let around = line([Boundary::Periodic; 2]);
        assert!((around[8] - 1.0).abs() < 1e-12 && around[0] > 0.5 && around[63] > 0.4);
        let free = line([Boundary::Neumann; 2]);
        assert!(free[0] > 0.9 && free[63] > 0.2);
        let held = line([Boundary::Dirichlet(0.0); 2]);
        assert!(held[0] > 0.02 && (held[0] - held[63]).abs() < 1e-12 && held[31] > 0.99);
    }

    #[test]
    fn large_numbers_of_steps_keep_the_sign() {
        assert_eq!(power(-1.0, (1 << 40) + 1), -1.0);
        assert_eq!(power(-1.0, 3), -1.0);
    }
}
