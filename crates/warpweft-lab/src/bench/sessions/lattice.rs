//! The lattice Boltzmann method D3Q19 on a torus, next to a plain loop on one thread.

use std::time::Instant;

use warpweft::prelude::*;

use super::{Figure, On, Place};

/// Bytes of a cell and step: each population is read and written once.
const BYTES: usize = 2 * 19 * 4;
const OMEGA: f32 = 1.2;
/// Where the particles of each population come from.
const FROM: [[isize; 3]; 19] = [
    [0, 0, 0],
    [0, 0, -1],
    [0, 0, 1],
    [0, 1, 0],
    [0, -1, 0],
    [-1, 0, 0],
    [1, 0, 0],
    [0, 1, -1],
    [0, 1, 1],
    [0, -1, -1],
    [0, -1, 1],
    [-1, 0, -1],
    [-1, 0, 1],
    [1, 0, -1],
    [1, 0, 1],
    [-1, 1, 0],
    [-1, -1, 0],
    [1, 1, 0],
    [1, -1, 0],
];

/// Particles by the direction that they fly in.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
struct Gas {
    f: [f32; 19],
}

/// A population after a collision; `along` is the fluid's speed in its direction.
#[device]
fn relaxed(old: f32, weight: f32, along: f32, square: f32, omega: f32) -> f32 {
    old + omega * (weight * (1.0 + 3.0 * along + 4.5 * along * along - 1.5 * square) - old)
}

/// All populations after a collision.
#[device]
fn collided(f: [f32; 19], omega: f32) -> [f32; 19] {
    let east = f[1] + f[7] + f[9] + f[11] + f[13];
    let west = f[2] + f[8] + f[10] + f[12] + f[14];
    let density = f[0] + east + west + f[3] + f[4] + f[5] + f[6] + f[15] + f[16] + f[17] + f[18];
    let south = f[4] + f[9] + f[10] + f[16] + f[18];
    let north = f[3] + f[7] + f[8] + f[15] + f[17];
    let top = f[5] + f[11] + f[12] + f[15] + f[16];
    let bottom = f[6] + f[13] + f[14] + f[17] + f[18];
    let x = (east - west) / density;
    let y = (south - north) / density;
    let z = (top - bottom) / density;
    let square = x * x + y * y + z * z;
    let (side, corner) = (density / 18.0, density / 36.0);
    [
        relaxed(f[0], density / 3.0, 0.0, square, omega),
        relaxed(f[1], side, x, square, omega),
        relaxed(f[2], side, -x, square, omega),
        relaxed(f[3], side, -y, square, omega),
        relaxed(f[4], side, y, square, omega),
        relaxed(f[5], side, z, square, omega),
        relaxed(f[6], side, -z, square, omega),
        relaxed(f[7], corner, x - y, square, omega),
        relaxed(f[8], corner, -x - y, square, omega),
        relaxed(f[9], corner, x + y, square, omega),
        relaxed(f[10], corner, y - x, square, omega),
        relaxed(f[11], corner, x + z, square, omega),
        relaxed(f[12], corner, z - x, square, omega),
        relaxed(f[13], corner, x - z, square, omega),
        relaxed(f[14], corner, -x - z, square, omega),
        relaxed(f[15], corner, z - y, square, omega),
        relaxed(f[16], corner, y + z, square, omega),
        relaxed(f[17], corner, -y - z, square, omega),
        relaxed(f[18], corner, y - z, square, omega),
    ]
}

/// Particles arrive from the neighbours and collide.
#[stencil]
fn flow(g: Near<Gas, 3>, omega: f32) -> Gas {
    let arrived = [
        g[[0, 0, 0]].f[0],
        g[[0, 0, -1]].f[1],
        g[[0, 0, 1]].f[2],
        g[[0, 1, 0]].f[3],
        g[[0, -1, 0]].f[4],
        g[[-1, 0, 0]].f[5],
        g[[1, 0, 0]].f[6],
        g[[0, 1, -1]].f[7],
        g[[0, 1, 1]].f[8],
        g[[0, -1, -1]].f[9],
        g[[0, -1, 1]].f[10],
        g[[-1, 0, -1]].f[11],
        g[[-1, 0, 1]].f[12],
        g[[1, 0, -1]].f[13],
        g[[1, 0, 1]].f[14],
        g[[-1, 1, 0]].f[15],
        g[[-1, -1, 0]].f[16],
        g[[1, 1, 0]].f[17],
        g[[1, -1, 0]].f[18],
    ];
    Gas { f: collided(arrived, omega) }
}

