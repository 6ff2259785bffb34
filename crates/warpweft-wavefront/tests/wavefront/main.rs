//! The wavefront pattern: the reference's cells from every executor.

mod batch;
mod cores;
mod cuda;
mod gpus;
mod ranks;
mod run_with;
mod scan;
mod sixteen;
mod tiles;
