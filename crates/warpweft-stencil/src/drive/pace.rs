//! How many steps a run takes between two looks at whether it should stop.

use std::cell::Cell;

/// Seconds between two looks: progress is told about twenty times a second.
const TICK: f64 = 0.05;
/// The part of that which the first sweep is meant to take: cores may be busy with other work.
const FIRST: f64 = 1.0 / 16.0;
/// Seconds that a sweep which tries a kernel should take: enough to compare kernels, little next to a run.
const TRIAL: f64 = 0.01;

/// The length of sweeps, after those that were.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Seconds a step, as far as known.
    step: Cell<f64>,
    /// Seconds that the next sweep should take.
    wanted: Cell<f64>,
    /// Sweeps are whole multiples of so many steps.
    depth: u64,
    /// Whether the last sweep of a call need not be waited for.
    queues: Cell<bool>,
}

impl Pace {
    /// Where a step is expected to take `step` seconds.
    pub fn new(step: f64, depth: u64) -> Self {
        let wanted = Cell::new(FIRST * TICK);
        Self { step: Cell::new(step), wanted, depth, queues: Cell::default() }
    }

    /// Says whether the last sweep of the next call may be left to the device when the call returns.
    pub fn may_queue(&self, may: bool) {
        self.queues.set(may);
    }

    /// Whether the last sweep of this call need not be waited for.
    pub fn queues(&self) -> bool {
        self.queues.get()
    }

    /// Steps of the next sweep, a multiple of `depth`, if that is not what it was at first, and few if it `tries` a kernel.
    pub fn steps(&self, (depth, tries): (Option<u64>, bool)) -> u64 {
        let wanted = if tries { self.wanted.get().min(TRIAL) } else { self.wanted.get() };
        let steps = wanted / self.step.get();
        (steps as u64).clamp(1, 1 << 20).next_multiple_of(depth.unwrap_or(self.depth))
    }

    /// Notes that so many steps took so many seconds. A sweep is no more than four times as long as
    /// the one before: a short one says little.
    pub fn took(&self, steps: u64, seconds: f64) {
        self.step.set(seconds.max(1e-9) / steps.max(1) as f64);
        self.wanted.set((4.0 * seconds).clamp(FIRST * TICK, TICK));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeps_grow_to_a_tick_and_shrink_where_steps_turn_out_slow() {
        let pace = Pace::new(1e-6, 1);
        assert_eq!(pace.steps((None, false)), 3125);
        pace.took(3125, 3125e-6);
        assert_eq!([true, false].map(|tries| pace.steps((None, tries))), [10_000, 12_500]);
        pace.took(12_500, 12_500e-6);
        assert_eq!([true, false].map(|tries| pace.steps((None, tries))), [10_000, 50_000]);
        // Others came: a step takes 10 ms.
        pace.took(100, 1.0);
        assert_eq!(pace.steps((None, false)), 5);
        assert_eq!(Pace::new(1e-6, 1000).steps((None, false)), 4000);
        assert_eq!(Pace::new(10.0, 4).steps((None, true)), 4);
    }
}
