//! What users write on the command line, as types.

mod boundary;
pub mod conduction;
mod device;
mod grid;
mod number;
mod policy;
mod precision;
mod size;
mod until;

use std::fmt::Display;

use clap::Arg;

pub use boundary::{BoundaryChoice, apply};
pub use conduction::{Conduction, Float, InTypes};
pub use device::DeviceChoice;
pub use grid::Grid;
pub use number::{at_least_one, number, seconds, threads, whole};
pub use policy::{PolicyChoice, RanksPolicy};
pub use precision::Precision;
pub use size::Size;
pub use until::UntilChoice;

/// An option whose help says what holds without it; that is applied elsewhere.
pub fn by_default(arg: Arg, value: impl Display) -> Arg {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    arg.help(format!("{help} [default: {value}]"))
}

/// Extents as `--size` takes them: `256x256x128`.
pub fn as_size(extents: &[usize]) -> String {
    extents.iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
}
