//! `warpweft run`: one application from its initial state to a checked, reported, saved result.

pub mod check;
mod edge;
mod execute;
mod fields;
pub mod files;
mod heat;
mod himeno;
mod hyperthermia;
mod job;
pub mod life;
pub mod numbers;
mod options;
pub mod outcome;
mod seismic;
mod swim;
mod tricubic;
mod window;

use std::process::ExitCode;

use clap::Subcommand;
use warpweft::cluster::Launched;

use crate::output::note;
use crate::{place, world};

/// Which application.
#[derive(clap::Args)]
pub struct Run {
    #[command(subcommand)]
    app: App,
}

#[derive(Subcommand)]
enum App {
    /// Heat conduction in 1 to 3 dimensions, explicit steps of second to eighth order in space.
    Heat(heat::Heat),
    /// Conway's Game of Life.
    Life(life::Flat),
    /// Life in three dimensions: five neighbours of 26 give birth, two to seven keep alive.
    Life3d(life::Deep),
    /// A picture put together again from its edges.
    Edge(edge::Edge),
    /// Temperatures of heated tissue: nine coefficients a cell.
    Hyperthermia(hyperthermia::Hyperthermia),
    /// The Himeno benchmark: Poisson's equation with twelve coefficients a cell.
    Himeno(himeno::Himeno),
    /// Shallow water on a torus, as in the SPEC benchmark.
    Swim(swim::Swim),
    /// Dye in a flow, by interpolation between 64 cells.
    Tricubic(tricubic::Tricubic),
    /// Elastic waves from a blast, fourth order in space.
    Seismic(seismic::Seismic),
    /// Laplace's equation by sweeps in place: Gauss-Seidel or over-relaxation.
    Laplace(crate::recurrences::Laplace),
}

impl Run {
    /// Runs it and reports.
    pub fn execute(&self) -> ExitCode {
        crate::interrupt::listen();
        if let Some(what) = Launched::misread() {
            note(&what);
        }
        let outcome = world::join().and_then(|()| match &self.app {
            App::Heat(heat) => heat.run(),
            App::Life(life) => life.run(),
            App::Life3d(life) => life.run(),
            App::Edge(edge) => edge.run(),
            App::Hyperthermia(hyperthermia) => hyperthermia.run(),
            App::Himeno(himeno) => himeno.run(),
            App::Swim(swim) => swim.run(),
            App::Tricubic(tricubic) => tricubic.run(),
            App::Seismic(seismic) => seismic.run(),
            // Sweeps in place are one process's work.
            App::Laplace(_) if !place::speaks() => Ok(None),
            App::Laplace(laplace) => laplace.run().map(Some),
        });
        match outcome {
            Ok(outcome) => {
                world::leave(outcome.map_or(ExitCode::SUCCESS, |outcome| outcome.report()))
            }
            Err(error) => world::fail(&error),
        }
    }
}
