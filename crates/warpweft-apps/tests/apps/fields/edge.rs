//! Reverse edge detection gives back the picture.

use std::f64::consts::PI;

use warpweft::prelude::*;
use warpweft_apps::edge::{self, Pixel, WHITE};

use super::{BOUNDARIES, error, plain, run};

#[test]
fn pictures_agree_with_the_straightforward_loop() {
    let picture = edge::rings([19, 34]).expect("a small picture");
    for boundary in BOUNDARIES {
        let start = edge::edges_of(&picture, &[[boundary; 2]; 2]).expect("a small picture");
        let mut plain = plain(&start, 1, boundary);
        let found = run(&edge::stencil().boundary(boundary), start, 30);
        (0..30).for_each(|_| plain.step(edge::plain_step));
        let error = error(&found, &plain);
        // Each step averages: it adds at most three roundings and amplifies none.
        assert!(error <= 30.0 * 3.0 * f64::from(f32::EPSILON), "{boundary:?}: {error:e}");
    }
}

#[test]
fn the_error_of_a_sine_shrinks_by_its_eigenvalue_every_step() {
    let [ny, nx] = [15, 23];
    let wave = |n: usize, i: usize, k: f64| (k * PI * (i as f64 + 1.0) / (n as f64 + 1.0)).sin();
    let picture = Volume::from_fn([ny, nx], |[y, x]| {
        let dent = 100.0 * wave(ny, y, 2.0) * wave(nx, x, 1.0);
        Pixel { image: WHITE - dent as f32, edge: 0.0 }
    });
    let white = Boundary::Dirichlet(f64::from(WHITE));
    let start = edge::edges_of(&picture, &[[white; 2]; 2]).expect("a small picture");
    let found = run(&edge::stencil().boundary(white), start, 60);
    let shrinks = 0.5 * ((2.0 * PI / (ny as f64 + 1.0)).cos() + (PI / (nx as f64 + 1.0)).cos());
    for y in 0..ny {
        for x in 0..nx {
            let missing = 100.0 * wave(ny, y, 2.0) * wave(nx, x, 1.0) * shrinks.powi(60);
            let expect = picture.get([y, x]).expect("inside").to_f64(0) + missing;
            let found = found.get([y, x]).expect("inside").to_f64(0);
            assert!((found - expect).abs() < 5e-3, "[{y}, {x}]: {found} for {expect}");
        }
    }
}

#[test]
fn the_picture_comes_back() {
    let picture = edge::rings([24, 20]).expect("a small picture");
    let white = Boundary::Dirichlet(f64::from(WHITE));
    let start = edge::edges_of(&picture, &[[white; 2]; 2]).expect("a small picture");
    let found = run(&edge::stencil().boundary(white), start, 2_000);
    let image = found.field::<f32>(0).expect("the image");
    for (found, grey) in image.iter().zip(picture.field::<f32>(0).expect("the image")) {
        assert!((found - grey).abs() < 0.05, "{found} for {grey}");
    }
}
