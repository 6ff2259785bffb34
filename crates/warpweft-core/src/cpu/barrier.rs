//! A barrier among the workers of a pool.
//!
//! One counter that only grows: the centralised barrier of Mellor-Crummey and Scott, 1991, with the round
//! number in place of the sense. So it needs no reset, and no thread can be caught in an old round.

use super::sleep::{until, wake};
use super::sync::{AtomicUsize, Ordering};
use super::{Abort, Aborted};

/// Lets `count` workers wait for one another, any number of times.
#[derive(Debug)]
#[repr(align(128))]
pub struct Barrier {
    arrived: AtomicUsize,
    count: usize,
}

impl Barrier {
    /// A barrier for `count` workers.
    pub fn new(count: usize) -> Self {
        Self { arrived: AtomicUsize::new(0), count: count.max(1) }
    }

    /// Waits until all have arrived. What they wrote before is visible afterwards.
    ///
    /// # Errors
    /// [`Aborted`] if `abort` is set meanwhile; the barrier is then unusable.
    pub fn wait(&self, abort: &Abort) -> Result<(), Aborted> {
        let ticket = self.arrived.fetch_add(1, Ordering::AcqRel);
        let goal = (ticket / self.count + 1) * self.count;
        if ticket + 1 == goal {
            wake(self);
            return Ok(());
        }
        until(self, || match self.arrived.load(Ordering::Acquire) {
            arrived if arrived >= goal => Some(Ok(())),
            _ => abort.check().err().map(Err),
        })
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicUsize as Data;

    #[test]
    fn what_was_written_before_is_seen_after() {
        loom::model(|| {
            let shared = Arc::new((Barrier::new(2), [Data::new(0), Data::new(0)]));
            let other = shared.clone();
            let body = |me: usize, shared: &(Barrier, [Data; 2])| {
                for round in 1..=2 {
                    shared.1[me].store(round, Ordering::Relaxed);
                    shared.0.wait(&Abort::default()).unwrap();
                    assert!(shared.1[1 - me].load(Ordering::Relaxed) >= round);
                }
            };
            let thread = loom::thread::spawn(move || body(1, &other));
            body(0, &shared);
            thread.join().unwrap();
        });
    }

    #[test]
    fn an_abort_ends_the_wait() {
        loom::model(|| {
            let shared = Arc::new((Barrier::new(2), Abort::default()));
            let other = shared.clone();
            let thread = loom::thread::spawn(move || other.0.wait(&other.1));
            shared.1.raise();
            assert_eq!(thread.join().unwrap(), Err(Aborted));
        });
    }
}
