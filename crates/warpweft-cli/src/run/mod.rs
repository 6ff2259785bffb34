//! `warpweft run`: one application from its initial state to a checked, reported and saved result.

pub mod apps;
pub mod check;
mod execute;
pub mod files;
pub mod job;
mod options;
pub mod outcome;
mod room;
pub mod values;

use std::process::ExitCode;

use clap::Subcommand;

use self::apps::{edge, heat, himeno, hyperthermia, life, paths, seismic, swim, tricubic};
use self::options::Options;
use crate::arguments::by_default;
use crate::world;

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
    /// Life in three dimensions: a cell is born with five live neighbours of 26 and survives with two to seven.
    Life3d(life::Deep),
    /// An image rebuilt from its edges.
    #[command(mut_arg("steps", |arg| by_default(arg, edge::STEPS)))]
    Edge(edge::Edge<Options>),
    /// Heating of tissue (Pennes' bioheat equation): nine coefficients per cell.
    #[command(mut_arg("steps", |arg| by_default(arg, hyperthermia::STEPS)))]
    Hyperthermia(hyperthermia::Hyperthermia<Options>),
    /// The Himeno benchmark: Poisson's equation with twelve coefficients per cell.
    #[command(mut_arg("steps", |arg| by_default(arg, himeno::STEPS)))]
    Himeno(himeno::Himeno<Options>),
    /// Shallow water on a torus, as in the SPEC benchmark.
    #[command(mut_arg("steps", |arg| by_default(arg, swim::STEPS)))]
    Swim(swim::Swim<Options>),
    /// Dye in a flow, by interpolation between 64 cells.
    #[command(mut_arg("steps", |arg| by_default(arg, tricubic::STEPS)))]
    Tricubic(tricubic::Tricubic<Options>),
    /// Elastic waves from a blast, fourth order in space.
    #[command(mut_arg("steps", |arg| by_default(arg, seismic::STEPS)))]
    Seismic(seismic::Seismic<Options>),
    /// Laplace's equation by sweeps in place: Gauss-Seidel or over-relaxation.
    Laplace(crate::recurrences::Laplace),
    /// A picture by a path tracer, with a channel for each material.
    Paths(paths::Paths),
    #[command(flatten)]
    Channels(crate::channels::App),
    /// The Mandelbrot set, a farm of tiles: tasks of very different length.
    Mandelbrot(crate::farms::mandelbrot::Mandelbrot),
    /// Call options priced by Monte Carlo, a farm of tasks of 100 us.
    #[command(name = "options")]
    Pricing(crate::farms::pricing::Pricing),
}

impl Run {
    /// Whether processes that `mpirun` started share the work; sweeps in place, path tracing and fork-join tasks run in one
    /// process.
    pub fn is_of_ranks(&self) -> bool {
        !matches!(self.app, App::Laplace(_) | App::Paths(_) | App::Channels(_))
    }

    /// Runs it and reports.
    pub fn execute(&self) -> ExitCode {
        let joined = if self.is_of_ranks() { world::join() } else { Ok(()) };
        let outcome = joined.and_then(|()| match &self.app {
            App::Heat(heat) => heat.run(),
            App::Life(life) => life.run(),
            App::Life3d(life) => life.run(),
            App::Edge(edge) => edge.execute(),
            App::Hyperthermia(hyperthermia) => hyperthermia.execute(),
            App::Himeno(himeno) => himeno.execute(),
            App::Swim(swim) => swim.execute(),
            App::Tricubic(tricubic) => tricubic.execute(),
            App::Seismic(seismic) => seismic.execute(),
            App::Laplace(laplace) => laplace.run().map(Some),
            App::Paths(paths) => paths.run().map(Some),
            App::Channels(app) => app.outcome().map(Some),
            App::Mandelbrot(mandelbrot) => mandelbrot.run(),
            App::Pricing(pricing) => pricing.run(),
        });
        match outcome {
            Ok(outcome) => {
                world::leave(outcome.map_or(ExitCode::SUCCESS, |outcome| outcome.report()))
            }
            Err(error) => world::fail(&error),
        }
    }
}
