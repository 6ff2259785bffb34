//! The dispatcher behind a lock: units ask, whoever commits hands over, and who has to wait sleeps.
//!
//! Nobody is sacrificed as master: whoever asks holds the lock for the answer, once a pack.

use std::ops::Range;

use super::dispatcher::{Answer, Dispatcher};
use super::ledger::Ledger;
use super::unit::Grain;
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

    /// The next pack for `unit`, waited for if need be; `None` when there is nothing more for it.
    pub fn ask(&self, unit: usize, grain: Grain, took: Option<(u64, f64)>) -> Option<Range<u64>> {
        let mut dispatcher = self.dispatcher.lock().unwrap_or_else(PoisonError::into_inner);
        let mut answer = dispatcher.ask(unit, grain, took);
        loop {
            match answer {
                Answer::Pack(range) => return Some(range),
                Answer::End => {
                    drop(dispatcher);
                    // A schedule at fault ends the farm for those who wait, too.
                    self.changed.notify_all();
                    return None;
                }
                Answer::Wait => {
                    dispatcher =
                        self.changed.wait(dispatcher).unwrap_or_else(PoisonError::into_inner);
                    answer = dispatcher.ask(unit, grain, None);
                }
            }
        }
    }

    /// What `unit` is told now, without waiting: to ask again after a [change](Master::changes), it may be.
    pub fn answer(&self, unit: usize, grain: Grain, took: Option<(u64, f64)>) -> Answer {
        let answer = self.with(|dispatcher| dispatcher.ask(unit, grain, took));
        if answer == Answer::End {
            // As above.
            self.changed.notify_all();
        }
        answer
    }

    /// Another number once a unit that was told to wait may be told otherwise.
    pub fn changes(&self) -> u64 {
        self.with(|dispatcher| dispatcher.changes())
    }

    /// Whether all of `range` is still out to `unit`.
    pub fn has(&self, unit: usize, range: &Range<u64>) -> bool {
        self.with(|dispatcher| dispatcher.has(unit, range))
    }

    /// `unit` has handed over `range`, of which the tasks `failed`, in order, have no output.
    ///
    /// # Errors
    /// Some of it is not out to that unit.
    pub fn settle(
        &self,
        unit: usize,
        range: Range<u64>,
        failed: impl Iterator<Item = u64>,
    ) -> Result<()> {
        self.changing(|dispatcher| dispatcher.settle(unit, range, failed))
    }

    /// `unit` is gone: what is out to it is free again.
    pub fn lose(&self, unit: usize) {
        self.changing(|dispatcher| dispatcher.lose(unit));
    }

    /// No more packs are given, and nobody waits any longer.
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
    use crate::unit::Unit;

    fn master(tasks: u64, units: usize) -> Arc<Master> {
        let policy = Policy { schedule: Schedule::Single, ..Policy::default() };
        let units: Vec<_> = Unit::cores(0, units).collect();
        Arc::new(Master::new(Dispatcher::new(tasks, &units, schedule::of(&policy))))
    }

    /// Asks and hands over until the end; how many tasks it had.
    fn work(master: &Master, unit: usize) -> u64 {
        let mut had = 0;
        while let Some(range) = master.ask(unit, Grain::ANY, None) {
            had += range.end - range.start;
            master.settle(unit, range, std::iter::empty()).unwrap();
        }
        had
    }

    #[test]
    fn nobody_waits_once_all_is_committed() {
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
    fn a_loss_wakes_who_waits() {
        loom::model(|| {
            let master = master(1, 2);
            let other = master.clone();
            let thread = spawn(move || {
                if let Some(range) = other.ask(1, Grain::ANY, None) {
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
    fn a_stop_wakes_who_waits() {
        loom::model(|| {
            let master = master(1, 2);
            assert_eq!(master.ask(0, Grain::ANY, None), Some(0..1));
            let other = master.clone();
            let thread = spawn(move || other.ask(1, Grain::ANY, None));
            master.stop();
            assert_eq!(thread.join().unwrap(), None);
            assert_eq!(master.end().0.out(), 1);
        });
    }

    /// Who commits is another than who runs, as the clerk is.
    #[test]
    fn what_another_commits_wakes_who_waits() {
        loom::model(|| {
            let master = master(1, 2);
            let range = master.ask(0, Grain::ANY, None).unwrap();
            let (first, second) = (master.clone(), master.clone());
            let threads = [
                spawn(move || first.ask(0, Grain::ANY, None)),
                spawn(move || second.ask(1, Grain::ANY, None)),
            ];
            master.settle(0, range, std::iter::empty()).unwrap();
            assert!(threads.into_iter().all(|thread| thread.join().unwrap().is_none()));
        });
    }
}
