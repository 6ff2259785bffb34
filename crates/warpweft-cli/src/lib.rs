//! The `warpweft` command: arguments, messages and files. The computations are in the crate `warpweft`.
//!
//! This is a library, so that cargo can compile it in parallel with its dependencies; a program would wait.

mod align;
mod apsp;
mod arguments;
mod channels;
mod device;
mod farms;
mod info;
mod lab;
mod plot;
mod recurrences;
mod run;
mod tune;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use warpweft::cluster::Launched;
use warpweft_terminal::{Program, first_only};
use warpweft_terminal::{interrupt, limits, output, place, progress, requested, shell, world};

/// Run, check and tune stencils, alignments, shortest paths and fork-join tasks on CPU cores, NVIDIA GPUs and MPI ranks.
#[derive(Parser)]
#[command(name = "warpweft", version, subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = "Examples:
  warpweft run heat                      a hot spot spreads; checked against the exact solution
  warpweft run life --plot life.png      Conway's Game of Life and a picture of it
  warpweft info --probe                  cores, memory and GPUs, with measured limits

Exit status:
  0    done, and every check passed
  1    a file, a device, memory or a check failed; results that could be saved were saved
  2    the request is impossible: an option, its value, or a combination
  130  ended by Ctrl-C, SIGTERM, SIGHUP or --deadline

After Ctrl-C, SIGTERM or SIGHUP, `run` of a stencil finishes the steps that it
has begun, `run laplace` its sweeps, and `run` of a farm and `apsp` their chunks.
They write the requested files and end with 130. A second signal ends them at
once. All other commands end at the first signal and write nothing.

Environment:
  WARPWEFT_CACHE         folder of compiled kernels, limits and tuned policies [~/.cache/warpweft]
  WARPWEFT_NVRTC         the NVRTC library or its folder, if it isn't found automatically
  WARPWEFT_CUFFT         the cuFFT library or its folder, likewise
  WARPWEFT_MPI           path of the MPI library, if it isn't found automatically
  WARPWEFT_HALOS         route of halos between GPUs: ipc, cuda-aware or staged
  WARPWEFT_KERNEL_TABLE  file with block sizes for farm kernels, see `tune farm --help`")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run an application, check its answer and report.
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Run(Box<run::Run>),
    /// Align DNA or protein sequences: the best alignment, its score, ends and path.
    Align(align::Align),
    /// Summed area table (integral image) of an image.
    Sat(recurrences::Sat),
    /// Compare two series when time may stretch: the dynamic time warping distance.
    Dtw(recurrences::Dtw),
    /// Shortest paths from many sources of a graph: for each the vertices reached, the largest distance and the sum.
    Apsp(apsp::Apsp),
    /// Run fork-join tasks, as in Cilk.
    Channels(channels::Channels),
    /// Show the machine's cores, memory and GPUs, and with --probe their measured limits.
    Info(info::Info),
    /// Check every executor against the reference, bit for bit, on the devices present.
    Verify(lab::Arguments),
    /// Search for a fast policy of a problem and keep it for later runs.
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Tune(Box<tune::Tune>),
    /// Measure rates, next to those of other systems that are installed.
    Bench(lab::Arguments),
    /// Predict and simulate runs on machines that you do not have.
    Model(lab::Arguments),
    /// Print a completion script for a shell.
    Completions(shell::Completions),
    /// Print the manual page.
    Man,
}

/// Parameters that name files to read.
const INPUTS: [&str; 8] = ["input", "query", "target", "a", "b", "image", "graph", "sources"];

/// Whether the command saves what it has when it is asked to end.
fn heeds(Cli { command }: &Cli) -> bool {
    match command {
        Command::Run(run) => run.is_of_ranks(),
        Command::Apsp(apsp) => apsp.is_of_ranks(),
        _ => false,
    }
}

/// Runs the command with the arguments of this process.
pub fn main() -> ExitCode {
    if let Some(words) = lab::asked() {
        return lab::become_lab(&words);
    }
    let command = match (Program { inputs: &INPUTS, heeds }).begin() {
        Ok(Cli { command }) => command,
        Err(status) => return status,
    };
    let of_ranks = match &command {
        Command::Run(run) => run.is_of_ranks(),
        Command::Align(_) | Command::Dtw(_) => true,
        Command::Apsp(apsp) => apsp.is_of_ranks(),
        // The other commands run in one process.
        _ => false,
    };
    let tells = matches!(&command, Command::Info(_) | Command::Completions(_) | Command::Man);
    if let (Some(what), false) = (Launched::misread(), tells) {
        output::note(&what);
    }
    if !of_ranks && !first_only(tells) {
        return world::leave(ExitCode::SUCCESS);
    }
    let status = match command {
        Command::Run(run) => run.execute(),
        Command::Align(align) => align.execute(),
        Command::Sat(sat) => sat.execute(),
        Command::Dtw(dtw) => dtw.execute(),
        Command::Apsp(apsp) => apsp.execute(),
        Command::Channels(channels) => channels.execute(),
        Command::Info(info) => info.execute(),
        Command::Tune(tune) => tune.execute(),
        // Reached only if the arguments differ from those checked at the start.
        Command::Verify(_) | Command::Bench(_) | Command::Model(_) => {
            lab::become_lab(&lab::words())
        }
        Command::Completions(completions) => completions.execute(Cli::command(), "warpweft"),
        Command::Man => shell::man(Cli::command()),
    };
    world::leave(status)
}
