//! Types of command-line arguments.

mod boundary;
pub mod conduction;
mod grid;
mod policy;
mod precision;
mod until;

pub use boundary::BoundaryChoice;
pub use conduction::{Conduction, Float};
pub use grid::Grid;
pub use policy::{PolicyChoice, RanksPolicy};
pub use precision::Precision;
pub use until::UntilChoice;
pub use warpweft_terminal::arguments::{
    Size, as_size, at_least_one, by_default, number, seconds, threads, whole,
};
