//! The straightforward loop of elastic waves: tensors by index, no unrolling, `f64`.

use super::Medium;
use crate::plain::{Place, Plain};

/// Of a staggered difference: below the face in between, nearest first, each less than above.
const WEIGHTS: [f64; 2] = [9.0 / 8.0, -1.0 / 24.0];

/// The field of stress between axes `a` and `b`, where axes 0, 1 and 2 are x, y and z.
fn stress(a: usize, b: usize) -> usize {
    if a == b { 3 + a } else { 5 + a + b }
}

/// The derivative of `f` along axis `a`, half a cell above the cell or (`up` 0) half a cell below.
fn derivative(f: Place<'_>, a: usize, up: isize, dx: f64) -> f64 {
    let at = |n: isize| {
        let mut offset = [0; 3];
        offset[2 - a] = n;
        f.at(offset)
    };
    let pairs = WEIGHTS.iter().zip(0isize..);
    pairs.map(|(weight, k)| weight * (at(up + k) - at(up - 1 - k))).sum::<f64>() / dx
}

/// One step of the straightforward loop.
pub fn plain_step(medium: &Medium, plain: &mut Plain) {
    let Medium { dx, dt, rho, .. } = *medium;
    let (lambda, mu) = (medium.lambda(), medium.mu());
    plain.step_fields([0, 1, 2, 9, 10, 11], |place| {
        let mut new = [0.0; 6];
        for a in 0..3 {
            let force: f64 = (0..3)
                .map(|b| derivative(place.of(stress(a, b)), b, isize::from(a == b), dx))
                .sum();
            new[a] = place.of(a).at([0; 3]) + dt / rho * force;
            new[3 + a] = place.of(9 + a).at([0; 3]) + dt * new[a];
        }
        new
    });
    plain.step_fields([3, 4, 5, 6, 7, 8], |place| {
        // Of velocity b along axis a: where they are the same in the cell's middle, else on its edge.
        let gradient = |a: usize, b: usize| derivative(place.of(b), a, isize::from(a != b), dx);
        let divergence: f64 = (0..3).map(|a| gradient(a, a)).sum();
        let mut new = [0.0; 6];
        for a in 0..3 {
            for b in a..3 {
                let rate = mu * (gradient(a, b) + gradient(b, a))
                    + if a == b { lambda * divergence } else { 0.0 };
                new[stress(a, b) - 3] = place.of(stress(a, b)).at([0; 3]) + dt * rate;
            }
        }
        new
    });
}
