//! The switch between real atomics and loom's modelled ones, and how waits begin.

#[cfg(all(test, loom))]
pub use loom::sync::{
    Condvar, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering, fence},
};
pub use std::sync::PoisonError;
#[cfg(not(all(test, loom)))]
pub use std::sync::{
    Condvar, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering, fence},
};
#[cfg(not(all(test, loom)))]
use std::time::{Duration, Instant};

/// What sleeping and being woken takes on a virtual machine, whose idle cores wake slowly. Beside two
/// busy loops on two cores, 20 and 50 µs were alike, 5 and 200 took one and a half times as long.
#[cfg(not(all(test, loom)))]
const SPIN: Duration = Duration::from_micros(50);

/// What `ready` gives before a sleep would pay.
#[cfg(not(all(test, loom)))]
pub(super) fn spin<R>(ready: impl Fn() -> Option<R>) -> Option<R> {
    // Most waits are over before they begin: those ask no clock.
    let found = ready();
    if found.is_some() {
        return found;
    }
    let begin = Instant::now();
    while begin.elapsed() < SPIN {
        // Asking the clock takes as long as some pauses.
        for _ in 0..8 {
            std::hint::spin_loop();
            let found = ready();
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

/// Nothing is gained by spinning in a model, which tries every order anyway.
#[cfg(all(test, loom))]
pub(super) fn spin<R>(_: impl Fn() -> Option<R>) -> Option<R> {
    None
}
