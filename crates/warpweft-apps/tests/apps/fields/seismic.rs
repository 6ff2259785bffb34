//! Seismic waves: energy, symmetry, and the exact answer to a blast.

use warpweft::prelude::*;
use warpweft_apps::seismic::{Blast, Elastic, Medium, Shakes, plain_step};

use super::{BOUNDARIES, error, noise, plain, run, run_fast};

/// Every field at random, velocities about as strong as the stresses.
fn shaken<T: Real>(extents: [usize; 3], medium: &Medium) -> Volume<Elastic<T>, 3> {
    let mut next = noise(11);
    let press = medium.rho * medium.vp;
    Volume::from_fn(extents, |_| {
        let [vx, vy, vz] = [(); 3].map(|()| T::lit(next()));
        let [sxx, syy, szz, sxy, sxz, syz] = [(); 6].map(|()| T::lit(press * next()));
        let none = T::default();
        Elastic { vx, vy, vz, sxx, syy, szz, sxy, sxz, syz, ux: none, uy: none, uz: none }
    })
}

fn agrees<T: Shakes>(epsilon: f64) {
    let medium = Medium::granite(0.8);
    for boundary in BOUNDARIES {
        let start = shaken::<T>([9, 8, 21], &medium);
        let mut plain = plain(&start, 2, boundary);
        let found = run(&medium.stencil().expect("a medium").boundary(boundary), start, 8);
        (0..8).for_each(|_| plain_step(&medium, &mut plain));
        let error = error(&found, &plain);
        assert!(error <= 8.0 * 40.0 * epsilon, "{boundary:?}: {error:e}");
    }
}

#[test]
fn waves_agree_with_the_straightforward_loop() {
    agrees::<f32>(f64::from(f32::EPSILON));
    agrees::<f64>(f64::EPSILON);
}

#[test]
fn energy_neither_comes_nor_goes_on_a_torus() {
    let medium = Medium::granite(0.9);
    let stencil = medium.stencil().expect("a medium").boundary(Boundary::Periodic);
    let mut now = shaken::<f64>([10, 12, 11], &medium);
    let mut energies = vec![];
    for _ in 0..6 {
        let next = run(&stencil, now.clone(), 1);
        energies.push(medium.energy(&now, &next));
        now = run(&stencil, next, 9);
    }
    for energy in &energies {
        assert!((energy / energies[0] - 1.0).abs() < 1e-12, "{energies:?}");
    }
}

#[test]
fn a_blast_looks_the_same_from_every_side() {
    let (medium, n, steps) = (Medium::granite(0.8), 31, 18);
    let blast = Blast::in_the_middle([n; 3]);
    let stencil = medium.stencil().expect("a medium");
    let found = run(&stencil, blast.start::<f64>([n; 3]).expect("a small volume"), steps);
    let (m, scale) = (n / 2, 1e6);
    let cell = |[x, y, z]: [usize; 3]| found.get([z, y, x]).expect("inside");
    for (i, j, k) in [(m + 3, m + 5, m - 2), (m - 7, m, m + 4), (m + 6, m - 6, m + 1)] {
        let (a, b, c) = (cell([i, j, k]), cell([j, k, i]), cell([k, i, j]));
        // Turning the axes turns the tensor with them.
        for (p, q) in
            [(a.sxx, b.szz), (a.syy, b.sxx), (a.sxy, b.sxz), (a.sxx, c.syy), (a.syz, c.sxz)]
        {
            assert!((p - q).abs() < 1e-9 * scale, "{p} {q}");
        }
        // A mirrored cell is as far away; stress in its middle is the same.
        let d = cell([2 * m - i, j, k]);
        assert!((a.sxx - d.sxx).abs() < 1e-9 * scale, "{} {}", a.sxx, d.sxx);
        // Velocity along x lies half a cell above, so its mirror is one cell further.
        let e = cell([2 * m - i - 1, j, k]);
        let speed = scale / (medium.rho * medium.vp);
        assert!((a.vx + e.vx).abs() < 1e-9 * speed, "{} {}", a.vx, e.vx);
    }
}

/// The largest error of the divergence of displacement along a line from a blast `width` cells wide,
/// as a share of its largest value, when the wave is `way` widths out.
fn blast_error(width: f64, way: f64) -> f64 {
    let n = (5.0 * width + way * width) as usize;
    let extents = [2 * (n / 2) + 1; 3];
    // Shallow steps: errors in time are second order, those in space fourth.
    let medium = Medium::granite(0.25);
    let blast = Blast { width, ..Blast::in_the_middle(extents) };
    let start = blast.start::<f64>(extents).expect("a small volume");
    let steps = (way * width * medium.dx / 2.0 / (medium.vp * medium.dt)).round() as u64;
    let volume = run_fast(&medium.stencil().expect("a medium"), start, steps);
    // Velocities at rest belong to half a step before: the blast is half a step older.
    let time = (steps as f64 + 0.5) * medium.dt;
    let [z, y, x] = blast.at;
    let (mut worst, mut most) = (0.0f64, 0.0f64);
    for by in 0..n / 2 - 3 {
        let found = blast.divergence_in(&medium, &volume, [z, y, x + by]).expect("inside");
        let expect = blast.divergence(&medium, by as f64 * medium.dx, time);
        worst = worst.max((found - expect).abs());
        most = most.max(expect.abs());
    }
    worst / most
}

#[test]
fn a_blast_follows_the_exact_solution_and_errors_fall_with_the_cells() {
    let (coarse, fine) = (blast_error(2.5, 5.0), blast_error(5.0, 5.0));
    println!("{coarse:e} {fine:e}");
    assert!(coarse < 0.05 && fine < coarse / 8.0, "{coarse:e} {fine:e}");
}

#[test]
fn the_pressure_wave_arrives_when_theory_says() {
    let (medium, n) = (Medium::granite(0.5), 61);
    let blast = Blast { width: 3.0, ..Blast::in_the_middle([n; 3]) };
    let stencil = medium.stencil().expect("a medium").boundary(Boundary::Dirichlet(0.0));
    let mut volume = blast.start::<f64>([n; 3]).expect("a small volume");
    let away = 20;
    let station = [n / 2, n / 2, n / 2 + away];
    // The wave is r − v_P t times a bell: it crosses zero from pressure to suction at r = v_P t.
    let expect = away as f64 * medium.dx / medium.vp;
    let mut before = 0.0;
    assert_eq!(blast.front(&medium, &volume), None);
    for step in 1..400u64 {
        volume = run_fast(&stencil, volume, 1);
        let now = blast.divergence_in(&medium, &volume, station).expect("inside");
        if before < -1e-8 && now >= 0.0 {
            let time = (step as f64 + 0.5 - now / (now - before)) * medium.dt;
            assert!((time / expect - 1.0).abs() < 0.01, "{time} s for {expect} s");
            let front = blast.front(&medium, &volume).expect("it is there");
            let way = medium.vp * (step as f64 + 0.5) * medium.dt;
            assert!((front / way - 1.0).abs() < 0.01, "{front} m for {way} m");
            return;
        }
        before = now;
    }
    panic!("no wave came by");
}
