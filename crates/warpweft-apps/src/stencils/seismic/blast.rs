//! A blast: pressure released from a ball, and the exact answer to it far from any face.
//!
//! Nothing shears, so displacement is a gradient and its divergence θ obeys one wave equation,
//! `θ_tt = v_P² ∇²θ − ∇²p₀/ρ`. With `q = p₀ / (ρ v_P²)` the difference `θ − q` is a free spherical wave,
//! so `θ(r, t) = q(r) − [(r − v_P t) q(r − v_P t) + (r + v_P t) q(r + v_P t)] / 2r`.

use warpweft::grid::RawVolume;
use warpweft::prelude::*;

use super::{Elastic, Medium};

/// Overpressure `p₀(r) = strength · exp(−r²/width²)` around a cell, released at time 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blast {
    /// The cell in the middle.
    pub at: [usize; 3],
    /// Cells from there to where the pressure is 1/e.
    pub width: f64,
    /// Pressure in the middle, Pa.
    pub strength: f64,
}

impl Blast {
    /// In the middle of `extents`, two cells wide, of 1 MPa.
    pub fn in_the_middle(extents: [usize; 3]) -> Self {
        Self { at: extents.map(|n| n / 2), width: 2.0, strength: 1e6 }
    }

    /// The medium at rest with the blast in it.
    ///
    /// # Errors
    /// As [`Volume::try_from_fn`].
    pub fn start<T: Real>(&self, extents: [usize; 3]) -> Result<Volume<Elastic<T>, 3>> {
        Volume::try_par_from_fn(extents, |at| {
            let squares: f64 = (0..3).map(|d| (at[d] as f64 - self.at[d] as f64).powi(2)).sum();
            let normal = T::lit(-self.strength * (-squares / self.width.powi(2)).exp());
            let none = T::default();
            Elastic {
                vx: none,
                vy: none,
                vz: none,
                sxx: normal,
                syy: normal,
                szz: normal,
                sxy: none,
                sxz: none,
                syz: none,
                ux: none,
                uy: none,
                uz: none,
            }
        })
    }

    /// The divergence of displacement `r` metres away, `t` seconds after.
    pub fn divergence(&self, medium: &Medium, r: f64, t: f64) -> f64 {
        let width = self.width * medium.dx;
        let q = |r: f64| {
            self.strength / (medium.rho * medium.vp.powi(2)) * (-(r / width).powi(2)).exp()
        };
        let way = medium.vp * t;
        let wave = if r > 1e-6 * width {
            ((r - way) * q(r - way) + (r + way) * q(r + way)) / (2.0 * r)
        } else {
            // The derivative of s q(s) at s = v_P t.
            q(way) * (1.0 - 2.0 * (way / width).powi(2))
        };
        q(r) - wave
    }

    /// The divergence of displacement in `volume` at `at`, differenced as the stencil does; `None`
    /// where its neighbours are not inside.
    pub fn divergence_in(
        &self,
        medium: &Medium,
        volume: &RawVolume,
        at: [usize; 3],
    ) -> Option<f64> {
        let mut sum = 0.0;
        // Displacement along x is field 9 and axis 2, and so on.
        for (field, axis) in [(9, 2), (10, 1), (11, 0)] {
            let value = |by: isize| {
                let mut there = at;
                there[axis] = there[axis].checked_add_signed(by)?;
                volume.bits(there).map(|cell| cell.to_f64(volume.cell_type().kind(field), field))
            };
            sum += 9.0 / 8.0 * (value(0)? - value(-1)?) - (value(1)? - value(-2)?) / 24.0;
        }
        Some(sum / medium.dx)
    }

    /// Whether the wave is whole and alone in a volume of `extents`, `t` seconds after: clear of where it
    /// came from, and no part of it at a face yet, whatever lies beyond. It is three widths before and
    /// behind v_P t; further out there is e⁻⁹ of it.
    pub fn is_clear(&self, medium: &Medium, extents: [usize; 3], t: f64) -> bool {
        let (way, half) = (medium.vp * t / medium.dx, 3.0 * self.width);
        let to_face = |d: usize| self.at[d].min((extents[d] - 1).saturating_sub(self.at[d]));
        half <= way && (0..3).all(|d| way + half <= to_face(d) as f64)
    }

    /// Metres from the middle, along x, to where the wave turns from pressure to suction, which is
    /// v_P t away while it [is clear](Self::is_clear); `None` where nothing turns.
    pub fn front(&self, medium: &Medium, volume: &RawVolume) -> Option<f64> {
        let [z, y, x] = self.at;
        let line: Vec<f64> = (0..volume.extents()[2] - x)
            .map_while(|by| self.divergence_in(medium, volume, [z, y, x + by]))
            .collect();
        let strongest = line.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        // From outside inwards: pressure that is no mere noise, then the turn.
        let pressed = line.iter().rposition(|&value| value < -1e-3 * strongest)?;
        let outer = (1..=pressed).rev().find(|&i| line[i] < 0.0 && line[i - 1] >= 0.0)?;
        let part = line[outer - 1] / (line[outer - 1] - line[outer]);
        Some((outer as f64 - 1.0 + part) * medium.dx)
    }
}
