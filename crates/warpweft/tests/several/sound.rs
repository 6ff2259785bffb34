//! Sound: several fields, one of which no stage writes, in stages that several GPUs must agree on.

use warpweft::prelude::*;

use super::noise;

/// Sound in a medium whose density varies: pressure and one velocity an axis.
#[derive(Clone, Copy, PartialEq, Debug, Fields)]
#[repr(C)]
pub struct Sound {
    vz: f32,
    vy: f32,
    vx: f32,
    p: f32,
    rho: f32,
}

#[stencil]
pub fn velocity(now: Near<Sound, 3>, next: &mut Sound, dt: f32) {
    let b = dt / now.rho[[0, 0, 0]];
    next.vz = now.vz[[0, 0, 0]] - b * (now.p[[1, 0, 0]] - now.p[[0, 0, 0]]);
    next.vy = now.vy[[0, 0, 0]] - b * (now.p[[0, 1, 0]] - now.p[[0, 0, 0]]);
    next.vx = now.vx[[0, 0, 0]] - b * (now.p[[0, 0, 1]] - now.p[[0, 0, 0]]);
}

#[stencil]
pub fn pressure(now: Near<Sound, 3>, next: &mut Sound, dt: f32) {
    let flow = now.vz[[0, 0, 0]] - now.vz[[-1, 0, 0]] + now.vy[[0, 0, 0]] - now.vy[[0, -1, 0]]
        + now.vx[[0, 0, 0]]
        - now.vx[[0, 0, -1]];
    next.p = now.p[[0, 0, 0]] - dt * now.rho[[0, 0, 0]] * flow;
}

#[stencil]
pub fn blur(now: Near<Sound, 3>, next: &mut Sound, share: f32) {
    next.p = now.p[[0, 0, 0]] + share * (now.p[[-2, 0, 0]] - now.rho[[1, 0, 0]]);
}

#[stencil]
pub fn slant(now: Near<Sound, 3>, next: &mut Sound, share: f32) {
    next.p = now.p[[0, 0, 0]] + share * (now.rho[[1, 0, -1]] - now.vx[[-1, 1, 0]]);
}

/// Noise, denser than nothing.
pub fn sound() -> Volume<Sound, 3> {
    Volume::from_fn([22, 14, 75], |[z, y, x]| {
        let cell = ((z * 14 + y) * 75 + x) * 5;
        let value = |of| noise(cell + of) as f32;
        Sound { vz: value(0), vy: value(1), vx: value(2), p: value(3), rho: 1.0 + value(4) }
    })
}
