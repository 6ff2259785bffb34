//! A phase field: an island of one phase in another shrinks as its curvature says (Allen and Cahn), and a picture.
//!
//! `cargo run --release --package warpweft --example phase_field`
//!
//! The interface moves at the speed of its curvature, so a smooth island of any shape loses 2 pi of area a unit of time
//! (S. M. Allen and J. W. Cahn, "A microscopic theory for antiphase boundary motion", 1979).

use std::f64::consts::TAU;
use std::ops::ControlFlow;

use warpweft::grid::io::{Colours, Picture, png};
use warpweft::prelude::*;

/// A step of `u' = laplace u + (u - u^3) / width^2`, whose phases are -1 and 1.
#[stencil]
fn evolve(u: Near<f32, 2>, step: f32, width: f32) -> f32 {
    let here = u[[0, 0]];
    let laplace = u[[-1, 0]] + u[[1, 0]] + u[[0, -1]] + u[[0, 1]] - 4.0 * here;
    here + step * (laplace + (here - here * here * here) / (width * width))
}

const SIZE: usize = 256;
const STEP: f32 = 0.1;
const WIDTH: f32 = 3.0;

fn main() -> Result<()> {
    let machine = Machine::detect()?;
    // A star with five arms.
    let star = |[y, x]: [usize; 2]| {
        let (dy, dx) = (y as f32 - 127.5, x as f32 - 127.5);
        let edge = 80.0 + 20.0 * (5.0 * dy.atan2(dx)).cos();
        ((edge - dy.hypot(dx)) / (2f32.sqrt() * WIDTH)).tanh()
    };
    let mut plate = Volume::from_fn([SIZE, SIZE], star);
    let stencil = Stencil::of(evolve(STEP, WIDTH)).boundary(Boundary::Neumann);
    let mut session = stencil.on(&mut plate, &machine)?;
    let mut areas = Vec::new();
    session.run_every(Steps(2000), Steps(12_000), |session| {
        let area = (session.sum(0)? + (SIZE * SIZE) as f64) / 2.0;
        println!("area {area:.0}");
        areas.push(area);
        Ok(ControlFlow::Continue(()))
    })?;
    println!("{}", session.finish()?);
    for pair in areas.windows(2) {
        let rate = (pair[1] - pair[0]) / (2000.0 * f64::from(STEP));
        assert!((rate / -TAU - 1.0).abs() < 0.03, "the area shrinks by 2 pi, not by {rate}");
    }
    let picture = Picture::of_middle(&plate, 0, [-1.0, 1.0], Colours::Viridis)?;
    png::write("phase_field.png".as_ref(), &picture)?;
    println!("written phase_field.png");
    Ok(())
}
