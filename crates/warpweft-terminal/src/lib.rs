//! Terminal code that `warpweft` and `warpweft-lab` share: arguments, messages, progress, signals, and the
//! other processes of an MPI run.

pub mod arguments;
#[cfg(feature = "mpi")]
mod ending;
pub mod interrupt;
mod limits;
mod line;
pub mod output;
pub mod place;
pub mod progress;
pub mod requested;
pub mod shell;
mod start;
mod statement;
pub mod world;

pub use limits::limits;
pub use start::{Program, first_only};
