//! Tricubic interpolation: every cell takes the value of the cubic through 64 neighbours at a point
//! of its own.
//!
//! The weights of offsets −1, 0, 1, 2 along an axis are those of Lagrange's cubic at `−a`:
//! `a(a+1)(a+2)/6`, `−(a−1)(a+1)(a+2)/2`, `(a−1)a(a+2)/2`, `−(a−1)a(a+1)/6`. One step moves the field
//! by (a, b, c) cells along (x, y, z): semi-Lagrangian advection.

use warpweft::prelude::*;

use crate::plain::Plain;

/// A cell: the field and how far it moves in a step.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
#[repr(C)]
pub struct Moved<T: Real> {
    /// What is interpolated.
    pub u: T,
    /// Cells along x; within −1 to 0 the point lies between the inner neighbours.
    pub a: T,
    /// Cells along y.
    pub b: T,
    /// Cells along z.
    pub c: T,
}

/// The weights of offsets −1, 0, 1 and 2.
#[device]
fn weights<T: Real>(a: T) -> [T; 4] {
    let (before, after, far) = (a - T::lit(1.0), a + T::lit(1.0), a + T::lit(2.0));
    [
        a * after * far * T::lit(1.0 / 6.0),
        before * after * far * T::lit(-0.5),
        before * a * far * T::lit(0.5),
        before * a * after * T::lit(-1.0 / 6.0),
    ]
}

/// What one cell does in a step.
#[stencil]
fn tricubic<T: Real>(now: Near<Moved<T>, 3>, next: &mut Moved<T>) {
    let wx = weights(now.a[[0, 0, 0]]);
    let wy = weights(now.b[[0, 0, 0]]);
    let wz = weights(now.c[[0, 0, 0]]);
    let mut sum = T::default();
    for z in -1..3 {
        let mut plane = T::default();
        for y in -1..3 {
            let row = wx[0] * now.u[[z, y, -1]]
                + wx[1] * now.u[[z, y, 0]]
                + wx[2] * now.u[[z, y, 1]]
                + wx[3] * now.u[[z, y, 2]];
            plane += wy[(y + 1) as usize] * row;
        }
        sum += wz[(z + 1) as usize] * plane;
    }
    next.u = sum;
}

/// A scalar that can be interpolated.
pub trait Moves: Real {
    /// The interpolation, boundaries still to be said.
    fn stencil() -> Stencil<Moved<Self>, 3>;
}

impl Moves for f32 {
    fn stencil() -> Stencil<Moved<f32>, 3> {
        Stencil::of(tricubic())
    }
}

impl Moves for f64 {
    fn stencil() -> Stencil<Moved<f64>, 3> {
        Stencil::of(tricubic())
    }
}

/// A ball of dye in a flow that turns around the volume's middle and rises: nowhere faster than a cell
/// a step.
///
/// # Errors
/// As [`Volume::try_from_fn`].
pub fn whirl<T: Real>(extents: [usize; 3]) -> Result<Volume<Moved<T>, 3>> {
    Volume::try_par_from_fn(extents, |at| {
        let [z, y, x] =
            std::array::from_fn(|d| 2.0 * (at[d] as f64 + 0.5) / extents[d] as f64 - 1.0);
        let ball = z * z + y * y + (x - 0.45).powi(2);
        Moved {
            u: T::lit((-ball / 0.06).exp()),
            a: T::lit(-0.5 - 0.5 * y),
            b: T::lit(-0.5 + 0.5 * x),
            c: T::lit(-0.25),
        }
    })
}

/// One step of the straightforward loop.
pub fn plain_step(plain: &mut Plain) {
    // Lagrange's basis polynomial of node `j` at `x`.
    let basis = |j: isize, x: f64| {
        let others = (-1..3).filter(|&k| k != j);
        others.map(|k| (x - k as f64) / (j - k) as f64).product::<f64>()
    };
    plain.step(|u| {
        let [a, b, c] = [1, 2, 3].map(|field| -u.of(field).at([0, 0, 0]));
        let mut sum = 0.0;
        for z in -1..3 {
            for y in -1..3 {
                for x in -1..3 {
                    sum += basis(z, c) * basis(y, b) * basis(x, a) * u.at([z, y, x]);
                }
            }
        }
        sum
    });
}
