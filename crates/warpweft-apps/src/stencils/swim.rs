//! Swim: the shallow-water equations on a staggered, doubly periodic grid (Sadourny's scheme), as in
//! the SPEC benchmark: leapfrog steps under Asselin's time filter.
//!
//! With δ and Σ over a staggered pair: CU = ½ ΣP · U, CV = ½ ΣP · V, Z = (4/dx δx V − 4/dy δy U) / Σ₄P,
//! H = P + ¼ (ΣU² + ΣV²); then U, V and P move by 2 dt from the step before. Axes are y, x: the
//! benchmark's j and i.

use std::f64::consts::PI;

use warpweft::grid::RawVolume;
use warpweft::prelude::*;
use warpweft::stencil::reference;

use crate::plain::{Place, Plain};

/// A cell of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
#[repr(C)]
pub struct Water<T: Real> {
    /// Velocity along x, on the cell's west edge.
    pub u: T,
    /// Velocity along y, on its south edge.
    pub v: T,
    /// Pressure, in its middle.
    pub p: T,
    /// `u` a step before, filtered.
    pub uold: T,
    /// `v` a step before, filtered.
    pub vold: T,
    /// `p` a step before, filtered.
    pub pold: T,
    /// Mass flux along x.
    pub cu: T,
    /// Mass flux along y.
    pub cv: T,
    /// Potential vorticity, on the cell's south-west corner.
    pub z: T,
    /// Energy height.
    pub h: T,
}

/// Seconds of a time step.
pub const DT: f64 = 90.0;
/// Metres between cells, along x and y.
pub const DX: f64 = 1e5;
/// The largest value of the benchmark's stream function, m²/s.
const STREAM: f64 = 1e6;
/// Asselin's time filter.
pub const ALPHA: f64 = 0.001;

/// Mass fluxes, potential vorticity and energy height from velocities and pressure.
#[stencil]
fn fluxes<T: Real>(now: Near<Water<T>, 2>, next: &mut Water<T>, fsdx: T) {
    let (p, u, v) = (now.p[[0, 0]], now.u[[0, 0]], now.v[[0, 0]]);
    let (p_west, p_south) = (now.p[[0, -1]], now.p[[-1, 0]]);
    next.cu = T::lit(0.5) * (p + p_west) * u;
    next.cv = T::lit(0.5) * (p + p_south) * v;
    next.z = (fsdx * (v - now.v[[0, -1]]) - fsdx * (u - now.u[[-1, 0]]))
        / (now.p[[-1, -1]] + p_south + p + p_west);
    let (u_east, v_north) = (now.u[[0, 1]], now.v[[1, 0]]);
    next.h = p + T::lit(0.25) * (u_east * u_east + u * u + v_north * v_north + v * v);
}

/// Velocities and pressure `tdt` after the old ones, and the filtered old ones of the next step.
#[stencil]
fn advance<T: Real>(now: Near<Water<T>, 2>, next: &mut Water<T>, tdts8: T, tdtsdx: T, alpha: T) {
    let (u, v, p) = (now.u[[0, 0]], now.v[[0, 0]], now.p[[0, 0]]);
    let (uold, vold, pold) = (now.uold[[0, 0]], now.vold[[0, 0]], now.pold[[0, 0]]);
    let (z, h) = (now.z[[0, 0]], now.h[[0, 0]]);
    let around_u = now.cv[[1, 0]] + now.cv[[1, -1]] + now.cv[[0, -1]] + now.cv[[0, 0]];
    let around_v = now.cu[[0, 1]] + now.cu[[0, 0]] + now.cu[[-1, 0]] + now.cu[[-1, 1]];
    let unew = uold + tdts8 * (now.z[[1, 0]] + z) * around_u - tdtsdx * (h - now.h[[0, -1]]);
    let vnew = vold - tdts8 * (now.z[[0, 1]] + z) * around_v - tdtsdx * (h - now.h[[-1, 0]]);
    let pnew = pold
        - tdtsdx * (now.cu[[0, 1]] - now.cu[[0, 0]])
        - tdtsdx * (now.cv[[1, 0]] - now.cv[[0, 0]]);
    next.uold = u + alpha * (unew - T::lit(2.0) * u + uold);
    next.vold = v + alpha * (vnew - T::lit(2.0) * v + vold);
    next.pold = p + alpha * (pnew - T::lit(2.0) * p + pold);
    next.u = unew;
    next.v = vnew;
    next.p = pnew;
}

