//! One run from its start to its end: reports, ranks, interrupts, checkpoints, caches, memory.

mod caches;
mod checkpoint;
mod interrupt;
mod memory;
#[cfg(feature = "mpi")]
mod nodes;
#[cfg(feature = "mpi")]
mod pipes;
mod ranks;
mod run;
