//! What one call has spawned: run or waited for before the call ends, however it ends.

use super::worker::Worker;
use crate::combine::{Combine, Store};
use crate::spawning::Spawning;

/// The calls that a call spawns.
pub struct Frame<'f, 'r> {
    worker: &'f mut Worker<'r>,
    /// Jobs that there were before.
    mark: usize,
}

impl<'f, 'r> Frame<'f, 'r> {
    /// Of the call that `worker` runs.
    #[inline(always)]
    pub fn new(worker: &'f mut Worker<'r>) -> Self {
        let mark = worker.top();
        Self { worker, mark }
    }

    /// Spawns `call`, whose value will be combined with what `target` holds at the next [`Frame::sync`].
    ///
    /// # Safety
    /// Up to then the target stays where it is, holds an output and is used by nobody. If it goes before, the
    /// frame must have gone without a `sync`.
    #[inline(always)]
    pub unsafe fn spawn<C: Spawning, M: Combine<C::Output>>(
        &mut self,
        target: *mut C::Output,
        call: C,
    ) {
        // SAFETY: by contract.
        unsafe { self.worker.push::<C, M>(target, call) };
    }

    /// Spawns `call`, whose value goes nowhere.
    #[inline(always)]
    pub fn spawn_only<C: Spawning>(&mut self, call: C) {
        // SAFETY: there is no target.
        unsafe { self.worker.push::<C, Store>(std::ptr::null_mut(), call) };
    }

    /// Runs `call` before anything else.
    #[inline(always)]
    pub fn call<C: Spawning>(&mut self, call: C) -> C::Output {
        self.worker.call(call)
    }

    /// Waits until all that was spawned is done.
    #[inline(always)]
    pub fn sync(&mut self) {
        while self.worker.top() > self.mark {
            // SAFETY: the contract of `spawn`.
            unsafe { self.worker.settle() };
        }
    }

    /// What is left at the end: of a call that returns it is run, of one that unwinds it is not. No value
    /// goes anywhere, as the targets may be gone.
    #[cold]
    fn leave(&mut self) {
        while self.worker.top() > self.mark {
            match std::thread::panicking() {
                true => self.worker.drop_last(),
                false => self.worker.settle_without_target(),
            }
        }
    }
}

impl Drop for Frame<'_, '_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.worker.top() > self.mark {
            self.leave();
        }
    }
}
