//! Kernels of several launches that wait for one another.
//!
//! Every one of such a set must come to run, all of its blocks at once. Two sets at a time could each hold
//! what the other waits for: SMs, or a queue that streams share. So a process runs one set at a time. And a
//! call that waits for its device, as one does that frees memory or loads a module, could keep the rest of a
//! set from being launched: while a wavefront's is, nobody frees or loads. Stencils launch as long as they
//! run; they have their turn alone, and while slabs that share a GPU launch nobody frees or loads either: a
//! call that waits for one slab would keep back the launch of the other, for which the first waits.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

static TURN: Mutex<()> = Mutex::new(());
static LAUNCHING: RwLock<()> = RwLock::new(());

/// One set's turn, until it is dropped; that must not be before its last kernel is done.
///
/// [`Stencil::run_with`](crate::stencil::Stencil::run_with) over several GPUs has one from beginning to end,
/// [`tune`](crate::stencil::tune()) while it tries a policy, wavefronts over several while they run; a policy
/// of copies between launches needs none. A thread that has one and
/// begins another, say where it is told of progress, waits for itself.
#[derive(Debug)]
pub struct Together {
    _turn: MutexGuard<'static, ()>,
}

impl Together {
    /// Waits until no other set of this process runs.
    pub fn begin() -> Self {
        Self { _turn: TURN.lock().unwrap_or_else(PoisonError::into_inner) }
    }

    /// Launches all kernels of the set, undisturbed. `all` may neither free memory nor load modules.
    pub fn launch<T>(&self, all: impl FnOnce() -> T) -> T {
        let _alone = undisturbed();
        all()
    }
}

/// Held by the thread that launches kernels that wait for one another on one device; who has it may neither free memory nor
/// load modules.
pub fn undisturbed() -> RwLockWriteGuard<'static, ()> {
    LAUNCHING.write().unwrap_or_else(PoisonError::into_inner)
}

/// Held by a thread that makes a call that may wait for all that runs on a device.
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
