//! What the programs `warpweft` and `warpweft-lab` share at the terminal: reading arguments, messages, progress,
//! signals, and the other processes of an MPI run. Not: what any subcommand does.

pub mod arguments;
pub mod interrupt;
mod limits;
mod line;
pub mod output;
pub mod place;
pub mod progress;
pub mod shell;
mod start;
pub mod world;

pub use limits::limits;
pub use start::{arguments_of, first_only};
