//! Heat conduction as it is measured over GPUs: the computation and the state.

use warpweft::grid::in_parts;
use warpweft::prelude::*;

/// The share of a neighbour that the peers take too.
const RATE: f32 = 0.1;

// Order two without the table of weights that `warpweft_apps::heat` reads: functions that may fault take single steps on
// parts of a volume.
#[stencil]
fn plane(u: Near<f32, 2>, rate: f32) -> f32 {
    let around = u[[-1, 0]] + u[[1, 0]] + u[[0, -1]] + u[[0, 1]];
    u[[0, 0]] + rate * (around - 4.0 * u[[0, 0]])
}

#[stencil]
fn space(u: Near<f32, 3>, rate: f32) -> f32 {
    let around = u[[-1, 0, 0]] + u[[1, 0, 0]] + u[[0, -1, 0]] + u[[0, 1, 0]];
    let around = around + u[[0, 0, -1]] + u[[0, 0, 1]];
    u[[0, 0, 0]] + rate * (around - 6.0 * u[[0, 0, 0]])
}

/// Order two in two dimensions.
pub fn plane_stencil() -> Stencil<f32, 2> {
    Stencil::of(plane(RATE)).boundary(Boundary::Dirichlet(0.0))
}

/// Order two in three dimensions.
pub fn space_stencil() -> Stencil<f32, 3> {
    Stencil::of(space(RATE)).boundary(Boundary::Dirichlet(0.0))
}

/// A volume of stirred values, filled by all cores.
pub fn filled<const D: usize>(extents: [usize; D]) -> Result<Volume<f32, D>> {
    let mut volume = Volume::<f32, D>::zeroed(extents)?;
    in_parts(volume.as_mut_slice(), 1 << 16, |first, cells| {
        for (n, cell) in cells.iter_mut().enumerate() {
            let index = (first + n) as u32;
            *cell = (index.wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0;
        }
    });
    Ok(volume)
}
