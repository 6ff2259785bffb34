//! A one-way flag that counts: one worker publishes, others wait.

use super::sleep::{until, wake};
use super::sync::{AtomicUsize, Ordering};
use super::{Abort, Aborted};

/// A counter that only its owner raises, alone on two cache lines (the adjacent-line prefetcher loads pairs).
#[derive(Debug)]
#[repr(align(128))]
pub struct Progress(AtomicUsize);

impl Default for Progress {
    fn default() -> Self {
        Self(AtomicUsize::new(0))
    }
}

impl Progress {
    /// Raises the counter to `value`. What the owner wrote before is visible to a thread that sees the value.
    pub fn publish(&self, value: usize) {
        self.0.store(value, Ordering::Release);
        wake(self);
    }

    /// Waits until the counter is at least `value` and returns it.
    ///
    /// # Errors
    /// [`Aborted`] when `abort` is raised meanwhile.
    pub fn wait_for(&self, value: usize, abort: &Abort) -> Result<usize, Aborted> {
        until(self, || match self.0.load(Ordering::Acquire) {
            seen if seen >= value => Some(Ok(seen)),
            _ => abort.check().err().map(Err),
        })
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    #[test]
    fn data_written_before_publishing_is_seen() {
        loom::model(|| {
            let shared = Arc::new((Progress::default(), UnsafeCell::new(0)));
            let other = shared.clone();
            let thread = loom::thread::spawn(move || {
                // SAFETY: the reader waits for the flag, which is published after.
                other.1.with_mut(|data| unsafe { *data = 7 });
                other.0.publish(1);
            });
            shared.0.wait_for(1, &Abort::default()).unwrap();
            // SAFETY: the flag says that the writer is done.
            assert_eq!(shared.1.with(|data| unsafe { *data }), 7);
            thread.join().unwrap();
        });
    }

    #[test]
    fn an_abort_ends_the_wait() {
        loom::model(|| {
            let shared = Arc::new((Progress::default(), Abort::default()));
            let other = shared.clone();
            let thread = loom::thread::spawn(move || other.0.wait_for(1, &other.1));
            shared.1.raise();
            assert_eq!(thread.join().unwrap(), Err(Aborted));
        });
    }
}