/// A scalar that water can be computed in.
pub trait Flows: Real {
    /// Steps of `tdt` seconds from the old state, filtered by `alpha`, on a torus.
    fn steps(tdt: f64, alpha: f64) -> Stencil<Water<Self>, 2>;
}

macro_rules! flows {
    ($($scalar:ident),*) => {$(
        impl Flows for $scalar {
            fn steps(tdt: f64, alpha: f64) -> Stencil<Water<$scalar>, 2> {
                let fluxes = fluxes((4.0 / DX) as $scalar);
                let [eighth, per_dx] = [tdt / 8.0, tdt / DX].map(|value| value as $scalar);
                Stencil::sequence((fluxes, advance(eighth, per_dx, alpha as $scalar)))
                    .boundary(Boundary::Periodic)
            }
        }
    )*};
}

flows!(f32, f64);

/// Leapfrog steps, on a torus.
pub fn stencil<T: Flows>() -> Stencil<Water<T>, 2> {
    T::steps(2.0 * DT, ALPHA)
}

/// The benchmark's water at rest in time: `u`, `v` and `p` of step 0, old ones the same.
///
/// # Errors
/// As [`Volume::try_from_fn`].
pub fn at_rest<T: Real>(extents: [usize; 2]) -> Result<Volume<Water<T>, 2>> {
    let [n, m] = extents.map(|n| n as f64);
    let (di, dj, a) = (2.0 * PI / m, 2.0 * PI / n, STREAM);
    let pcf = (PI * a / (n * DX)).powi(2);
    let psi = |j: f64, i: f64| a * ((i + 0.5) * di).sin() * ((j + 0.5) * dj).sin();
    Volume::try_par_from_fn(extents, |[j, i]| {
        let (j, i) = (j as f64, i as f64);
        let u = T::lit(-(psi(j + 1.0, i) - psi(j, i)) / DX);
        let v = T::lit((psi(j, i + 1.0) - psi(j, i)) / DX);
        let p = T::lit(pcf * ((2.0 * i * di).cos() + (2.0 * j * dj).cos()) + 50_000.0);
        let none = T::default();
        Water { u, v, p, uold: u, vold: v, pold: p, cu: none, cv: none, z: none, h: none }
    })
}

/// The water after the benchmark's first step, which is forward in time.
///
/// # Errors
/// A pressure that is not above 0, which vorticity is divided by; as [`reference`].
pub fn first_step<T: Flows>(mut water: Volume<Water<T>, 2>) -> Result<Volume<Water<T>, 2>> {
    let [_, columns] = water.extents();
    let pressures = water.field::<T>(2).unwrap_or_default();
    if let Some(at) = pressures.iter().position(|&p| p <= T::default()) {
        return Err(Error::spec(
            format!(
                "a pressure of {} in cell {:?} of swim",
                pressures[at],
                [at / columns, at % columns]
            ),
            "use an initial state with pressures above 0, such as 50000: the vorticity is divided by the pressure",
        ));
    }
    reference(&T::steps(DT, 0.0), &mut water, 1)?;
    Ok(water)
}

/// Σ|u|, Σ|v| and Σ|p| of the cells, which the benchmark checks.
pub fn sums(water: &RawVolume) -> [f64; 3] {
    let sum = |field| match water.field::<f32>(field) {
        Some(cells) => cells.iter().map(|&cell| f64::from(cell).abs()).sum(),
        None => water.field::<f64>(field).unwrap_or_default().iter().map(|cell| cell.abs()).sum(),
    };
    [sum(0), sum(1), sum(2)]
}

