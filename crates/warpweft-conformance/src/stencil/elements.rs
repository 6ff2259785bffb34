//! The element functions of the suite: every dimension, scalar, footprint and kind of field.

use super::Subject;
use super::drive::Suite;
use warpweft::prelude::*;
use warpweft::stencil::{PointSource, Probe};

const EIGHTH: [f32; 5] = [-2.847_222_3, 1.6, -0.2, 0.025_396_826, -0.001_785_714_3];

#[stencil]
fn line(u: Near<f32, 1>, rate: f32) -> f32 {
    u[[0]] + rate * (u[[-1]] + u[[1]] - 2.0 * u[[0]])
}

#[stencil]
fn upwind(u: Near<f64, 1>) -> f64 {
    u[[0]] - 0.3 * (1.5 * u[[0]] - 2.0 * u[[-1]] + 0.5 * u[[-2]])
}

#[stencil]
fn plane<T: Real>(u: Near<T, 2>, rate: T) -> T {
    let around = u[[-1, 0]] + u[[1, 0]] + u[[0, -1]] + u[[0, 1]];
    u[[0, 0]] + rate * (around - T::lit(4.0) * u[[0, 0]])
}

#[stencil]
fn stored<T: Stored<Number = N>, N: Real>(u: Near<T, 2>, rate: N) -> T {
    let around = u[[-1, 0]].widen() + u[[1, 1]].widen() + u[[0, -2]].widen();
    T::narrow(u[[0, 0]].widen() + rate * (around - N::lit(3.0) * u[[0, 0]].widen()))
}

#[stencil]
fn coarse(u: Near<f16, 3>) -> f16 {
    let sum = u[[-1, 0, 0]] + u[[0, 1, 1]] * f16::from_f32(0.5) - u[[0, 0, -1]];
    if sum < u[[1, 0, 0]] { -sum } else { f16::narrow(0.25 * u[[0, 0, 0]].to_f32()) }
}

#[stencil]
fn lopsided(u: Near<f64, 2>) -> f64 {
    0.4 * u[[0, 0]] + 0.3 * u[[-2, 1]] - 0.2 * u[[1, -3]] + 0.1 * u[[0, 2]]
}

#[stencil]
fn life(alive: Near<u8, 2>) -> u8 {
    let mut around = 0;
    for y in -1..=1 {
        for x in -1..=1 {
            around += alive[[y, x]];
        }
    }
    let here = alive[[0, 0]];
    if around == 3 || (here == 1 && around == 4) { 1 } else { 0 }
}

#[stencil]
fn parity(u: Near<bool, 2>) -> bool {
    u[[-1, 0]] ^ u[[0, 1]] ^ u[[0, 0]]
}

#[stencil]
fn space(u: Near<f32, 3>, rate: f32) -> f32 {
    let around = u[[-1, 0, 0]] + u[[1, 0, 0]] + u[[0, -1, 0]] + u[[0, 1, 0]];
    u[[0, 0, 0]] + rate * (around + u[[0, 0, -1]] + u[[0, 0, 1]] - 6.0 * u[[0, 0, 0]])
}

#[stencil]
fn eighth(u: Near<f32, 3>, rate: f32) -> f32 {
    let mut sum = 3.0 * EIGHTH[0] * u[[0, 0, 0]];
    for k in 1..=4 {
        let around = u[[-k, 0, 0]] + u[[k, 0, 0]] + u[[0, -k, 0]] + u[[0, k, 0]];
        sum += EIGHTH[k as usize] * (around + u[[0, 0, -k]] + u[[0, 0, k]]);
    }
    u[[0, 0, 0]] + rate * sum
}

#[stencil]
fn corners(u: Near<i32, 3>) -> i32 {
    let mut sum = 0;
    for z in -1..=1 {
        for y in -1..=1 {
            for x in -1..=1 {
                sum = sum * 3 + u[[z, y, x]];
            }
        }
    }
    sum
}

#[stencil]
fn damp(u: Near<f32, 3>) -> f32 {
    0.75 * u[[0, 0, 0]]
}

#[stencil]
fn hyper(u: Near<f32, 4>) -> f32 {
    let near = u[[-1, 0, 0, 0]] + u[[1, 0, 0, 0]] + u[[0, -1, 0, 0]] + u[[0, 1, 0, 1]];
    0.1 * (near + u[[0, 0, -1, 0]] + u[[0, 0, 1, 0]] + u[[0, 0, 0, -1]]) + 0.2 * u[[0, 0, 0, 0]]
}

#[derive(Clone, Copy, Debug, Fields)]
#[repr(C)]
struct Acoustic {
    pressure: f32,
    vx: f32,
    vy: f32,
}

#[stencil]
fn velocity(now: Near<Acoustic, 2>, next: &mut Acoustic, dt: f32) {
    next.vx = now.vx[[0, 0]] - dt * (now.pressure[[0, 1]] - now.pressure[[0, 0]]);
    next.vy = now.vy[[0, 0]] - dt * (now.pressure[[1, 0]] - now.pressure[[0, 0]]);
}

#[stencil]
fn pressure(now: Near<Acoustic, 2>, next: &mut Acoustic, dt: f32) {
    let out = now.vx[[0, 0]] - now.vx[[0, -1]] + now.vy[[0, 0]] - now.vy[[-1, 0]];
    next.pressure = now.pressure[[0, 0]] - dt * out;
}

#[derive(Clone, Copy, Debug, Fields)]
#[repr(C)]
struct Tissue {
    heat: f64,
    kind: u8,
    steps: i32,
}

