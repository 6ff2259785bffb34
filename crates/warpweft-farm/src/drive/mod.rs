//! A run in one process: its workers on their threads, the endpoints through which they deal with the master, and the
//! committer of their outputs. Not: other ranks.

pub mod clocks;
pub mod committer;
pub mod context;
pub mod endpoint;
pub mod local_workers;
#[cfg(all(test, not(loom)))]
mod model;
pub mod roll;
pub mod settings;
pub mod standing;
pub mod table;

pub use clocks::is_cancelled;
pub use settings::{AHEAD, ByGpu, FarmPattern, Lanes, Run, Settings, Stuck};
