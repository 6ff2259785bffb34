//! The switch between real atomics and loom's modelled ones, and how waits pass the time.

#[cfg(all(test, loom))]
pub(super) use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
#[cfg(not(all(test, loom)))]
pub(super) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Turns spent spinning before the core is offered to others: about 5 µs, several times what a
/// flag takes between cores, and nothing beside a time slice when cores are oversubscribed.
#[cfg(not(all(test, loom)))]
const SPINS: u32 = 300;

/// Spins first, then yields, so that waits make progress with more workers than cores.
#[derive(Default)]
pub(super) struct Backoff {
    #[cfg(not(all(test, loom)))]
    turns: u32,
}

impl Backoff {
    /// Passes one turn of waiting.
    #[cfg(not(all(test, loom)))]
    pub(super) fn pause(&mut self) {
        if self.turns < SPINS {
            self.turns += 1;
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
    #[cfg(all(test, loom))]
    pub(super) fn pause(&mut self) {
        loom::thread::yield_now();
    }
}
