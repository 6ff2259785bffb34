//! The dispatcher behind a lock: workers request chunks, the committer settles them, and a worker that must wait sleeps.
//!
//! No thread is sacrificed as the master: a worker holds the lock for its own request, once a chunk. Sleeping workers
//! are woken only when there may be another reply for them.

use std::ops::Range;
use std::time::{Duration, Instant};

use crate::schedule::dispatcher::{Dispatcher, Reply};
use crate::schedule::ledger::{Again, Ledger};
use crate::spec::worker::Grain;
use warpweft_core::cpu::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, Ordering, PoisonError};
use warpweft_core::error::{Error, Result};

/// Seconds that a worker waits at least before it repeats a request, whatever a schedule says.
const LEAST_PAUSE: f64 = 1e-4;

/// A dispatcher that many threads share.
pub struct Master {
    dispatcher: Mutex<Dispatcher>,
    changed: Condvar,
    /// Of the dispatcher, to be looked at without its lock.
    generation: AtomicUsize,
    /// Whether no result of any task is wanted any more.
    over: AtomicBool,
    begin: Instant,
}

impl Master {
    /// Of `dispatcher`.
    pub fn new(dispatcher: Dispatcher) -> Self {
        Self {
            dispatcher: Mutex::new(dispatcher),
            changed: Condvar::new(),
            generation: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            begin: Instant::now(),
        }
    }

    /// The next chunk for `worker`, waited for if need be; `None` when there is nothing more for it.
    pub fn request(
        &self,
        worker: usize,
        grain: Grain,
        took: Option<(u64, f64)>,
    ) -> Option<Range<u64>> {
        let mut took = took;
        let mut dispatcher = self.dispatcher.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let seen = dispatcher.generation();
            let now = self.now();
            let reply = dispatcher.request(worker, grain, took.take(), now);
            self.wake(seen, &dispatcher);
            match reply {
                Reply::Chunk(range) => return Some(range),
                Reply::End => return None,
                Reply::Wait(until) if dispatcher.generation() == seen => {
                    let pause = (until - now).max(LEAST_PAUSE);
                    dispatcher = match Duration::try_from_secs_f64(pause) {
                        Err(_) => self.changed.wait(dispatcher),
                        Ok(pause) => match self.changed.wait_timeout(dispatcher, pause) {
                            Ok((dispatcher, _)) => Ok(dispatcher),
                            Err(poisoned) => Ok(poisoned.into_inner().0),
                        },
                    }
                    .unwrap_or_else(PoisonError::into_inner);
                }
                Reply::Wait(_) => {}
            }
        }
    }

    /// The reply to `worker` now, without waiting; [`Reply::Wait`] says when to try again by [`Master::now`], unless the
    /// [generation](Master::generation) is another before.
    pub fn try_request(&self, worker: usize, grain: Grain, took: Option<(u64, f64)>) -> Reply {
        self.changing(|dispatcher| dispatcher.request(worker, grain, took, self.now()))
    }

    /// Seconds since the farm began.
    pub fn now(&self) -> f64 {
        match cfg!(all(test, loom)) {
            // A model has no clock.
            true => 0.0,
            false => self.begin.elapsed().as_secs_f64(),
        }
    }

    /// Differs once a waiting worker may get another reply.
    pub fn generation(&self) -> usize {
        self.generation.load(Ordering::Acquire)
    }

    /// Whether no result is wanted any more, so that workers may leave the rest of their chunks.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// The parts of `range` that are out to `worker` and that no other handed over before.
    pub fn wanted(&self, worker: usize, range: &Range<u64>) -> Vec<Range<u64>> {
        self.with(|dispatcher| dispatcher.wanted(worker, range))
    }

    /// `worker` has handed over `range`, of which the tasks `failed`, in order, have no output. How many of them are
    /// settled.
    ///
    /// # Errors
    /// Some of it is not out to that worker.
    pub fn settle(
        &self,
        worker: usize,
        range: Range<u64>,
        failed: impl Iterator<Item = (u64, Again)>,
    ) -> Result<u64> {
        self.changing(|dispatcher| {
            let settled = dispatcher.settle(worker, range, failed);
            if dispatcher.is_settled() {
                self.over.store(true, Ordering::Relaxed);
            }
            settled
        })
    }

    /// `worker` is gone: what is out to it alone is free again.
    pub fn lose(&self, worker: usize) {
        self.changing(|dispatcher| dispatcher.lose(worker));
    }

    /// Tasks may be added: workers wait for them.
    pub fn open(&self) {
        self.changing(|dispatcher| dispatcher.open(true));
    }

    /// No more tasks are added.
    pub fn close(&self) {
        self.changing(|dispatcher| {
            dispatcher.open(false);
            if dispatcher.is_settled() {
                self.over.store(true, Ordering::Relaxed);
            }
        });
    }

    /// Adds so many tasks, in an open farm.
    pub fn add(&self, tasks: u64) {
        self.changing(|dispatcher| dispatcher.add(tasks));
    }

    /// No more chunks are given, and no worker waits any longer.
    pub fn stop(&self) {
        self.changing(Dispatcher::stop);
    }

    /// The same, and workers leave their chunks after the task that they run.
    pub fn cut(&self) {
        self.over.store(true, Ordering::Relaxed);
        self.stop();
    }

    /// The state of all tasks in the end, and what a schedule did wrong.
    pub fn end(&self) -> (Ledger, Option<Error>) {
        self.with(|dispatcher| (dispatcher.ledger().clone(), dispatcher.fault()))
    }

    fn with<R>(&self, look: impl FnOnce(&mut Dispatcher) -> R) -> R {
        look(&mut self.dispatcher.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn changing<R>(&self, change: impl FnOnce(&mut Dispatcher) -> R) -> R {
        self.with(|dispatcher| {
            let seen = dispatcher.generation();
            let result = change(dispatcher);
            self.wake(seen, dispatcher);
            result
        })
    }

    /// Wakes all that wait, if there may be another reply for them than in the generation that was `seen`.
    fn wake(&self, seen: u64, dispatcher: &Dispatcher) {
        if dispatcher.generation() != seen {
            self.generation.store(dispatcher.generation() as usize, Ordering::Release);
            self.changed.notify_all();
        }
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
                    assert!(other.wanted(1, &range).is_empty());
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
