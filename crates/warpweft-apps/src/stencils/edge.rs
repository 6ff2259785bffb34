//! Reverse edge detection: a picture put together again from its edges, by Jacobi's iteration.
//!
//! `image' = ¼ (north + south + west + east − edge)`, where `edge` is the sum of the four neighbours
//! less four times the pixel. It starts white (255), and its fixed point is the picture.

use warpweft::prelude::*;

use crate::plain::{Place, Plain};

/// A pixel: what it is by now, and the edge found there.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
#[repr(C)]
pub struct Pixel {
    /// Grey, 0 to 255 once it has converged.
    pub image: f32,
    /// The sum of the four neighbours less four times the pixel.
    pub edge: f32,
}

/// The grey that everything starts from, and that lies around the picture.
pub const WHITE: f32 = 255.0;

/// What one pixel does in a step.
#[stencil]
fn reverse_edge(now: Near<Pixel, 2>, next: &mut Pixel) {
    let around = now.image[[-1, 0]] + now.image[[1, 0]] + now.image[[0, -1]] + now.image[[0, 1]];
    next.image = 0.25 * (around - now.edge[[0, 0]]);
}

/// The iteration, boundaries still to be said.
pub fn stencil() -> Stencil<Pixel, 2> {
    Stencil::of(reverse_edge())
}

/// The white start with the edges of the image in `picture`, found under the boundaries `faces`.
///
/// # Errors
/// As [`Volume::try_from_fn`].
pub fn edges_of(
    picture: &Volume<Pixel, 2>,
    faces: &[[Boundary; 2]; 2],
) -> Result<Volume<Pixel, 2>> {
    let greys = picture.field::<f32>(0).unwrap_or_default();
    let cells = greys.iter().map(|&grey| f64::from(grey));
    let mut plain = Plain::new(&picture.extents(), 1, faces, cells);
    plain.step(|u| u.both_sides(1, 1) + u.both_sides(2, 1) - 4.0 * u.at([0, 0, 0]));
    let mut edges = plain.cells().into_iter();
    Volume::try_from_fn(picture.extents(), |_| Pixel {
        image: WHITE,
        edge: edges.next().unwrap_or_default() as f32,
    })
}

/// Rings that grow finer outwards: a picture with edges of every direction and width.
///
/// # Errors
/// As [`Volume::try_from_fn`].
pub fn rings(extents: [usize; 2]) -> Result<Volume<Pixel, 2>> {
    let middle = extents.map(|n| (n as f64 - 1.0) / 2.0);
    Volume::try_from_fn(extents, |[y, x]| {
        // Of a single row or column, that is the middle.
        let from = |at: usize, middle: f64| (at as f64 - middle) / middle.max(0.5);
        let (y, x) = (from(y, middle[0]), from(x, middle[1]));
        let image = (127.5 + 127.5 * (24.0 * (x * x + y * y)).cos()).round() as f32;
        Pixel { image, edge: 0.0 }
    })
}

/// One step of the straightforward loop.
pub fn plain_step(u: Place<'_>) -> f64 {
    0.25 * (u.both_sides(1, 1) + u.both_sides(2, 1) - u.of(1).at([0, 0, 0]))
}
