//! The program `warpweft-lab`: what the command `warpweft` starts for `bench`, `model` and `verify`.

mod bench;
mod model;
mod verify;
mod waves;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use warpweft::cluster::Launched;
use warpweft_terminal::{Program, first_only, output, shell, world};

/// Check, measure and predict: `warpweft verify`, `warpweft bench` and `warpweft model`.
#[derive(Parser)]
#[command(
    name = "warpweft-lab",
    version,
    subcommand_required = true,
    arg_required_else_help = true
)]
// What users type: the command starts this program.
#[command(bin_name = "warpweft")]
#[command(after_help = "Examples:
  warpweft verify                        every executor against the reference, bit for bit
  warpweft bench stencil                 rates, next to those of other systems that are installed
  warpweft model stencil --nodes 1,64    simulates a cluster")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check every executor against the reference, bit for bit, on the devices present.
    Verify(verify::Verify),
    /// Measure rates, next to those of other systems that are installed.
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Bench(bench::Bench),
    /// Predict and simulate runs on machines that you do not have.
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Model(Box<model::Model>),
    /// Print a completion script of warpweft-lab for a shell.
    #[command(bin_name = "warpweft-lab completions")]
    Completions(shell::Completions),
    /// Print the manual page of warpweft-lab.
    #[command(bin_name = "warpweft-lab man")]
    Man,
}

fn main() -> ExitCode {
    let command = match (Program { inputs: &[], heeds: |_| false }).begin() {
        Ok(Cli { command }) => command,
        Err(status) => return status,
    };
    let of_ranks = matches!(&command, Command::Bench(bench) if bench.is_of_ranks());
    let tells = matches!(&command, Command::Completions(_) | Command::Man);
    if let (Some(what), false) = (Launched::misread(), tells) {
        output::note(&what);
    }
    if !of_ranks && !first_only(tells) {
        return world::leave(ExitCode::SUCCESS);
    }
    let status = match command {
        Command::Verify(verify) => verify.execute(),
        Command::Bench(bench) => bench.execute(),
        Command::Model(model) => model.execute(),
        Command::Completions(completions) => completions.execute(Cli::command(), "warpweft-lab"),
        Command::Man => shell::man(Cli::command()),
    };
    world::leave(status)
}
