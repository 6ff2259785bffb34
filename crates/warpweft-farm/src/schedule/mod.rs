//! Which worker gets which tasks next: pure functions of what is free and what is known of the workers.
//!
//! A schedule knows no thread, clock or task. What it gives is checked against the ledger.

mod backups;
pub(crate) mod dispatcher;
mod equal;
mod guided;
pub(crate) mod ledger;
pub(crate) mod master;
pub(crate) mod ranges;
mod scheduler;
mod speeds;

pub use equal::{eq1, eq2};
pub use guided::chunk_size;
pub use scheduler::{Request, Scheduler};

use crate::policy::{ChunkSize, Policy, Schedule};

/// The scheduler of `policy`.
pub fn of(policy: &Policy) -> Box<dyn Scheduler> {
    let Policy { schedule, chunk, seconds, backups, .. } = *policy;
    match schedule {
        Schedule::MasterWorker => Box::new(guided::Guided::new(chunk, seconds, backups)),
        Schedule::Single => Box::new(guided::Guided::new(ChunkSize::Tasks(1), seconds, backups)),
        Schedule::Eq1 => Box::new(equal::Equal::new(eq1, chunk, seconds)),
        Schedule::Eq2 => Box::new(equal::Equal::new(eq2, chunk, seconds)),
    }
}
