//! The `warpweft` command. Everything it can do is in the crate `warpweft`; here is only the talking.
//!
//! A library, so that cargo compiles it while it is still busy with what it depends on: a program waits.

mod align;
mod apsp;
mod arguments;
mod bench;
mod channels;
mod device;
mod info;
mod interrupt;
mod line;
mod model;
mod output;
mod place;
mod plot;
mod progress;
mod recurrences;
mod run;
mod shell;
mod tune;
mod verify;
mod waves;
mod world;

use std::io::Write;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Arg, Command as Clap, CommandFactory, FromArgMatches, Parser, Subcommand};
use warpweft::cluster::Launched;

/// One Rust function for one element, run on every core and GPU.
#[derive(Parser)]
#[command(name = "warpweft", version, subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = "Examples:
  warpweft run heat                      a hot spot spreads; checked against the exact solution
  warpweft run life --plot life.png      Conway's Game of Life and a picture of it
  warpweft info --probe                  what there is to run on, measured

Exit status:
  0    done, and what was checked is right
  1    a file, a device, memory or a check failed; what could be saved was
  2    what was asked for can't be: an option, its value, or how they go together
  130  ended by Ctrl-C

Asked to end by Ctrl-C, SIGTERM or SIGHUP, `run` finishes its sweep and
`apsp` its packs, save what was asked for and end with 130; asked again,
they end at once, as all other commands do.

Environment:
  WARPWEFT_CACHE  folder of compiled kernels, limits and tuned policies [~/.cache/warpweft]
  WARPWEFT_NVRTC  NVIDIA's run-time compiler or its folder, where it isn't found by itself
  WARPWEFT_MPI    path of MPI's library, where the launcher's isn't found by itself")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run an application, check its answer and report.
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Run(Box<run::Run>),
    /// Align DNA sequences: the best alignment, its score, ends and path.
    Align(align::Align),
    /// Sum an image over all rectangles from its corner: the summed area table.
    Sat(recurrences::Sat),
    /// Compare two series when time may stretch: the dynamic time warping distance.
    Dtw(recurrences::Dtw),
    /// Shortest paths from many sources of a graph: how far each reaches.
    Apsp(apsp::Apsp),
    /// Run calls that spawn calls, as in Cilk.
    Channels(channels::Channels),
    /// Show what there is to run on, and with --probe what it does.
    Info(info::Info),
    /// Check every executor against the reference, bit for bit, on the devices present.
    Verify(verify::Verify),
    /// Find the fastest policy of a problem and keep it for later runs.
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Tune(Box<tune::Tune>),
    /// Measure rates, beside those of other systems that are installed.
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Bench(bench::Bench),
    /// Predict and simulate runs on machines that are not there.
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Model(Box<model::Model>),
    /// Print a completion script for a shell.
    Completions(shell::Completions),
    /// Print the manual page.
    Man,
}

/// The command, with the arguments of this process: how it ended.
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|panic| {
        output::complain(&format!(
            "this is a bug in warpweft; please report it with the command that led here: {panic}"
        ));
    }));
    interrupt::survive_long_files();
    let cli = readable(Cli::command()).try_get_matches();
    let cli = match cli.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        // Help and version are "errors" with status 0.
        Err(error) if !error.use_stderr() && place::speaks() => {
            let print = || error.print().and_then(|()| std::io::stdout().flush());
            return output::printed(print());
        }
        Err(error) => {
            if place::speaks() {
                say_refusal(&error);
            }
            let text = error.to_string();
            let what = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
            return world::refuse(what, error.exit_code() as u8);
        }
    };
    let of_ranks = match &cli.command {
        Command::Run(run) => run.is_of_ranks(),
        Command::Align(_) | Command::Dtw(_) => true,
        Command::Apsp(apsp) => apsp.is_of_ranks(),
        Command::Bench(bench) => bench.is_of_ranks(),
        // The other commands are one process's work.
        _ => false,
    };
    let tells = matches!(&cli.command, Command::Info(_) | Command::Completions(_) | Command::Man);
    if let (Some(what), false) = (Launched::misread(), tells) {
        output::note(&what);
    }
    if !of_ranks {
        if !Launched::first_only() {
            return ExitCode::SUCCESS;
        }
        if let (Some(place), false) = (place::place(), tells) {
            output::note(&format!(
                "this is the work of one process, the first of the {}; those that share theirs are `run` \
                 (but for laplace), `align`, `dtw`, `apsp` and `bench ranks`",
                place.ranks
            ));
        }
    }
    match cli.command {
        Command::Run(run) => run.execute(),
        Command::Align(align) => align.execute(),
        Command::Sat(sat) => sat.execute(),
        Command::Dtw(dtw) => dtw.execute(),
        Command::Apsp(apsp) => apsp.execute(),
        Command::Channels(channels) => channels.execute(),
        Command::Info(info) => info.execute(),
        Command::Verify(verify) => verify.execute(),
        Command::Tune(tune) => tune.execute(),
        Command::Bench(bench) => bench.execute(),
        Command::Model(model) => model.execute(),
        Command::Completions(completions) => completions.execute(Cli::command()),
        Command::Man => shell::man(Cli::command()),
    }
}

/// Prints what is wrong with an option: in words for its user where the standard library has some for
/// programmers.
fn say_refusal(error: &clap::Error) {
    let known = [
        ("invalid digit found in string", "write a whole number"),
        ("invalid float literal", "write a number"),
        ("number too large to fit in target type", "that is too large"),
        ("number too small to fit in target type", "that is too small"),
        ("cannot parse integer from empty string", "write a whole number"),
        ("cannot parse float from empty string", "write a number"),
    ];
    let text = error.render().to_string();
    let plain = match known.iter().find(|(programmers, _)| text.contains(programmers)) {
        Some((theirs, ours)) => Some(text.replace(theirs, ours)),
        None if error.kind() == ErrorKind::InvalidSubcommand => {
            let there = format!("  [possible subcommands: {}]\n\nUsage:", subcommands().join(", "));
            Some(text.replacen("Usage:", &there, 1))
        }
        None => None,
    };
    // There is nowhere left to say that standard error is closed.
    let _ = match plain {
        Some(text) => write!(std::io::stderr(), "{text}"),
        None => error.print(),
    };
}

/// The subcommands of the command that the arguments name as far as they name one.
fn subcommands() -> Vec<String> {
    let mut command = Cli::command();
    for word in std::env::args_os().skip(1) {
        let Some(sub) = command.find_subcommand(&word) else { break };
        command = sub.clone();
    }
    let told = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    told.map(|sub| sub.get_name().to_string()).collect()
}

/// With options whose values may begin with a minus: whether -1 is a rate or a size is for them to
/// say, and is no unknown option.
fn readable(command: Clap) -> Clap {
    let valued = |arg: Arg| match arg.get_action().takes_values() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    };
    command.mut_args(valued).mut_subcommands(readable)
}
