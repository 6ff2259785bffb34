//! Master-worker: whoever asks gets the next tasks, many at first and few in the end.
//!
//! Guided self-scheduling (Polychronopoulos and Kuck, "Guided self-scheduling", IEEE Transactions on
//! Computers C-36, 1987), weighted by speed: a unit gets half its part of what is left.

use std::ops::Range;

use super::{Ask, Scheduler};
use crate::farm::policy::PackSize;

/// Tasks of a pack at most: its outputs wait in memory until they are handed over. Packs of so many tasks
/// of 10 ns still take a thousand times as long as handing one over.
const MOST: f64 = 65_536.0;

/// A pack that takes less than this costs more to hand over than it evens out at the end.
const LEAST_SECONDS: f64 = 20e-6;

/// A pack in proportion to the unit's speed and to what is left.
#[derive(Debug)]
pub struct Guided {
    /// How many tasks a pack.
    pub pack: PackSize,
    /// How long one takes at most.
    pub seconds: f64,
}

impl Scheduler for Guided {
    fn next(&mut self, ask: &Ask<'_>) -> Option<Range<u64>> {
        let part = match ask.standing().speed {
            Some(speed) => ask.free.count() as f64 * speed / (2.0 * ask.speed_of_all()),
            None => f64::INFINITY,
        };
        let first = ask.free.first()?;
        let tasks = pack(ask, self.pack, self.seconds, part).min(first.end - first.start);
        Some(first.start..first.start + tasks)
    }
}

/// Tasks of a pack for who asks: as many as take `seconds`, at most `part`, at most four times its last
/// pack, whole grains, and at least one.
pub fn pack(ask: &Ask<'_>, size: PackSize, seconds: f64, part: f64) -> u64 {
    let unit = ask.standing();
    let grain = unit.grain.of.max(1);
    let tasks = match (size, unit.speed) {
        (PackSize::Tasks(tasks), _) => return tasks.clamp(1, unit.grain.most.max(1)),
        (PackSize::Auto, None) => grain,
        (PackSize::Auto, Some(speed)) => {
            let wanted = part.max(speed * LEAST_SECONDS).min(speed * seconds);
            // From floating point, saturating.
            wanted.min(4.0 * unit.last as f64).min(MOST.max(grain as f64)) as u64
        }
    };
    (tasks / grain * grain).max(grain).min(unit.grain.most.max(1))
}
