//! What one call has spawned: run or waited for before the call ends, however it ends.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::worker::Worker;

/// The calls that a call leaves to others up to its next `sync!()`.
pub struct Frame<'f, 'r> {
    worker: &'f Worker<'r>,
    /// Calls that there were before.
    base: u32,
}

impl<'f, 'r> Frame<'f, 'r> {
    /// Of the call that `worker` runs.
    #[inline(always)]
    pub fn new(worker: &'f Worker<'r>) -> Self {
        Self { worker, base: worker.top.get() }
    }

    #[inline(always)]
    pub(super) fn worker(&self) -> &'f Worker<'r> {
        self.worker
    }

    #[inline(always)]
    pub(super) fn base(&self) -> u32 {
        self.base
    }

    /// The number of the site whose call is the newest; `None` if there is none left.
    #[inline(always)]
    pub fn newest(&self) -> Option<u8> {
        (self.worker.top.get() > self.base).then(|| self.number())
    }

    #[cold]
    fn number(&self) -> u8 {
        // SAFETY: the newest call's header was written by this worker, and only it writes headers.
        unsafe { self.worker.slot(self.worker.top.get() - 1).header() }.site.number
    }

    /// Whether the deque is full, so that a loop should settle what it has spawned.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.worker.top.get() >= self.worker.capacity()
    }

    /// What is left at the end: of a call that returns it is run, of one that unwinds it is not. Values go nowhere.
    #[cold]
    #[inline(never)]
    fn leave(&self) {
        if std::thread::panicking() {
            return self.worker.abandon(self.base);
        }
        while self.worker.top.get() > self.base {
            let settled = catch_unwind(AssertUnwindSafe(|| self.worker.settle_untyped()));
            if let Err(payload) = settled {
                self.worker.abandon(self.base);
                resume_unwind(payload);
            }
        }
    }
}

impl Drop for Frame<'_, '_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.worker.top.get() > self.base {
            self.leave();
        }
    }
}
