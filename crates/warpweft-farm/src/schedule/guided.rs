//! Master-worker: whoever asks gets the next tasks, many at first and few in the end.
//!
//! Guided self-scheduling (Polychronopoulos and Kuck, "Guided self-scheduling", IEEE Transactions on
//! Computers C-36, 1987), weighted by speed: a unit gets half its part of what is left. In the end a slow unit gets
//! nothing that quicker ones would be through with before it.

use std::ops::Range;

use super::{Ask, Scheduler};
use crate::policy::PackSize;
use crate::unit::Standing;

/// Tasks of a pack at most: what is known of each waits in memory until it is handed over.
const MOST: f64 = 65_536.0;

/// Packs that take less are not worth handing over, even for an even end; what short ones cost is measured by
/// `cargo bench -p warpweft-farm least_task`.
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
        if self.better_waits(ask) {
            return None;
        }
        let part = match ask.standing().speed {
            Some(speed) => ask.free.count() as f64 * speed / (2.0 * ask.speed_of_all()),
            None => f64::INFINITY,
        };
        let first = ask.free.first()?;
        let tasks = pack(ask, self.pack, self.seconds, part).min(first.end - first.start);
        Some(first.start..first.start + tasks)
    }
}

impl Guided {
    /// Whether those that are quicker with their least pack would be through with all that is free before who asks
    /// is with its own: a core that takes the last of a GPU's tasks ends the farm late. The quickest never waits, nor
    /// one of which nothing is known, so somebody always works. Cores wait, too, as long as there are lanes that leave
    /// them no part worth having.
    fn better_waits(&self, ask: &Ask<'_>) -> bool {
        let least = |unit: &Standing| {
            let tasks = match self.pack {
                PackSize::Tasks(tasks) => tasks.min(unit.grain.most),
                PackSize::Auto => unit.grain.of,
            };
            unit.speed.map(|speed| tasks.max(1) as f64 / speed)
        };
        let Some(own) = least(ask.standing()) else { return false };
        let hopeless = cores_are_hopeless(ask);
        let works = |unit: &&Standing| !(unit.lost || (hopeless && unit.is_core()));
        if !works(&ask.standing()) {
            return true;
        }
        let (mut speed, mut last) = (0.0, 0.0f64);
        for unit in ask.units.iter().filter(works) {
            if let Some(seconds) = least(unit).filter(|seconds| *seconds < own) {
                speed += unit.speed.unwrap_or(0.0);
                last = last.max(seconds);
            }
        }
        speed > 0.0 && ask.free.count() as f64 / speed + last < own
    }
}

/// Cores that together do less than this part of what lanes do cost more than they add, since lanes have threads on
/// the same host. Beside one H200, 32 cores did 0.3 % of the sources, and the farm 63,500 of them a second; the H200
/// alone did 93,100 (`warpweft apsp random:1049088 --sources random:200000`, `--device auto` and `gpu`).
const WORTH: f64 = 0.01;

/// Whether lanes do so much that cores are better left to them.
fn cores_are_hopeless(ask: &Ask<'_>) -> bool {
    let speed = |core: bool| -> f64 {
        let units = ask.units.iter().filter(|unit| !unit.lost && unit.is_core() == core);
        units.filter_map(|unit| unit.speed).sum()
    };
    speed(true) < WORTH * speed(false)
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
