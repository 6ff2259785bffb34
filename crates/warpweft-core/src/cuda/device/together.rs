//! Exclusive use of the GPUs by kernels of several launches that wait for one another.
//!
//! All kernels of such a set must run, with all of their blocks at once. Two sets at a time could each hold
//! what the other waits for: SMs, or a hardware queue that streams share. So a process runs one set at a
//! time. Also, a call that waits for its device, e.g. one that frees memory or loads a module, could keep the
//! rest of a set from being launched. So while a set of a wavefront is launched, or subdomains that share a
//! GPU are, no thread frees or loads.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

static TURN: Mutex<()> = Mutex::new(());
static LAUNCHING: RwLock<()> = RwLock::new(());

/// Exclusive use by one set, until this is dropped; that must not be before its last kernel is done.
///
/// [`Stencil::run_with`](crate::stencil::Stencil::run_with) over several GPUs holds it from start to end,
/// [`Stencil::tune`](crate::stencil::Stencil::tune) while it tries a policy, wavefronts over several GPUs while they run. A
/// thread that holds it and begins another set, e.g. in a progress callback, deadlocks.
#[derive(Debug)]
pub struct Together {
    _turn: MutexGuard<'static, ()>,
}

impl Together {
    /// Waits until no other set of this process runs.
    pub fn begin() -> Self {
        Self { _turn: TURN.lock().unwrap_or_else(PoisonError::into_inner) }
    }

    /// Launches all kernels of the set, undisturbed. `all` must neither free memory nor load modules.
    pub fn launch<T>(&self, all: impl FnOnce() -> T) -> T {
        let _alone = undisturbed();
        all()
    }
}

/// A lock for launching kernels that wait for one another on one device. Its holder must neither free memory
/// nor load modules.
pub fn undisturbed() -> RwLockWriteGuard<'static, ()> {
    LAUNCHING.write().unwrap_or_else(PoisonError::into_inner)
}

/// A lock for a call that may wait for everything that runs on a device.
pub(in crate::cuda) fn apart() -> RwLockReadGuard<'static, ()> {
    LAUNCHING.read().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn sets_have_turns_and_are_launched_undisturbed() {
        let [sets, calls] = [const { AtomicUsize::new(0) }; 2];
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let together = Together::begin();
                        assert_eq!(sets.fetch_add(1, Ordering::SeqCst), 0);
                        together.launch(|| assert_eq!(calls.load(Ordering::SeqCst), 0));
                        sets.fetch_sub(1, Ordering::SeqCst);
                    }
                });
                scope.spawn(|| {
                    for _ in 0..200 {
                        let _apart = apart();
                        calls.fetch_add(1, Ordering::SeqCst);
                        std::thread::yield_now();
                        calls.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(calls.load(Ordering::SeqCst), 0);
    }
}
