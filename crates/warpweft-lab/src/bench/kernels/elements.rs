//! Stencils of every kind, as a user would write them: footprints, fields, stages, types and faces.

use warpweft::prelude::*;

/// Five points.
#[stencil]
pub fn star5<T: Real>(u: Near<T, 2>, rate: T) -> T {
    let around = u[[-1, 0]] + u[[0, -1]] + u[[0, 1]] + u[[1, 0]];
    u[[0, 0]] + rate * (around - T::lit(4.0) * u[[0, 0]])
}

/// Three points of a line.
#[stencil]
pub fn line3(u: Near<f32, 1>, rate: f32) -> f32 {
    u[[0]] + rate * (u[[-1]] - 2.0 * u[[0]] + u[[1]])
}

/// Five points in layers of different materials: asks for its index.
#[stencil]
pub fn placed5(u: Near<f32, 2>, #[at] at: [usize; 2], rate: f32) -> f32 {
    let around = u[[-1, 0]] + u[[0, -1]] + u[[0, 1]] + u[[1, 0]];
    let layer = (at[0] >> 4 & 7) as f32;
    u[[0, 0]] + rate * (1.0 + 0.125 * layer) * (around - 4.0 * u[[0, 0]])
}

/// Five points of integers: the division may fault.
#[stencil]
pub fn divided5(u: Near<i32, 2>, by: i32) -> i32 {
    let around = u[[-1, 0]] + u[[0, -1]] + u[[0, 1]] + u[[1, 0]];
    u[[0, 0]] + (around - 4 * u[[0, 0]]) / by
}

/// Nine points of a box.
#[stencil]
pub fn box9<T: Real>(u: Near<T, 2>, near: T, far: T) -> T {
    let edges = u[[-1, 0]] + u[[0, -1]] + u[[0, 1]] + u[[1, 0]];
    let corners = u[[-1, -1]] + u[[-1, 1]] + u[[1, -1]] + u[[1, 1]];
    (T::lit(1.0) - T::lit(4.0) * (near + far)) * u[[0, 0]] + near * edges + far * corners
}

/// Seven points.
#[stencil]
pub fn star7<T: Real>(u: Near<T, 3>, rate: T) -> T {
    let around = u[[-1, 0, 0]] + u[[0, -1, 0]] + u[[0, 0, -1]];
    let around = around + u[[0, 0, 1]] + u[[0, 1, 0]] + u[[1, 0, 0]];
    u[[0, 0, 0]] + rate * (around - T::lit(6.0) * u[[0, 0, 0]])
}

/// What a plate holds beyond its faces: waves that run along them.
#[boundary]
pub fn tide(at: [i64; 2], step: u64, height: f32) -> f32 {
    let phase = 0.001 * (at[0] + at[1]) as f32 - 0.01 * step as f32;
    height * phase.sin()
}

/// The same of a volume.
#[boundary]
pub fn swell(at: [i64; 3], step: u64, height: f32) -> f32 {
    let phase = 0.001 * (at[0] + at[1] + at[2]) as f32 - 0.01 * step as f32;
    height * phase.sin()
}

/// Thirteen points: fourth order.
#[stencil]
pub fn star13<T: Real>(u: Near<T, 3>, rate: T) -> T {
    let mut sum = T::lit(-7.5) * u[[0, 0, 0]];
    for k in 1..=2 {
        let weight = T::lit(if k == 1 { 4.0 / 3.0 } else { -1.0 / 12.0 });
        sum += weight * (u[[-k, 0, 0]] + u[[k, 0, 0]] + u[[0, -k, 0]] + u[[0, k, 0]]);
        sum += weight * (u[[0, 0, -k]] + u[[0, 0, k]]);
    }
    u[[0, 0, 0]] + rate * sum
}

/// Twenty-seven points.
#[stencil]
pub fn box27<T: Real>(u: Near<T, 3>, weight: T) -> T {
    let mut sum = T::lit(0.0);
    for z in -1..=1 {
        for y in -1..=1 {
            for x in -1..=1 {
                sum += u[[z, y, x]];
            }
        }
    }
    weight * sum
}

/// Two substances that react.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
pub struct Mixture {
    u: f32,
    v: f32,
}

/// Gray and Scott's reaction and diffusion.
#[stencil]
pub fn gray_scott(g: Near<Mixture, 2>, feed: f32, kill: f32) -> Mixture {
    let Mixture { u, v } = g[[0, 0]];
    let around_u = g[[-1, 0]].u + g[[0, -1]].u + g[[0, 1]].u + g[[1, 0]].u;
    let around_v = g[[-1, 0]].v + g[[0, -1]].v + g[[0, 1]].v + g[[1, 0]].v;
    let reaction = u * v * v;
    Mixture {
        u: u + 0.2 * (around_u - 4.0 * u) - reaction + feed * (1.0 - u),
        v: v + 0.1 * (around_v - 4.0 * v) + reaction - (feed + kill) * v,
    }
}

/// The same in three dimensions.
#[stencil]
pub fn gray_scott_3d(g: Near<Mixture, 3>, feed: f32, kill: f32) -> Mixture {
    let Mixture { u, v } = g[[0, 0, 0]];
    let around_u = g[[-1, 0, 0]].u + g[[0, -1, 0]].u + g[[0, 0, -1]].u;
    let around_u = around_u + g[[0, 0, 1]].u + g[[0, 1, 0]].u + g[[1, 0, 0]].u;
    let around_v = g[[-1, 0, 0]].v + g[[0, -1, 0]].v + g[[0, 0, -1]].v;
    let around_v = around_v + g[[0, 0, 1]].v + g[[0, 1, 0]].v + g[[1, 0, 0]].v;
    let reaction = u * v * v;
    Mixture {
        u: u + 0.1 * (around_u - 6.0 * u) - reaction + feed * (1.0 - u),
        v: v + 0.05 * (around_v - 6.0 * v) + reaction - (feed + kill) * v,
    }
}

/// Pressure, and velocities half a cell away.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
pub struct Sound {
    p: f32,
    vx: f32,
    vy: f32,
}

/// Velocities from the pressure.
#[stencil]
fn velocities(now: Near<Sound, 2>, next: &mut Sound, c: f32) {
    next.vx = now.vx[[0, 0]] - c * (now.p[[0, 1]] - now.p[[0, 0]]);
    next.vy = now.vy[[0, 0]] - c * (now.p[[1, 0]] - now.p[[0, 0]]);
}

/// The pressure from the velocities.
#[stencil]
fn pressure(now: Near<Sound, 2>, next: &mut Sound, c: f32) {
    let spread = now.vx[[0, 0]] - now.vx[[0, -1]] + now.vy[[0, 0]] - now.vy[[-1, 0]];
    next.p = now.p[[0, 0]] - c * spread;
}

/// Sound in the plane, in two stages; `c` is the share of a cell that it goes in a step.
pub fn acoustic(c: f32) -> Stencil<Sound, 2> {
    Stencil::sequence((velocities(c), pressure(c)))
}
