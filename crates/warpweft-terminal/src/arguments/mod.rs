//! What users write on the command line of either program, as types.

mod number;
mod size;

use std::fmt::Display;

use clap::Arg;

pub use number::{at_least_one, number, seconds, threads, whole};
pub use size::Size;

/// An option whose help says what holds without it; that is applied elsewhere.
pub fn by_default(arg: Arg, value: impl Display) -> Arg {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    arg.help(format!("{help} [default: {value}]"))
}

/// Extents as `--size` takes them: `256x256x128`.
pub fn as_size(extents: &[usize]) -> String {
    extents.iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
}
