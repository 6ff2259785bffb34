//! The flag that ends every wait of a pool.

use super::sleep::wake_all;
use super::sync::{AtomicBool, Ordering};

/// Set when a worker panicked; waits return [`Aborted`] from then on.
#[derive(Debug)]
pub struct Abort(AtomicBool);

/// Another worker panicked: return from the closure, the pool reports the panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aborted;

impl Default for Abort {
    fn default() -> Self {
        Self(AtomicBool::new(false))
    }
}

impl Abort {
    /// Ends all waits.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Release);
        wake_all();
    }

    /// Clears the flag; no thread may be waiting.
    pub(super) fn reset(&self) {
        self.0.store(false, Ordering::Release);
    }

    /// Checks whether to continue.
    ///
    /// # Errors
    /// [`Aborted`] after the flag was set.
    pub fn check(&self) -> Result<(), Aborted> {
        if self.0.load(Ordering::Acquire) { Err(Aborted) } else { Ok(()) }
    }
}
