//! The Himeno benchmark: Poisson's equation for pressure in general coordinates, by Jacobi's iteration
//! with over-relaxation.
//!
//! Arrays as in the benchmark: p; a0–a3, b0–b2 and c0–c2, the coefficients; bnd, 1 inside and 0 where
//! pressure is held; wrk, the source. `gosa` is Σ ss² of the last step, where each inner cell moves by
//! ω · ss. The benchmark leaves out the outermost cells; here their bnd is 0, which does the same.

use warpweft::grid::{RawVolume, over_parts};
use warpweft::prelude::*;

use crate::plain::Plain;

/// A cell of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
#[repr(C)]
#[allow(missing_docs, reason = "the benchmark's own names")]
pub struct Cell<T: Real> {
    pub p: T,
    pub a0: T,
    pub a1: T,
    pub a2: T,
    pub a3: T,
    pub b0: T,
    pub b1: T,
    pub b2: T,
    pub c0: T,
    pub c1: T,
    pub c2: T,
    pub bnd: T,
    pub wrk: T,
}

/// Over-relaxation.
pub const OMEGA: f64 = 0.8;
/// Floating-point operations of an inner cell, as the benchmark counts them.
pub const FLOPS: f64 = 34.0;

/// The benchmark's sizes: name and cells along i, j and k.
pub const SIZES: [(&str, [usize; 3]); 5] = [
    ("XS", [32, 32, 64]),
    ("S", [64, 64, 128]),
    ("M", [128, 128, 256]),
    ("L", [256, 256, 512]),
    ("XL", [512, 512, 1024]),
];

/// What one cell does in a step; axes are i, j, k.
#[stencil]
fn jacobi<T: Real>(now: Near<Cell<T>, 3>, next: &mut Cell<T>, omega: T) {
    let s0 = now.a0[[0, 0, 0]] * now.p[[1, 0, 0]]
        + now.a1[[0, 0, 0]] * now.p[[0, 1, 0]]
        + now.a2[[0, 0, 0]] * now.p[[0, 0, 1]]
        + now.b0[[0, 0, 0]]
            * (now.p[[1, 1, 0]] - now.p[[1, -1, 0]] - now.p[[-1, 1, 0]] + now.p[[-1, -1, 0]])
        + now.b1[[0, 0, 0]]
            * (now.p[[0, 1, 1]] - now.p[[0, -1, 1]] - now.p[[0, 1, -1]] + now.p[[0, -1, -1]])
        + now.b2[[0, 0, 0]]
            * (now.p[[1, 0, 1]] - now.p[[-1, 0, 1]] - now.p[[1, 0, -1]] + now.p[[-1, 0, -1]])
        + now.c0[[0, 0, 0]] * now.p[[-1, 0, 0]]
        + now.c1[[0, 0, 0]] * now.p[[0, -1, 0]]
        + now.c2[[0, 0, 0]] * now.p[[0, 0, -1]]
        + now.wrk[[0, 0, 0]];
    let ss = (s0 * now.a3[[0, 0, 0]] - now.p[[0, 0, 0]]) * now.bnd[[0, 0, 0]];
    next.p = now.p[[0, 0, 0]] + omega * ss;
}

/// A scalar that the iteration can be done in.
pub trait Relaxes: Real {
    /// The iteration, boundaries still to be said: they don't matter where the outermost bnd is 0.
    fn stencil() -> Stencil<Cell<Self>, 3>;
}

impl Relaxes for f32 {
    fn stencil() -> Stencil<Cell<f32>, 3> {
        Stencil::of(jacobi(OMEGA as f32))
    }
}

impl Relaxes for f64 {
    fn stencil() -> Stencil<Cell<f64>, 3> {
        Stencil::of(jacobi(OMEGA))
    }
}

