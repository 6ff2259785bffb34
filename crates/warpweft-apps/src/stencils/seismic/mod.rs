//! Seismic waves: an elastic medium in velocity-stress form on a staggered grid (Virieux, Levander),
//! fourth order in space, second in time (B2R, eqs. 10 and 11).
//!
//! `∂v/∂t = (1/ρ) ∇·σ`, `∂σ/∂t = λ (∇·v) I + μ (∇v + ∇vᵀ)`; displacement `∂u/∂t = v`. The medium is the same
//! everywhere. Leapfrog: velocities belong to half steps, stresses and displacements to whole ones.

mod blast;
mod element;
mod plain;

pub use blast::Blast;
pub use element::{Elastic, Shakes};
pub use plain::plain_step;

use warpweft::prelude::*;

use crate::rounded_down;

/// The speed of light, m/s.
const LIGHT: f64 = 299_792_458.0;

/// An elastic medium on a grid: lengths in metres, times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Medium {
    /// Speed of pressure waves, m/s.
    pub vp: f64,
    /// Speed of shear waves, m/s.
    pub vs: f64,
    /// Density, kg/m³.
    pub rho: f64,
    /// Between cells, m.
    pub dx: f64,
    /// Of a step, s.
    pub dt: f64,
}

impl Medium {
    /// Granite at 10 m a cell, at `courant` of the longest stable step.
    pub fn granite(courant: f64) -> Self {
        let rock = Self { vp: 5_000.0, vs: 2_887.0, rho: 2_700.0, dx: 10.0, dt: 0.0 };
        Self { dt: courant * rock.longest_step(), ..rock }
    }

    /// The longest step at which no wave grows: Δx / (√3 v_P Σ|weights|).
    pub fn longest_step(&self) -> f64 {
        self.dx / (3f64.sqrt() * self.vp * (9.0 / 8.0 + 1.0 / 24.0))
    }

    /// Lamé's first parameter, Pa.
    pub fn lambda(&self) -> f64 {
        self.rho * (self.vp * self.vp - 2.0 * self.vs * self.vs)
    }

    /// The shear modulus, Pa.
    pub fn mu(&self) -> f64 {
        self.rho * self.vs * self.vs
    }

    /// Waves in this medium, boundaries still to be said.
    ///
    /// # Errors
    /// A medium that no rock is, or a step at which waves grow.
    pub fn stencil<T: Shakes>(&self) -> Result<Stencil<Elastic<T>, 3>> {
        let Self { vp, vs, rho, dx, dt } = *self;
        // Written so that NaN is refused.
        if !(rho > 0.0 && dx > 0.0 && vs >= 0.0 && vp > vs * (4.0f64 / 3.0).sqrt() && vp < LIGHT) {
            return Err(Error::spec(
                format!("a medium of v_P {vp} and v_S {vs} m/s, {rho} kg/m³, cells of {dx} m"),
                "choose v_P above 1.155 v_S and below the speed of light, and a density and a cell size above 0",
            ));
        }
        let longest = self.longest_step();
        if !(dt > 0.0 && dt <= longest * (1.0 + 1e-12)) {
            return Err(Error::spec(
                format!("a step of {dt} s over cells of {dx} m at {vp} m/s"),
                format!(
                    "take a step above 0 and at most {} s, beyond which waves grow",
                    rounded_down(longest)
                ),
            ));
        }
        let per = dt / dx;
        Ok(T::stencil([per / rho, dt], [per * self.lambda(), per * self.mu()]))
    }

    /// The energy that leapfrog steps conserve, between two states a step apart, in joules a cell's
    /// volume: ½ ρ v(before) · v(after) + ½ σ : C⁻¹ : σ, with the stress of `before`.
    pub fn energy<T: Real>(
        &self,
        before: &Volume<Elastic<T>, 3>,
        after: &Volume<Elastic<T>, 3>,
    ) -> f64 {
        let field = |volume: &Volume<Elastic<T>, 3>, f: usize| {
            let cells = volume.field::<T>(f).unwrap_or_default();
            cells.iter().map(|cell| Scalar::to_f64(*cell)).collect::<Vec<_>>()
        };
        let product = |a: Vec<f64>, b: Vec<f64>| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let square = |f: usize| product(field(before, f), field(before, f));
        let motion: f64 = (0..3).map(|f| product(field(before, f), field(after, f))).sum();
        let stresses: f64 = (3..6).map(square).sum::<f64>() + 2.0 * (6..9).map(square).sum::<f64>();
        let [x, y, z] = [3, 4, 5].map(|f| field(before, f));
        let trace: f64 = (0..x.len()).map(|i| (x[i] + y[i] + z[i]).powi(2)).sum();
        let (lambda, mu) = (self.lambda(), self.mu());
        let strain = (stresses - lambda / (3.0 * lambda + 2.0 * mu) * trace) / (2.0 * mu);
        0.5 * (self.rho * motion + strain)
    }
}
