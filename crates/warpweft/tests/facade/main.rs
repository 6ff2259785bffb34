//! The library as its users see it, in one process and in several that a launcher starts.

mod by_hand;
mod fibonacci;
mod instantiated;
mod launched;
#[path = "../launchers/mod.rs"]
mod launchers;
#[cfg(feature = "mpi")]
mod mpi;
mod report;
#[path = "../rustc/mod.rs"]
mod rustc;
