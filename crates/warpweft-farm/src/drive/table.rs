//! The table of workers (TuCCompi, figure 8).

use serde::{Deserialize, Serialize};

use crate::spec::worker::Worker;

/// What works in a farm.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct WorkerTable {
    /// All workers, those of each rank together.
    pub workers: Vec<Worker>,
    /// What they are of, for people.
    pub devices: Vec<String>,
    /// Where the workers of each rank begin; in the end their number.
    pub firsts: Vec<usize>,
}

impl WorkerTable {
    /// Of one process.
    pub fn own(workers: Vec<Worker>, devices: Vec<String>) -> Self {
        let firsts = vec![0, workers.len()];
        Self { workers, devices, firsts }
    }
}
