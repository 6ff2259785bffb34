//! `warpweft channels`: fork-join tasks, and branch and bound by a channel-flow graph.

mod matrices;
pub(crate) mod options;
mod searches;
mod sorting;
mod trees;
mod tune;

use std::process::ExitCode;

use clap::Subcommand;
use warpweft::Result;

use crate::run::outcome::Outcome;
use crate::world;

pub use tune::Tune;

/// Fork-join tasks: functions that spawn calls, as in Cilk.
#[derive(clap::Args)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Examples:
  warpweft channels fib 40               331,160,281 calls; each spawns two
  warpweft channels queens 13            each call spawns one call per free square
  warpweft channels uts T1               a tree whose shape a hash decides
  warpweft channels sort 10000000        quicksort of a slice, by halves
  warpweft channels fib 35 --threads 1 --json"
)]
pub struct Channels {
    #[command(subcommand)]
    app: App,
}

/// Which program.
#[derive(Subcommand)]
pub enum App {
    /// A Fibonacci number by recursion: fib(n) spawns fib(n - 1) and fib(n - 2).
    Fib(trees::Fib),
    /// The number of solutions of the n-queens problem.
    Queens(trees::Queens),
    /// The nodes of an unbalanced tree (UTS), whose shape SHA-1 decides.
    Uts(trees::Uts),
    /// The integral of two sharp peaks, adaptively.
    Quadrature(searches::Quadrature),
    /// The best of what fits into a knapsack, by branch and bound.
    Knapsack(searches::Knapsack),
    /// Sort keys by quicksort or mergesort, on the cores or a GPU.
    Sort(sorting::Sort),
    /// The product of two matrices by Strassen's method, on the cores or a GPU.
    Strassen(matrices::Strassen),
}

impl App {
    /// Runs and checks.
    pub fn outcome(&self) -> Result<Outcome> {
        match self {
            Self::Fib(fib) => fib.outcome(),
            Self::Queens(queens) => queens.outcome(),
            Self::Uts(uts) => uts.outcome(),
            Self::Quadrature(quadrature) => quadrature.outcome(),
            Self::Knapsack(knapsack) => knapsack.outcome(),
            Self::Sort(sort) => sort.outcome(),
            Self::Strassen(strassen) => strassen.outcome(),
        }
    }
}

impl Channels {
    /// Runs, checks and prints.
    pub fn execute(&self) -> ExitCode {
        match self.app.outcome() {
            Ok(outcome) => world::leave(outcome.report()),
            Err(error) => world::fail(&error),
        }
    }
}
