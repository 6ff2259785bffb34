//! Tricubic interpolation is exact for cubics and has a known response to waves.

use std::f64::consts::TAU;

use warpweft::prelude::*;
use warpweft_apps::tricubic::{self, Moved, Moves};

use super::{BOUNDARIES, error, plain, run};

fn agrees<T: Moves>(epsilon: f64) {
    for boundary in BOUNDARIES {
        let start = tricubic::whirl::<T>([8, 9, 21]).expect("a small volume");
        let mut plain = plain(&start, 2, boundary);
        let found = run(&T::stencil().boundary(boundary), start, 5);
        (0..5).for_each(|_| tricubic::plain_step(&mut plain));
        let error = error(&found, &plain);
        // A step amplifies by at most 1.25 an axis, where the point is half way.
        assert!(error <= 5.0 * 1.25f64.powi(15) * 30.0 * epsilon, "{boundary:?}: {error:e}");
    }
}

#[test]
fn whirls_agree_with_the_straightforward_loop() {
    agrees::<f32>(f64::from(f32::EPSILON));
    agrees::<f64>(f64::EPSILON);
}

#[test]
fn cubics_are_moved_exactly() {
    let by = [-0.3, -0.7, -0.45];
    let cubic = |x: f64, y: f64, z: f64| {
        x.powi(3) - 2.0 * x * x * y.powi(3) + y * z.powi(3) - 0.5 * x.powi(3) * z * z + 3.0 - z
    };
    let at = |i: usize| (i as f64 - 3.0) / 4.0;
    let [a, b, c] = by;
    let start =
        Volume::from_fn([8, 8, 8], |[z, y, x]| Moved { u: cubic(at(x), at(y), at(z)), a, b, c });
    let found = run(&f64::stencil(), start, 1);
    for z in 1..6 {
        for y in 1..6 {
            for x in 1..6 {
                let there = |i: usize, by: f64| at(i) - by / 4.0;
                let expect = cubic(there(x, a), there(y, b), there(z, c));
                let found = found.get([z, y, x]).expect("inside").to_f64(0);
                assert!((found - expect).abs() < 1e-12, "[{z}, {y}, {x}]: {found} for {expect}");
            }
        }
    }
}

#[test]
fn a_wave_on_a_torus_turns_and_fades_as_its_weights_say() {
    let (n, a, steps) = (20, -0.35, 9);
    let phase = TAU * 2.0 / n as f64;
    let start = Volume::from_fn([4, 4, n], |[_, _, x]| Moved {
        u: (phase * x as f64).cos(),
        a,
        b: 0.0,
        c: 0.0,
    });
    let found = run(&f64::stencil().boundary(Boundary::Periodic), start, steps);
    // Of exp(i·phase·x): the sum of weights times exp(i·phase·offset).
    let others = |j: f64| [-1.0, 0.0, 1.0, 2.0].into_iter().filter(move |&k| k != j);
    let weight = |j: f64| others(j).map(|k| (-a - k) / (j - k)).product::<f64>();
    let offsets = [-1.0, 0.0, 1.0, 2.0];
    let real: f64 = offsets.iter().map(|&j| weight(j) * (phase * j).cos()).sum();
    let imaginary: f64 = offsets.iter().map(|&j| weight(j) * (phase * j).sin()).sum();
    let (length, angle) = (real.hypot(imaginary), imaginary.atan2(real));
    let (length, angle) = (length.powi(steps as i32), angle * steps as f64);
    for x in 0..n {
        let expect = length * (phase * x as f64 + angle).cos();
        let found = found.get([2, 1, x]).expect("inside").to_f64(0);
        assert!((found - expect).abs() < 1e-12, "{x}: {found} for {expect}");
    }
}
