//! Gray-Scott patterns: two substances that react and diffuse, looked at while they grow, and a picture.
//!
//! `cargo run --release --package warpweft --example gray_scott`

use std::ops::ControlFlow;

use warpweft::grid::io::{Colours, Picture, png};
use warpweft::prelude::*;

/// Concentrations.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
struct Substances {
    u: f32,
    v: f32,
}

#[device]
fn laplace(here: f32, sides: f32, corners: f32) -> f32 {
    0.2 * sides + 0.05 * corners - here
}

/// `u` is fed, `v` turns it into itself and decays (J. E. Pearson, "Complex patterns in a simple system", 1993). The
/// feed rate grows from the left to the right, so one picture has many patterns.
#[stencil]
fn react(g: Near<Substances, 2>, #[at] at: [usize; 2], feed: [f32; 2], kill: f32) -> Substances {
    let here = g[[0, 0]];
    let sides_u = g[[-1, 0]].u + g[[1, 0]].u + g[[0, -1]].u + g[[0, 1]].u;
    let sides_v = g[[-1, 0]].v + g[[1, 0]].v + g[[0, -1]].v + g[[0, 1]].v;
    let corners_u = g[[-1, -1]].u + g[[-1, 1]].u + g[[1, -1]].u + g[[1, 1]].u;
    let corners_v = g[[-1, -1]].v + g[[-1, 1]].v + g[[1, -1]].v + g[[1, 1]].v;
    let rate = feed[0] + at[1] as f32 * feed[1];
    let reaction = here.u * here.v * here.v;
    Substances {
        u: here.u + laplace(here.u, sides_u, corners_u) - reaction + rate * (1.0 - here.u),
        v: here.v + 0.5 * laplace(here.v, sides_v, corners_v) + reaction - (rate + kill) * here.v,
    }
}

const SIZE: usize = 256;

fn main() -> Result<()> {
    let machine = Machine::detect()?;
    // Drops of `v` on a lattice that is a little out of order.
    let seed = |[y, x]: [usize; 2]| {
        let drop = (y + x / 7) % 32 < 6 && (x + y / 5) % 32 < 6;
        Substances { u: if drop { 0.5 } else { 1.0 }, v: if drop { 0.25 } else { 0.0 } }
    };
    let mut dish = Volume::from_fn([SIZE, SIZE], seed);
    let stencil =
        Stencil::of(react([0.022, 0.022 / SIZE as f32], 0.06)).boundary(Boundary::Periodic);
    let mut on = stencil.on(&mut dish, &machine)?;
    on.run_every(Steps(500), Steps(3000), |on| {
        let (least, most) = (on.min("v")?, on.max("v")?);
        println!("v between {least:.3} and {most:.3}, {:.1} in all", on.sum("v")?);
        assert!((0.0..=1.0).contains(&least) && most <= 1.0, "concentrations stay in range");
        Ok(if most < 0.05 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    println!("{}", on.finish()?);
    let v = dish.field::<f32>("v").unwrap_or_default();
    let covered = v.iter().filter(|&&v| v > 0.15).count() as f64 / v.len() as f64;
    assert!((0.05..0.8).contains(&covered), "patterns cover a part of the dish, not {covered:.2}");
    png::write(
        "gray_scott.png".as_ref(),
        &Picture::of_middle(&dish, 1, [0.0, 0.4], Colours::Viridis)?,
    )?;
    println!("{:.0} % covered, written gray_scott.png", 100.0 * covered);
    Ok(())
}