#[stencil]
fn warm(now: Near<Tissue, 3>, next: &mut Tissue) {
    if now.kind[[0, 0, 0]] > 1 {
        let around = now.heat[[-1, 0, 0]] + now.heat[[0, 1, 0]] + now.heat[[0, 0, 2]];
        next.heat = 0.25 * (around + now.heat[[0, 0, 0]]);
        next.steps = now.steps[[0, 0, 0]] + 1;
    }
}

/// Every position and step has a value of its own, or nearly.
#[device]
fn mix(at: [i64; 4], step: u64) -> f64 {
    let index = ((at[0] * 31 + at[1]) * 37 + at[2]) * 41 + at[3];
    ((index * 7 + 3 * (step as i64)).rem_euclid(1009)) as f64 / 1009.0 - 0.5
}

#[boundary]
fn along(at: [i64; 1], step: u64) -> f64 {
    mix([0, 0, 0, at[0]], step)
}

#[boundary]
fn around<T: Real>(at: [i64; 2], step: u64, scale: T) -> T {
    scale * T::lit(0.125) * T::lit(((at[0] * 5 + at[1] * 3 + step as i64 * 7) % 64) as f64)
}

#[boundary]
fn enclosing(at: [i64; 3], step: u64, scale: f32, shift: [i64; 2]) -> f32 {
    scale * mix([shift[0], at[0], at[1], at[2] + shift[1]], step) as f32
}

#[boundary]
fn beyond(at: [i64; 4], step: u64) -> f32 {
    mix(at, step) as f32
}

#[boundary]
fn stirred(at: [i64; 2], step: u64) -> Acoustic {
    let pressure = mix([1, 0, at[0], at[1]], step) as f32;
    Acoustic { pressure, vx: 0.5 * pressure, vy: mix([0, 1, at[1], at[0]], step) as f32 }
}

#[boundary]
fn skin(at: [i64; 3], step: u64) -> Tissue {
    let heat = mix([0, at[0], at[1], at[2]], step);
    Tissue { heat, kind: (step % 3) as u8, steps: step as i32 }
}

/// With sources in a corner, which ghosts follow, and inside, that act in some steps, and a probe.
fn pricked<S: Fields>(stencil: Stencil<S, 3>, field: usize) -> Stencil<S, 3> {
    let at = vec![[0, 0, 0], [4, 7, 8]];
    stencil
        .source(PointSource { field: 0, at: at.clone(), amplitudes: vec![0.5, 0.0, -0.25] })
        .source(PointSource { field, at: vec![[4, 7, 8]], amplitudes: vec![0.0, 0.0, 1.75, 3.0] })
        .probe(Probe { field: 0, at: vec![[0, 1, 0], [4, 7, 8], [1, 0, 0]], every: 2 })
        .probe(Probe { field, at, every: 3 })
}

/// Every element in every setting.
pub(super) fn each(suite: &mut Suite<'_, '_, impl Subject>) {
    suite.run("line f32", &Stencil::of(line(0.25)));
    suite.run("upwind f64", &Stencil::of(upwind()));
    suite.run("plane f32", &Stencil::of(plane(0.2f32)));
    suite.run("plane f64", &Stencil::of(plane(0.2f64)));
    suite.run("lopsided f64", &Stencil::of(lopsided()));
    suite.run("stored f16", &Stencil::of(stored::<f16, f32>(0.2)));
    suite.run("stored bf16", &Stencil::of(stored::<bf16, f32>(0.2)));
    suite.run("coarse f16", &Stencil::of(coarse()));
    suite.run("life u8", &Stencil::of(life()));
    suite.run_packed("life u8", &Stencil::of(life()));
    suite.run("parity bool", &Stencil::of(parity()));
    suite.run("space f32", &Stencil::of(space(0.15)));
    suite.run("eighth order f32", &Stencil::of(eighth(0.05)));
    suite.run("corners i32", &Stencil::of(corners()));
    suite.run("hyper f32", &Stencil::of(hyper()));
    suite.run("damp in place f32", &Stencil::of(damp()));
    suite.run("space then damp f32", &Stencil::sequence((space(0.15), damp())));
    suite.run("space, damp, space f32", &Stencil::sequence((space(0.15), damp(), space(0.1))));
    suite.run("acoustic, two stages", &Stencil::sequence((velocity(0.4), pressure(0.4))));
    suite.run("tissue of mixed scalars", &Stencil::of(warm()));
    suite.run("space f32 with sources", &pricked(Stencil::of(space(0.15)), 0));
    suite.run("tissue with sources", &pricked(Stencil::of(warm()), 2));
    suite.run_by("upwind f64 by a function", &Stencil::of(upwind()), along());
    suite.run_by("plane f32 by a function", &Stencil::of(plane(0.2f32)), around(0.5f32));
    suite.run_by("lopsided f64 by a function", &Stencil::of(lopsided()), around(0.5f64));
    suite.run_by("space f32 by a function", &Stencil::of(space(0.15)), enclosing(2.0, [3, 5]));
    suite.run_by("eighth order by a function", &Stencil::of(eighth(0.05)), enclosing(1.0, [0, 1]));
    let stages = Stencil::sequence((space(0.15), damp(), space(0.1)));
    suite.run_by("space, damp, space by a function", &stages, enclosing(1.0, [2, 0]));
    suite.run_by("hyper f32 by a function", &Stencil::of(hyper()), beyond());
    let acoustic = Stencil::sequence((velocity(0.4), pressure(0.4)));
    suite.run_by("acoustic by a function", &acoustic, stirred());
    suite.run_by("tissue by a function", &Stencil::of(warm()), skin());
    suite.stop("plane f64", &Stencil::of(plane(0.2f64)));
    suite.stop("stored bf16", &Stencil::of(stored::<bf16, f32>(0.2)));
    suite.stop("acoustic", &Stencil::sequence((velocity(0.4), pressure(0.4))));
    suite.stop("tissue", &Stencil::of(warm()));
}
