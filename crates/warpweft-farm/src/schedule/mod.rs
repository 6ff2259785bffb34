//! Who gets which tasks next: pure functions of what is free and what is known of the units.
//!
//! A schedule knows no thread, clock or task. What it gives is checked against the ledger.

mod equal;
mod guided;

use std::ops::Range;

pub use equal::{eq1, eq2};
pub use guided::pack;

use super::policy::{PackSize, Policy, Schedule};
use super::ranges::Ranges;
use super::unit::Standing;

/// A unit that asks for work, and all that a schedule may know.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Who asks, a number below that of `units`.
    pub unit: usize,
    /// All units.
    pub units: &'a [Standing],
    /// The tasks that nobody has yet; never none.
    pub free: &'a Ranges,
    /// How many tasks are out to units.
    pub out: u64,
}

impl Ask<'_> {
    /// What is known of who asks.
    pub fn standing(&self) -> &Standing {
        &self.units[self.unit]
    }

    /// Tasks a second of all units there still are, as far as known.
    pub fn speed_of_all(&self) -> f64 {
        self.units.iter().filter(|unit| !unit.lost).filter_map(|unit| unit.speed).sum()
    }
}

/// What decides who gets which tasks (TuCCompi, section 4.5.1).
pub trait Scheduler: Send {
    /// The pack for who asks: free tasks, at least one. `None`: it is to wait until a pack was handed
    /// over or a unit was lost.
    fn next(&mut self, ask: &Ask<'_>) -> Option<Range<u64>>;
}

/// The scheduler of `policy`.
pub fn of(policy: &Policy) -> Box<dyn Scheduler> {
    let Policy { schedule, pack, seconds, .. } = *policy;
    match schedule {
        Schedule::MasterWorker => Box::new(guided::Guided { pack, seconds }),
        Schedule::Single => Box::new(guided::Guided { pack: PackSize::Tasks(1), seconds }),
        Schedule::Eq1 => Box::new(equal::Equal::new(eq1, pack, seconds)),
        Schedule::Eq2 => Box::new(equal::Equal::new(eq2, pack, seconds)),
    }
}
