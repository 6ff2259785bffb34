//! Heat in a box: one function for a cell, run on whatever the machine has.
//!
//! `cargo run --release --package warpweft --example heat`

use warpweft::prelude::*;

/// One explicit step of the diffusion equation.
#[stencil]
fn diffuse(u: Near<f32, 3>, rate: f32) -> f32 {
    let around =
        u[[-1, 0, 0]] + u[[1, 0, 0]] + u[[0, -1, 0]] + u[[0, 1, 0]] + u[[0, 0, -1]] + u[[0, 0, 1]];
    u[[0, 0, 0]] + rate * (around - 6.0 * u[[0, 0, 0]])
}

fn main() -> Result<()> {
    let machine = Machine::detect()?;
    let hot = |[z, y, x]: [usize; 3]| if [z, y, x] == [64, 64, 64] { 1e6 } else { 0.0 };
    let mut volume = Volume::from_fn([128, 128, 128], hot);
    let report = Stencil::of(diffuse(0.1))
        .boundary(Boundary::Neumann)
        .until(Residual::Max, 1e-3)
        .run(&mut volume, Steps(500), &machine)?;
    println!("{} steps on {}", report.done, report.devices.join(", "));
    println!("{:.2e} {}", report.rate.value, report.rate.unit);
    println!("{} in the middle", volume[[64, 64, 64]]);
    Ok(())
}
