//! The start of a program: panics become one line, arguments are parsed, errors are in the user's words.

use std::io::Write;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Arg, Command, CommandFactory, FromArgMatches};
use warpweft::cluster::Launched;

use crate::statement::Statement;
use crate::{interrupt, output, place, world};

/// What is to be known of a program's arguments `A` before it begins.
pub struct Program<A> {
    /// The names of parameters that are input files.
    pub inputs: &'static [&'static str],
    /// Whether a command looks at [`interrupt::flag`], and saves what it has when it is set. Others end at once.
    pub heeds: fn(&A) -> bool,
}

impl<A: CommandFactory + FromArgMatches> Program<A> {
    /// The arguments of this process. If it is one of several, all have agreed on them.
    ///
    /// # Errors
    /// The exit status, after help, the version or an error was printed.
    pub fn begin(&self) -> Result<A, ExitCode> {
        std::panic::set_hook(Box::new(|panic| {
            output::complain(&format!(
                "this is a bug in warpweft; please report it with the command that led here: {panic}"
            ));
        }));
        interrupt::survive_long_files();
        interrupt::handle();
        let command = readable(A::command());
        let matches = match command.clone().try_get_matches() {
            Ok(matches) => matches,
            Err(error) => return Err(unparsed::<A>(&error)),
        };
        let arguments = A::from_arg_matches(&matches).map_err(|error| unparsed::<A>(&error))?;
        // Several processes are in step from here on.
        if place::place().is_some() && (self.heeds)(&arguments) {
            interrupt::listen();
        }
        world::meet(|| Statement::of(&command, &matches, self.inputs)).map(|()| arguments)
    }
}

/// The exit status after clap's `error` was printed, which help and the version are too.
fn unparsed<A: CommandFactory>(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        if let Err(status) = world::meet(|| Ok(Statement::of_help(&A::command()))) {
            return status;
        }
        let print = || error.print().and_then(|()| std::io::stdout().flush());
        let status = if place::speaks() { output::printed(print()) } else { ExitCode::SUCCESS };
        return world::leave(status);
    }
    let text = error.to_string();
    let what = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
    world::refuse(what, error.exit_code() as u8, || say_refusal(error, A::command()))
}

/// Whether this process does work for which one process suffices: it is alone, or the first that `mpirun`
/// started. If there are several, prints a note, unless the command `only_tells`.
pub fn first_only(only_tells: bool) -> bool {
    if !Launched::first_only() {
        return false;
    }
    if let (Some(place), false) = (place::place(), only_tells) {
        output::note(&format!(
            "this is the work of one process, the first of the {}; the subcommands that share their work are `run` \
             (except laplace), `align`, `dtw`, `apsp` and `bench ranks`",
            place.ranks
        ));
    }
    true
}

/// Prints an error about an option, in words for users where the standard library's are for programmers.
fn say_refusal(error: &clap::Error, command: Command) {
    let known = [
        ("invalid digit found in string", "write a whole number"),
        ("invalid float literal", "write a number"),
        ("number too large to fit in target type", "that is too large"),
        ("number too small to fit in target type", "that is too small"),
        ("cannot parse integer from empty string", "write a whole number"),
        ("cannot parse float from empty string", "write a number"),
        ("number would be zero for non-zero type", "write a whole number of at least 1"),
    ];
    let text = error.render().to_string();
    let plain = match known.iter().find(|(programmers, _)| text.contains(programmers)) {
        Some((theirs, ours)) => Some(text.replace(theirs, ours)),
        None if error.kind() == ErrorKind::InvalidSubcommand => {
            let names = subcommands(command).join(", ");
            let there = format!("  [possible subcommands: {names}]\n\nUsage:");
            Some(text.replacen("Usage:", &there, 1))
        }
        None => None,
    };
    // If standard error is closed, there is nowhere to report it.
    let _ = match plain {
        Some(text) => write!(std::io::stderr(), "{text}"),
        None => error.print(),
    };
}

/// The names of subcommands on the command line.
fn subcommands(mut command: Command) -> Vec<String> {
    for word in std::env::args_os().skip(1) {
        let Some(sub) = command.find_subcommand(&word) else { break };
        command = sub.clone();
    }
    let told = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    told.map(|sub| sub.get_name().to_string()).collect()
}

/// Lets option values begin with a minus sign, so that -1 is read as a value, not as an unknown option.
fn readable(command: Command) -> Command {
    let valued = |arg: Arg| match arg.get_action().takes_values() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    };
    command.mut_args(valued).mut_subcommands(readable)
}