/// Roundings of a step in each field, in epsilons of the field's largest value, where `most` are those: by
/// about so much, and no more, two computations of a step differ that each round in their own order.
///
/// Energy height is nearly all pressure, and rounded as that is; its differences push the water, whose
/// speed is by orders smaller. So the velocities and what flows with them differ by
/// `2 dt / dx · H / U` epsilons, 1.4 a cell along the axis in the benchmark's water (twice that is
/// allowed), pressure by a few. Vorticity has nothing of that: pushes are a gradient, without curl,
/// whatever their roundings. It has those of the sums that velocities are, as differences between
/// neighbours.
pub fn roundings([u, v, p, _, _, _, cu, cv, z, h]: [f64; 10]) -> [f64; 10] {
    let (tdt, per_dx) = (2.0 * DT, 2.0 * DT / DX);
    let sums = [2.0 * u + 8.0 * tdt * z * cv, 2.0 * v + 8.0 * tdt * z * cu];
    let push = 2.0 * per_dx * h;
    let [of_u, of_v] = sums.map(|sum| sum + push);
    let of_p = 2.0 * p + 2.0 * per_dx * p * (of_u + of_v);
    let of_cu = 2.0 * cu + p * of_u + u * of_p;
    let of_cv = 2.0 * cv + p * of_v + v * of_p;
    let of_z = 8.0 * z + 2.0 * (sums[0] + sums[1]) / (DX * p);
    let of_h = 2.0 * h + of_p + u * of_u + v * of_v;
    let [of_u, of_v, of_p] = [of_u / u, of_v / v, of_p / p];
    [of_u, of_v, of_p, of_u, of_v, of_p, of_cu / cu, of_cv / cv, of_z / z, of_h / h]
        .map(|share| share.min(1e300))
}

/// Steps in which the benchmark's water of these extents goes round four times. Roundings of longer ago
/// have grown with its flow: on 8 x 8 cells by e a turn, from 1e-15 to 1e-4 in the 26 of 30,000 steps.
pub fn steady(extents: [usize; 2]) -> u64 {
    let [n, m] = extents.map(|n| n as f64);
    // A stream function of a m²/s: at most 2 π a / (n dx) m/s.
    let speed = 2.0 * PI * STREAM / (n.min(m) * DX);
    (4.0 * n.min(m) * DX / (speed * DT)) as u64
}

/// One leapfrog step of the straightforward loop.
pub fn plain_step(plain: &mut Plain) {
    let (half, south, west) = (0.5, [0, -1, 0], [0, 0, -1]);
    let (here, north, east) = ([0, 0, 0], [0, 1, 0], [0, 0, 1]);
    plain.step_fields([6, 7, 8, 9], |place| {
        let [u, v, p] = [0, 1, 2].map(|field| place.of(field));
        let shear = (v.at(here) - v.at(west)) / DX - (u.at(here) - u.at(south)) / DX;
        let corner = p.at([0, -1, -1]) + p.at(south) + p.at(west) + p.at(here);
        let squares = |f: &dyn Fn([isize; 3]) -> f64, next| f(here).powi(2) + f(next).powi(2);
        let motion = squares(&|o| u.at(o), east) + squares(&|o| v.at(o), north);
        [
            half * (p.at(here) + p.at(west)) * u.at(here),
            half * (p.at(here) + p.at(south)) * v.at(here),
            shear / (corner / 4.0),
            p.at(here) + motion / 4.0,
        ]
    });
    plain.step_fields([0, 1, 2, 3, 4, 5], |place| {
        let [cu, cv, z, h] = [6, 7, 8, 9].map(|field| place.of(field));
        let across = |f: Place<'_>, o: [[isize; 3]; 4]| o.map(|o| f.at(o)).iter().sum::<f64>();
        let tdt = 2.0 * DT;
        // Vorticity is taken in the middle between two corners, fluxes between four edges.
        let turn = |z: f64, flux: f64| tdt / 8.0 * z * flux;
        let du = turn(z.at(here) + z.at(north), across(cv, [here, west, north, [0, 1, -1]]))
            - tdt * (h.at(here) - h.at(west)) / DX;
        let dv = -turn(z.at(here) + z.at(east), across(cu, [here, south, east, [0, -1, 1]]))
            - tdt * (h.at(here) - h.at(south)) / DX;
        let out = cu.at(east) - cu.at(here) + cv.at(north) - cv.at(here);
        let mut new = [0.0; 6];
        for (f, change) in [du, dv, -tdt * out / DX].into_iter().enumerate() {
            let (now, old) = (place.of(f).at(here), place.of(3 + f).at(here));
            new[f] = old + change;
            new[3 + f] = now + ALPHA * (new[f] - 2.0 * now + old);
        }
        new
    });
}