/// The benchmark's start: p = (i / (ni − 1))², a0–a2 = c = bnd = 1, a3 = 1/6, b = wrk = 0.
///
/// # Errors
/// Fewer than three cells along an axis, so that none is inside; as [`Volume::try_from_fn`].
pub fn start<T: Real>(extents: [usize; 3]) -> Result<Volume<Cell<T>, 3>> {
    if extents.iter().any(|&n| n < 3) {
        return Err(Error::spec(
            format!(
                "himeno with extents {extents:?} has no cells to compute, because the outermost cells are fixed"
            ),
            "give at least 3 cells along every axis",
        ));
    }
    let last = T::lit((extents[0] - 1) as f64);
    let (zero, one) = (T::default(), T::lit(1.0));
    Volume::try_par_from_fn(extents, |at| {
        let i = T::lit(at[0] as f64);
        let inside = (0..3).all(|d| at[d] > 0 && at[d] + 1 < extents[d]);
        Cell {
            p: (i * i) / (last * last),
            a0: one,
            a1: one,
            a2: one,
            a3: one / T::lit(6.0),
            b0: zero,
            b1: zero,
            b2: zero,
            c0: one,
            c1: one,
            c2: one,
            bnd: if inside { one } else { zero },
            wrk: zero,
        }
    })
}

/// `gosa` from the sum of the squares of a step's changes.
pub fn gosa(squares: f64) -> f64 {
    squares / OMEGA.powi(2)
}

/// `gosa` of the step from `before`, by the benchmark's formula in `f64`.
pub fn gosa_of<T: Real>(before: &RawVolume) -> f64 {
    let extents = before.extents();
    let strides = [extents[1] * extents[2], extents[2], 1];
    let field = |f: usize| before.field::<T>(f).unwrap_or_default();
    let (p, bnd) = (field(0), field(11));
    let fields: [&[T]; 13] = std::array::from_fn(field);
    // Of each plane by itself, so that the sum is the same on any number of threads.
    let planes = over_parts(extents[0] - 2, 1, |planes| {
        let mut total = 0.0;
        for i in planes.map(|i| i + 1) {
            for j in 1..extents[1] - 1 {
                for k in 1..extents[2] - 1 {
                    let here = i * strides[0] + j * strides[1] + k;
                    let p = |offset: [isize; 3]| {
                        let by: isize = (0..3).map(|d| offset[d] * strides[d] as isize).sum();
                        Scalar::to_f64(p[here.wrapping_add_signed(by)])
                    };
                    let c = |f: usize| Scalar::to_f64(fields[f][here]);
                    total += (ss(p, c) * Scalar::to_f64(bnd[here])).powi(2);
                }
            }
        }
        total
    });
    planes.iter().sum()
}

/// How far pressure is from its equation, over the neighbours `p` and the coefficients `c` by field.
fn ss(p: impl Fn([isize; 3]) -> f64, c: impl Fn(usize) -> f64) -> f64 {
    // ∂²p/∂xy from the four diagonal neighbours in the plane of two axes.
    let cross = |a: usize, b: usize| {
        let mut sum = 0.0;
        for (sa, sb) in [(1, 1), (1, -1), (-1, 1), (-1, -1)] {
            let mut offset = [0; 3];
            (offset[a], offset[b]) = (sa, sb);
            sum += (sa * sb) as f64 * p(offset);
        }
        sum
    };
    let mut sum = c(12) + c(5) * cross(0, 1) + c(6) * cross(1, 2) + c(7) * cross(0, 2);
    for axis in 0..3 {
        let mut offset = [0; 3];
        offset[axis] = 1;
        sum += c(1 + axis) * p(offset) + c(8 + axis) * p(offset.map(|o: isize| -o));
    }
    sum * c(4) - p([0; 3])
}

/// One step of the straightforward loop.
pub fn plain_step(plain: &mut Plain) {
    plain.step(|u| {
        let c = |f: usize| u.of(f).at([0; 3]);
        u.at([0; 3]) + OMEGA * ss(|offset| u.at(offset), c) * c(11)
    });
}
