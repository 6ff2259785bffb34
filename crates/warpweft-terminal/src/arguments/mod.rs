//! Command-line types that both programs use.

mod number;
mod size;

use std::fmt::Display;

use clap::Arg;

pub use number::{at_least_one, number, seconds, threads, whole};
pub use size::Size;

/// Adds a default to an option's help; the default is applied elsewhere.
pub fn by_default(arg: Arg, value: impl Display) -> Arg {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    arg.help(format!("{help} [default: {value}]"))
}

/// Extents as `--size` takes them: `256x256x128`.
pub fn as_size(extents: &[usize]) -> String {
    extents.iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
}
