//! The dispatcher behind a lock: workers request chunks, the committer settles them, and a worker that must wait sleeps.
//!
//! No thread is sacrificed as the master: a worker holds the lock for its own request, once a chunk.

use std::ops::Range;

use crate::schedule::dispatcher::{Dispatcher, Reply};
use crate::schedule::ledger::Ledger;
use crate::spec::worker::Grain;
use warpweft_core::cpu::sync::{Condvar, Mutex, PoisonError};
use warpweft_core::error::{Error, Result};

/// A dispatcher that many threads share.
pub struct Master {
    dispatcher: Mutex<Dispatcher>,
    changed: Condvar,
}

impl Master {
    /// Of `dispatcher`.
    pub fn new(dispatcher: Dispatcher) -> Self {
        Self { dispatcher: Mutex::new(dispatcher), changed: Condvar::new() }
    }

    /// The next chunk for `worker`, waited for if need be; `None` when there is nothing more for it.
    pub fn request(
        &self,
        worker: usize,
        grain: Grain,
        took: Option<(u64, f64)>,
    ) -> Option<Range<u64>> {
        let mut dispatcher = self.dispatcher.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reply = dispatcher.request(worker, grain, took);
        loop {
            match reply {
                Reply::Chunk(range) => return Some(range),
                Reply::End => {
                    drop(dispatcher);
                    // A schedule at fault ends the farm for waiting workers, too.
                    self.changed.notify_all();
                    return None;
                }
                Reply::Wait => {
                    dispatcher =
                        self.changed.wait(dispatcher).unwrap_or_else(PoisonError::into_inner);
                    reply = dispatcher.request(worker, grain, None);
                }
            }
        }
    }

    /// The reply to `worker` now, without waiting; [`Reply::Wait`] asks for another try after a
    /// [change](Master::changes).
    pub fn try_request(&self, worker: usize, grain: Grain, took: Option<(u64, f64)>) -> Reply {
        let reply = self.with(|dispatcher| dispatcher.request(worker, grain, took));
        if reply == Reply::End {
            // As above.
            self.changed.notify_all();
        }
        reply
    }

    /// Differs once a waiting worker may get another reply.
    pub fn changes(&self) -> u64 {
        self.with(|dispatcher| dispatcher.changes())
    }

    /// Whether all of `range` is still out to `worker`.
    pub fn has(&self, worker: usize, range: &Range<u64>) -> bool {
        self.with(|dispatcher| dispatcher.has(worker, range))
    }

    /// `worker` has handed over `range`, of which the tasks `failed`, in order, have no output.
    ///
    /// # Errors
    /// Some of it is not out to that worker.
    pub fn settle(
        &self,
        worker: usize,
        range: Range<u64>,
        failed: impl Iterator<Item = u64>,
    ) -> Result<()> {
        self.changing(|dispatcher| dispatcher.settle(worker, range, failed))
    }

    /// `worker` is gone: what is out to it is free again.
    pub fn lose(&self, worker: usize) {
        self.changing(|dispatcher| dispatcher.lose(worker));
    }

    /// No more chunks are given, and no worker waits any longer.
    pub fn stop(&self) {
        self.changing(Dispatcher::stop);
    }

    /// The state of all tasks in the end, and what a schedule did wrong.
    pub fn end(&self) -> (Ledger, Option<Error>) {
        self.with(|dispatcher| (dispatcher.ledger().clone(), dispatcher.fault()))
    }

    fn with<R>(&self, look: impl FnOnce(&mut Dispatcher) -> R) -> R {
        look(&mut self.dispatcher.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn changing<R>(&self, change: impl FnOnce(&mut Dispatcher) -> R) -> R {
        let result = self.with(change);
        self.changed.notify_all();
        result
    }
}

#[cfg(all(test, loom))]
mod model {
    use loom::sync::Arc;
    use loom::thread::spawn;

    use super::*;
    use crate::policy::{Policy, Schedule};
    use crate::schedule;
    use crate::spec::worker::Worker;

    fn master(tasks: u64, workers: usize) -> Arc<Master> {
        let policy = Policy { schedule: Schedule::Single, ..Policy::default() };
        let workers: Vec<_> = Worker::cores(0, workers).collect();
        Arc::new(Master::new(Dispatcher::new(tasks, &workers, schedule::of(&policy))))
    }

    /// Asks and hands over until the end; how many tasks it had.
    fn work(master: &Master, worker: usize) -> u64 {
        let mut had = 0;
        while let Some(range) = master.request(worker, Grain::ANY, None) {
            had += range.end - range.start;
            master.settle(worker, range, std::iter::empty()).unwrap();
        }
        had
    }

    #[test]
    fn no_worker_waits_once_all_is_committed() {
        loom::model(|| {
            let master = master(2, 2);
            let other = master.clone();
            let thread = spawn(move || work(&other, 1));
            let had = work(&master, 0) + thread.join().unwrap();
            assert_eq!(had, 2);
            assert!(master.end().0.is_settled());
        });
    }

    /// The one that waits gets what the lost one leaves.
    #[test]
    fn a_loss_wakes_waiting_workers() {
        loom::model(|| {
            let master = master(1, 2);
            let other = master.clone();
            let thread = spawn(move || {
                if let Some(range) = other.request(1, Grain::ANY, None) {
                    other.lose(1);
                    assert!(!other.has(1, &range));
                    assert!(other.settle(1, range, std::iter::empty()).is_err());
                }
            });
            let had = work(&master, 0);
            thread.join().unwrap();
            assert_eq!((had, master.end().0.is_settled()), (1, true));
        });
    }

    #[test]
    fn a_stop_wakes_waiting_workers() {
        loom::model(|| {
            let master = master(1, 2);
            assert_eq!(master.request(0, Grain::ANY, None), Some(0..1));
            let other = master.clone();
            let thread = spawn(move || other.request(1, Grain::ANY, None));
            master.stop();
            assert_eq!(thread.join().unwrap(), None);
            assert_eq!(master.end().0.out(), 1);
        });
    }

    /// Another thread than the one that runs commits, as the committer does.
    #[test]
    fn a_commit_by_another_thread_wakes_waiting_workers() {
        loom::model(|| {
            let master = master(1, 2);
            let range = master.request(0, Grain::ANY, None).unwrap();
            let (first, second) = (master.clone(), master.clone());
            let threads = [
                spawn(move || first.request(0, Grain::ANY, None)),
                spawn(move || second.request(1, Grain::ANY, None)),
            ];
            master.settle(0, range, std::iter::empty()).unwrap();
            assert!(threads.into_iter().all(|thread| thread.join().unwrap().is_none()));
        });
    }
}
