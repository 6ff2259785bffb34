//! When the host waits for its device. Steps are queued, and otherwise the host runs ahead.

use std::time::{Duration, Instant};

/// The longest time between two waits for the device: a fault of it is reported this late at most.
const LATEST: Duration = Duration::from_millis(100);
/// A device that takes longer for its blocks is waited for before it sends, because other devices give
/// up on a halo after a few seconds.
const SLOW: Duration = Duration::from_secs(1);

/// When a device was last waited for, and whether each of its blocks has to be.
pub(super) struct Waits {
    last: Instant,
    slow: bool,
}

impl Waits {
    /// The first block is waited for: only then is it known how long blocks take.
    pub fn new() -> Self {
        Self { last: Instant::now(), slow: true }
    }

    /// Whether the host must wait for each block before its halos are sent.
    pub fn each(&self) -> bool {
        self.slow
    }

    /// Whether it is time to wait.
    pub fn due(&self) -> bool {
        self.slow || self.last.elapsed() > LATEST
    }

    /// The device has ended what was queued.
    pub fn done(&mut self) {
        self.slow = self.last.elapsed() > SLOW;
        self.last = Instant::now();
    }
}