/// A gas that moves here and there.
fn start([z, y, x]: [usize; 3]) -> Gas {
    let wave = |k: usize| 0.02 * (0.1 * ((k + 1) * (z + 2 * y) + x) as f32).sin();
    Gas {
        f: std::array::from_fn(|k| {
            let weight = [3.0, 18.0, 36.0][usize::from(k > 0) + usize::from(k > 6)];
            (1.0 + wave(k)) / weight
        }),
    }
}

/// 256^3 on a GPU, 128^3 on two cores.
pub fn measured(place: &Place<'_>) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for on in place.devices() {
        let (n, steps) = if on == On::Cores { (128, 10) } else { (256, 100) };
        let n = n / place.shrink;
        let mut gas = Volume::try_from_fn([n; 3], start)?;
        let run = place.run(on);
        let stencil = Stencil::of(flow(OMEGA)).boundary(Boundary::Periodic);
        let mut session = stencil.on_with(&mut gas, place.machine, &run)?;
        let mut some = || {
            session.run(Steps(steps))?;
            session.get([0; 3]).map(drop)
        };
        some()?;
        let cells = (n * n * n) as f64;
        let seconds = place.repeated(some)?;
        let rates = seconds.iter().map(|seconds| cells * steps as f64 / seconds).collect();
        session.finish()?;
        let figure = Figure::median(format!("D3Q19, {n}^3 f32"), on.name(), rates, "cells/s");
        if on == On::Cores {
            let plain = plain(place, n);
            let ratio = figure.value / plain.value;
            figures.extend([figure.over(ratio, "times the plain loop's rate"), plain]);
        } else {
            let most = place.traffic(on, BYTES as f64).map(f64::recip);
            let ratio = most.map(|most| figure.value / most);
            figures.push(match ratio {
                Some(ratio) => figure.over(ratio, "of the roofline"),
                None => figure,
            });
        }
    }
    Ok(figures)
}

/// One step on a torus of `n`^3 cells.
fn plain_step(now: &[Vec<f32>], next: &mut [Vec<f32>], n: usize) {
    let shifted = |at: usize, by: isize| (at + n).wrapping_add_signed(by) % n;
    for z in 0..n {
        for y in 0..n {
            for x in 0..n {
                let arrived = std::array::from_fn(|k| {
                    let [dz, dy, dx] = FROM[k];
                    now[k][(shifted(z, dz) * n + shifted(y, dy)) * n + shifted(x, dx)]
                });
                let after = collided(arrived, OMEGA);
                for (k, value) in after.into_iter().enumerate() {
                    next[k][(z * n + y) * n + x] = value;
                }
            }
        }
    }
}

fn plain_start(n: usize) -> Vec<Vec<f32>> {
    let mut fields = vec![Vec::new(); 19];
    for index in 0..n * n * n {
        let gas = start([index / (n * n), index / n % n, index % n]);
        fields.iter_mut().zip(gas.f).for_each(|(field, value)| field.push(value));
    }
    fields
}

/// The rate of the plain loop.
fn plain(place: &Place<'_>, n: usize) -> Figure {
    let mut now = plain_start(n);
    let mut next = now.clone();
    let mut rates = Vec::new();
    for _ in 0..place.repeats {
        let begin = Instant::now();
        plain_step(&now, &mut next, n);
        rates.push((n * n * n) as f64 / begin.elapsed().as_secs_f64());
        std::mem::swap(&mut now, &mut next);
    }
    Figure::median("the same by a plain loop".into(), "one core", rates, "cells/s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_loop_computes_what_the_session_does() {
        let n = 6;
        let mut gas = Volume::from_fn([n; 3], start);
        let stencil = Stencil::of(flow(OMEGA)).boundary(Boundary::Periodic);
        let run =
            warpweft::stencil::Run { target: warpweft::stencil::Target::Cpu, ..Default::default() };
        let machine = Machine::detect().unwrap();
        stencil.run_with(&mut gas, Steps(2), &machine, &run).unwrap();
        let now = plain_start(n);
        let [mut once, mut twice] = [now.clone(), now.clone()];
        plain_step(&now, &mut once, n);
        plain_step(&once, &mut twice, n);
        for (k, field) in twice.iter().enumerate() {
            assert_eq!(gas.field::<f32>(k).unwrap(), field, "population {k}");
        }
    }
}
