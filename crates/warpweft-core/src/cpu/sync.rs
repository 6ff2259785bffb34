//! Real atomics or loom's modelled ones, and the spinning phase of waits.

#[cfg(all(test, loom))]
pub use loom::sync::{
    Condvar, Mutex,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence},
};
pub use std::sync::PoisonError;
#[cfg(not(all(test, loom)))]
pub use std::sync::{
    Condvar, Mutex,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence},
};
#[cfg(not(all(test, loom)))]
use std::time::{Duration, Instant};

/// The time of a sleep and a wake-up on a virtual machine, whose idle cores wake slowly. Next to two busy
/// loops on two cores, 20 and 50 µs were equal; 5 and 200 took one and a half times as long.
#[cfg(not(all(test, loom)))]
const SPIN: Duration = Duration::from_micros(50);

/// The value of `ready`, if it comes before a sleep would pay.
#[cfg(not(all(test, loom)))]
pub(super) fn spin<R>(ready: impl Fn() -> Option<R>) -> Option<R> {
    // Most waits are over at once: those never read the clock.
    let found = ready();
    if found.is_some() {
        return found;
    }
    let begin = Instant::now();
    while begin.elapsed() < SPIN {
        // Reading the clock takes as long as some pauses.
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

/// A model tries every order anyway, so spinning is pointless.
#[cfg(all(test, loom))]
pub(super) fn spin<R>(_: impl Fn() -> Option<R>) -> Option<R> {
    None
}
