//! Ripples on a pond: several fields a cell, two functions a step, a file for ParaView.
//!
//! `cargo run --release --package warpweft --example ripples`

use warpweft::grid::io::vti;
use warpweft::prelude::*;

/// A column of water.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
struct Water {
    /// Above the level at rest.
    height: f32,
    /// To the south.
    south: f32,
    /// To the east.
    east: f32,
}

/// Water flows down the slope of its surface.
#[stencil]
fn flow(now: Near<Water, 2>, next: &mut Water, dt: f32) {
    next.south -= dt * (now.height[[1, 0]] - now.height[[0, 0]]);
    next.east -= dt * (now.height[[0, 1]] - now.height[[0, 0]]);
}

/// The surface rises where more water comes in than goes out.
#[stencil]
fn rise(now: Near<Water, 2>, next: &mut Water, dt: f32) {
    let out = now.south[[0, 0]] - now.south[[-1, 0]] + now.east[[0, 0]] - now.east[[0, -1]];
    next.height -= dt * out;
}

fn main() -> Result<()> {
    let drop = |[y, x]: [usize; 2]| {
        let (dy, dx) = (y as f32 - 200.0, x as f32 - 300.0);
        Water { height: (-(dy * dy + dx * dx) / 50.0).exp(), south: 0.0, east: 0.0 }
    };
    let mut pond = Volume::from_fn([512, 512], drop);
    let before: f64 = pond.field::<f32>("height").map_or(0.0, sum);
    let report = Stencil::sequence((flow(0.5), rise(0.5))).boundary(Boundary::Periodic).run(
        &mut pond,
        Steps(400),
        &Machine::detect()?,
    )?;
    let after: f64 = pond.field::<f32>("height").map_or(0.0, sum);
    println!("{} steps on {}", report.done, report.devices.join(", "));
    println!("water before {before:.4}, after {after:.4}");
    vti::write("ripples.vti".as_ref(), &pond)?;
    println!("written ripples.vti");
    Ok(())
}

fn sum(cells: &[f32]) -> f64 {
    cells.iter().map(|&cell| f64::from(cell)).sum()
}
