//! Hyperthermia: temperatures of tissue that is heated from outside and cooled by its blood.
//!
//! `T' = T (c0 T + c1) + c2 + c3 T(x−1) + c4 T(x+1) + c5 T(y−1) + c6 T(y+1) + c7 T(z−1) + c8 T(z+1)`,
//! each coefficient a grid of its own: Pennes' bioheat equation with a blood flow that grows with
//! temperature.

use warpweft::prelude::*;

use crate::plain::Plain;

/// A cell of tissue: its temperature and nine coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
#[repr(C)]
pub struct Tissue<T: Real> {
    /// Temperature in °C.
    pub t: T,
    /// Of T².
    pub c0: T,
    /// Of T.
    pub c1: T,
    /// What is added in each step.
    pub c2: T,
    /// Of the neighbours at x − 1, x + 1, y − 1, y + 1, z − 1 and z + 1.
    pub c3: T,
    /// See `c3`.
    pub c4: T,
    /// See `c3`.
    pub c5: T,
    /// See `c3`.
    pub c6: T,
    /// See `c3`.
    pub c7: T,
    /// See `c3`.
    pub c8: T,
}

/// What one cell does in a step.
#[stencil]
fn hyperthermia<T: Real>(now: Near<Tissue<T>, 3>, next: &mut Tissue<T>) {
    let here = now.t[[0, 0, 0]];
    next.t = here * (now.c0[[0, 0, 0]] * here + now.c1[[0, 0, 0]])
        + now.c2[[0, 0, 0]]
        + now.c3[[0, 0, 0]] * now.t[[0, 0, -1]]
        + now.c4[[0, 0, 0]] * now.t[[0, 0, 1]]
        + now.c5[[0, 0, 0]] * now.t[[0, -1, 0]]
        + now.c6[[0, 0, 0]] * now.t[[0, 1, 0]]
        + now.c7[[0, 0, 0]] * now.t[[-1, 0, 0]]
        + now.c8[[0, 0, 0]] * now.t[[1, 0, 0]];
}

/// The temperature of blood, °C.
pub const BLOOD: f64 = 37.0;

/// What a step does to a cell of tissue that conducts `kappa` (diffusion number) to each neighbour,
/// whose blood takes away `(flow + growth · T) (T − BLOOD)`, heated by `heat` °C a step.
pub fn tissue<T: Real>(t: f64, kappa: f64, flow: f64, growth: f64, heat: f64) -> Tissue<T> {
    let k = T::lit(kappa);
    Tissue {
        t: T::lit(t),
        c0: T::lit(-growth),
        c1: T::lit(1.0 - 6.0 * kappa - flow + growth * BLOOD),
        c2: T::lit(flow * BLOOD + heat),
        c3: k,
        c4: k,
        c5: k,
        c6: k,
        c7: k,
        c8: k,
    }
}

/// A body at the temperature of blood: fat around muscle, with an antenna's focus in it and a tumour,
/// which has less blood, next to it.
///
/// # Errors
/// As [`Volume::try_from_fn`].
pub fn body<T: Real>(extents: [usize; 3]) -> Result<Volume<Tissue<T>, 3>> {
    Volume::try_par_from_fn(extents, |at| {
        // Coordinates from −1 to 1.
        let [z, y, x] =
            std::array::from_fn(|d| 2.0 * (at[d] as f64 + 0.5) / extents[d] as f64 - 1.0);
        let from = |[a, b, c]: [f64; 3]| (z - a).powi(2) + (y - b).powi(2) + (x - c).powi(2);
        let heat = 0.05 * (-from([0.1, 0.0, 0.2]) / 0.08).exp();
        let (kappa, flow) = if from([0.0; 3]) > 0.8 {
            (0.04, 0.0005)
        } else if from([0.1, 0.1, 0.3]) < 0.04 {
            (0.11, 0.001)
        } else {
            (0.1, 0.004)
        };
        tissue(BLOOD, kappa, flow, 1e-5, heat)
    })
}

/// A scalar that tissue can be computed in.
pub trait Warms: Real {
    /// The simulation, boundaries still to be said.
    fn stencil() -> Stencil<Tissue<Self>, 3>;
}

// For each scalar by itself, here as in other applications: the loops of an element are then
// compiled once, and not again in every program and test that uses them.
impl Warms for f32 {
    fn stencil() -> Stencil<Tissue<f32>, 3> {
        Stencil::of(hyperthermia())
    }
}

impl Warms for f64 {
    fn stencil() -> Stencil<Tissue<f64>, 3> {
        Stencil::of(hyperthermia())
    }
}

/// One step of the straightforward loop.
pub fn plain_step(plain: &mut Plain) {
    plain.step(|u| {
        let c = |n: usize| u.of(1 + n).at([0, 0, 0]);
        let mut t = c(2) + u.at([0, 0, 0]) * c(1) + u.at([0, 0, 0]) * u.at([0, 0, 0]) * c(0);
        let around = [[0, 0, -1], [0, 0, 1], [0, -1, 0], [0, 1, 0], [-1, 0, 0], [1, 0, 0]];
        for (n, offset) in around.into_iter().enumerate() {
            t += c(3 + n) * u.at(offset);
        }
        t
    });
}
