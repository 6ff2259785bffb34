//! A year in the ground: the surface is as warm as the season, which is a function of time.
//!
//! `cargo run --release --package warpweft --example ground`
//!
//! Deep below, the year arrives late and damped: `e^(-z/d) cos(wt - z/d)` with `d = sqrt(2 k / w)`, which
//! the program compares with what it computed.

use std::f64::consts::TAU;

use warpweft::prelude::*;

/// Steps a year, and metres a cell.
const YEAR: u64 = 36_500;
const CELL: f64 = 0.05;

/// One explicit step of conduction.
#[stencil]
fn conduct(u: Near<f64, 1>, rate: f64) -> f64 {
    u[[0]] + rate * (u[[-1]] - 2.0 * u[[0]] + u[[1]])
}

/// The temperature at the surface in degrees: the mean plus the seasonal variation.
#[boundary]
fn season(_at: [i64; 1], step: u64, mean: f64, swing: f64) -> f64 {
    mean + swing * (TAU * step as f64 / YEAR as f64).cos()
}

fn main() -> Result<()> {
    // Of dry soil: 0.35 square metres a week or so, here in cells and steps.
    let rate = 7e-7 * (365.25 * 86_400.0 / YEAR as f64) / (CELL * CELL);
    let mut ground = Volume::from_fn([500], |_| 9.0);
    let stencil = Stencil::of(conduct(rate)).face_by(0, Face::Low, season(9.0, 12.0)).face(
        0,
        Face::High,
        Boundary::Neumann,
    );
    // Eight years, until every year is like the one before.
    let report = stencil.run(&mut ground, Steps(8 * YEAR), &Machine::detect()?)?;
    println!("{} steps on {}", report.done, report.devices.join(", "));
    let depth = (2.0 * rate / (TAU / YEAR as f64)).sqrt();
    println!("metres  degrees  theory");
    for cell in [0, 20, 40, 80, 160] {
        let z = (cell + 1) as f64 / depth;
        let theory = 9.0 + 12.0 * (-z).exp() * (-z).cos();
        println!("{:6.2}  {:7.3}  {theory:6.3}", (cell + 1) as f64 * CELL, ground[[cell]]);
    }
    Ok(())
}
