//! The wavefront pattern: the reference's cells from every executor.

mod batch;
mod cells_16_bit;
mod cores;
mod cuda;
mod dependences;
mod gpus;
mod paths;
mod ranks;
mod run_with;
mod scan;
mod tables;
mod tiles;
