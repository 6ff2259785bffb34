//! What one cell does in a step of elastic waves: two stages, each fourth order in space.

use warpweft::prelude::*;

/// A cell of an elastic medium. Normal stresses are in its middle, velocities and displacements half a
/// cell above along their own axis, shear stresses half a cell above along both of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
#[repr(C)]
#[allow(missing_docs, reason = "velocity, stress and displacement by axis")]
pub struct Elastic<T: Real> {
    pub vx: T,
    pub vy: T,
    pub vz: T,
    pub sxx: T,
    pub syy: T,
    pub szz: T,
    pub sxy: T,
    pub sxz: T,
    pub syz: T,
    pub ux: T,
    pub uy: T,
    pub uz: T,
}

/// The weight of the nearer pair in a staggered difference of fourth order.
const NEAR: f64 = 9.0 / 8.0;
/// The weight of the farther pair.
const FAR: f64 = -1.0 / 24.0;

/// The staggered difference in the middle of four values in order.
#[device]
fn slope<T: Real>(a: T, b: T, c: T, d: T) -> T {
    T::lit(NEAR) * (c - b) + T::lit(FAR) * (d - a)
}

/// Velocities from stresses, then displacements from velocities; `push` is Δt / (ρ Δx) and `dt` Δt.
#[stencil]
fn velocity<T: Real>(now: Near<Elastic<T>, 3>, next: &mut Elastic<T>, push: T, dt: T) {
    let fx = slope(now.sxx[[0, 0, -1]], now.sxx[[0, 0, 0]], now.sxx[[0, 0, 1]], now.sxx[[0, 0, 2]])
        + slope(now.sxy[[0, -2, 0]], now.sxy[[0, -1, 0]], now.sxy[[0, 0, 0]], now.sxy[[0, 1, 0]])
        + slope(now.sxz[[-2, 0, 0]], now.sxz[[-1, 0, 0]], now.sxz[[0, 0, 0]], now.sxz[[1, 0, 0]]);
    let fy =
        slope(now.sxy[[0, 0, -2]], now.sxy[[0, 0, -1]], now.sxy[[0, 0, 0]], now.sxy[[0, 0, 1]])
            + slope(
                now.syy[[0, -1, 0]],
                now.syy[[0, 0, 0]],
                now.syy[[0, 1, 0]],
                now.syy[[0, 2, 0]],
            )
            + slope(
                now.syz[[-2, 0, 0]],
                now.syz[[-1, 0, 0]],
                now.syz[[0, 0, 0]],
                now.syz[[1, 0, 0]],
            );
    let fz =
        slope(now.sxz[[0, 0, -2]], now.sxz[[0, 0, -1]], now.sxz[[0, 0, 0]], now.sxz[[0, 0, 1]])
            + slope(
                now.syz[[0, -2, 0]],
                now.syz[[0, -1, 0]],
                now.syz[[0, 0, 0]],
                now.syz[[0, 1, 0]],
            )
            + slope(
                now.szz[[-1, 0, 0]],
                now.szz[[0, 0, 0]],
                now.szz[[1, 0, 0]],
                now.szz[[2, 0, 0]],
            );
    let vx = now.vx[[0, 0, 0]] + push * fx;
    let vy = now.vy[[0, 0, 0]] + push * fy;
    let vz = now.vz[[0, 0, 0]] + push * fz;
    next.vx = vx;
    next.ux = now.ux[[0, 0, 0]] + dt * vx;
    next.vy = vy;
    next.uy = now.uy[[0, 0, 0]] + dt * vy;
    next.vz = vz;
    next.uz = now.uz[[0, 0, 0]] + dt * vz;
}

/// Stresses from velocities; `lambda` and `mu` are Lamé's parameters times Δt / Δx.
#[stencil]
fn stress<T: Real>(now: Near<Elastic<T>, 3>, next: &mut Elastic<T>, lambda: T, mu: T) {
    let ex = slope(now.vx[[0, 0, -2]], now.vx[[0, 0, -1]], now.vx[[0, 0, 0]], now.vx[[0, 0, 1]]);
    let ey = slope(now.vy[[0, -2, 0]], now.vy[[0, -1, 0]], now.vy[[0, 0, 0]], now.vy[[0, 1, 0]]);
    let ez = slope(now.vz[[-2, 0, 0]], now.vz[[-1, 0, 0]], now.vz[[0, 0, 0]], now.vz[[1, 0, 0]]);
    let spread = lambda * (ex + ey + ez);
    let twice = mu + mu;
    next.sxx = now.sxx[[0, 0, 0]] + spread + twice * ex;
    next.syy = now.syy[[0, 0, 0]] + spread + twice * ey;
    next.szz = now.szz[[0, 0, 0]] + spread + twice * ez;
    let shear_xy =
        slope(now.vx[[0, -1, 0]], now.vx[[0, 0, 0]], now.vx[[0, 1, 0]], now.vx[[0, 2, 0]])
            + slope(now.vy[[0, 0, -1]], now.vy[[0, 0, 0]], now.vy[[0, 0, 1]], now.vy[[0, 0, 2]]);
    next.sxy = now.sxy[[0, 0, 0]] + mu * shear_xy;
    let shear_xz =
        slope(now.vx[[-1, 0, 0]], now.vx[[0, 0, 0]], now.vx[[1, 0, 0]], now.vx[[2, 0, 0]])
            + slope(now.vz[[0, 0, -1]], now.vz[[0, 0, 0]], now.vz[[0, 0, 1]], now.vz[[0, 0, 2]]);
    next.sxz = now.sxz[[0, 0, 0]] + mu * shear_xz;
    let shear_yz =
        slope(now.vy[[-1, 0, 0]], now.vy[[0, 0, 0]], now.vy[[1, 0, 0]], now.vy[[2, 0, 0]])
            + slope(now.vz[[0, -1, 0]], now.vz[[0, 0, 0]], now.vz[[0, 1, 0]], now.vz[[0, 2, 0]]);
    next.syz = now.syz[[0, 0, 0]] + mu * shear_yz;
}

/// A scalar that waves can be computed in.
pub trait Shakes: Real {
    /// The two stages with their parameters: Δt / (ρ Δx) and Δt; λ Δt / Δx and μ Δt / Δx.
    fn stencil(motion: [f64; 2], strain: [f64; 2]) -> Stencil<Elastic<Self>, 3>;
}

macro_rules! shakes {
    ($($scalar:ident),*) => {$(
        impl Shakes for $scalar {
            fn stencil(motion: [f64; 2], strain: [f64; 2]) -> Stencil<Elastic<$scalar>, 3> {
                let ([push, dt], [lambda, mu]) =
                    (motion.map(|v| v as $scalar), strain.map(|v| v as $scalar));
                Stencil::sequence((velocity(push, dt), stress(lambda, mu)))
            }
        }
    )*};
}

shakes!(f32, f64);
