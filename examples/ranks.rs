//! Heat over the processes that `mpirun` started, or on this machine alone: the same bits.
//!
//! `cargo build --release --package warpweft --features mpi --example ranks`, then
//! `mpirun -n 4 target/release/examples/ranks`.

use warpweft::cluster::mpi::Mpi;
use warpweft::cluster::{Launched, Transport};
use warpweft::prelude::*;
use warpweft::stencil::drive::{Ranks, a_gpu_each};

/// One explicit step of the diffusion equation.
#[stencil]
fn diffuse(u: Near<f32, 3>, rate: f32) -> f32 {
    let around =
        u[[-1, 0, 0]] + u[[1, 0, 0]] + u[[0, -1, 0]] + u[[0, 1, 0]] + u[[0, 0, -1]] + u[[0, 0, 1]];
    u[[0, 0, 0]] + rate * (around - 6.0 * u[[0, 0, 0]])
}

/// Runs over all processes, or in this one.
pub fn main() -> Result<()> {
    let machine = Machine::detect()?;
    let stencil = Stencil::of(diffuse(0.1)).boundary(Boundary::Periodic);
    let hot = |[z, y, x]: [usize; 3]| if [z, y, x] == [32, 32, 32] { 1e6 } else { 0.0 };
    let mut volume = Volume::from_fn([64, 64, 64], hot);
    let report = match Launched::detect() {
        Some(launched) if launched.ranks > 1 => {
            // Joined once, kept until nothing is left to be done together.
            let net = Mpi::join(&launched)?;
            let run = Run::default();
            // One for each GPU of every process; `net.ranks()` is one a process.
            let count = a_gpu_each(&net, &machine, &run)?;
            let ranks = Ranks { count, grid: None, depth: None };
            let report = stencil.run_with(
                &mut volume,
                Steps(100),
                &machine,
                &Run { settings: run.settings.over(ranks), net: Some(&net), ..run.clone() },
            )?;
            // Rank 0 alone has the whole result, and a report of all.
            if net.rank() > 0 {
                return Ok(());
            }
            report
        }
        _ => stencil.run(&mut volume, Steps(100), &machine)?,
    };
    println!("{report}");
    println!("{} in the middle", volume[[32, 32, 32]]);
    Ok(())
}
