//! `warpweft run`: one application from its initial state to a checked, reported, saved result.

pub mod check;
mod execute;
pub mod files;
mod heat;
mod job;
mod life;
mod options;
pub mod outcome;
mod progress;

use std::process::ExitCode;

use clap::Subcommand;

use crate::output;

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
}

impl Run {
    /// Runs it and reports.
    pub fn execute(&self) -> ExitCode {
        crate::interrupt::listen();
        let outcome = match &self.app {
            App::Heat(heat) => heat.run(),
            App::Life(life) => life.run(),
            App::Life3d(life) => life.run(),
        };
        match outcome {
            Ok(outcome) => outcome.report(),
            Err(error) => output::fail(&error),
        }
    }
}
