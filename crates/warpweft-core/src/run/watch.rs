//! Work of a thread pool that reports progress and can be stopped. Workers end by checking their pool's
//! [`Abort`](crate::cpu::Abort) between two pieces of work; that is not here.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{Reporter, Stop};
use crate::cpu::{Aborted, Pool, Worker, WorkerPanic};
use crate::error::{Error, Result};

/// Watches work on the cores, from the thread that waits for them.
#[derive(Default)]
pub struct Watch<'a> {
    stop: Stop<'a>,
    reporter: Reporter<'a>,
    total: u64,
    unit: &'static str,
    done: Done,
    stopped: Cell<bool>,
}

/// The amount of work done, counted by all workers.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Done(AtomicU64);

impl Done {
    /// Adds `work` to the count. For pieces that take microseconds or longer, since all workers write one
    /// word.
    pub fn add(&self, work: u64) {
        self.0.fetch_add(work, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl<'a> Watch<'a> {
    /// The interval at which the waiting thread checks. A run that is to end does so within this time plus
    /// one piece of work. A check takes a microsecond.
    pub const EVERY: Duration = Duration::from_millis(20);

    pub(super) fn new(
        stop: Stop<'a>,
        reporter: Reporter<'a>,
        (total, unit): (u64, &'static str),
    ) -> Self {
        Self { stop, reporter, total, unit, ..Self::default() }
    }

    /// The counter of work done, for the workers.
    pub fn done(&self) -> &Done {
        &self.done
    }

    /// Runs `body` on every worker of `pool`, as [`Pool::run`]. When the run is to end, [`Worker::abort`] is
    /// set; [`Watch::ended`] reports it afterwards.
    ///
    /// # Errors
    /// The first panic.
    pub fn run(
        &self,
        pool: &Pool,
        body: impl Fn(&Worker<'_>) -> Result<(), Aborted> + Sync,
    ) -> Result<(), WorkerPanic> {
        match self.is_needed() {
            true => pool.run_watched(Self::EVERY, &|| self.look(), body),
            // No callback and nothing to check: the thread sleeps.
            false => pool.run(body),
        }
    }

    /// Whether there is a callback or something to check.
    pub fn is_needed(&self) -> bool {
        self.reporter.is_heard() || self.stop.can_stop()
    }

    /// Reports progress. Returns whether the work is to end.
    pub fn look(&self) -> bool {
        self.reporter.at(self.done.get());
        let stopped = self.stopped.get() || self.stop.stopped();
        self.stopped.set(stopped);
        stopped
    }

    /// Checks whether to begin or to continue.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if the run is to end.
    pub fn check(&self) -> Result<()> {
        self.stopped.set(self.stopped.get() || self.stop.stopped());
        self.completed()
    }

    /// Reports that the work is done.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if it was ended before.
    pub fn ended(&self) -> Result<()> {
        self.completed()?;
        self.reporter.end(self.total);
        Ok(())
    }

    /// Checks that no earlier check ended the work.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if one did.
    pub fn completed(&self) -> Result<()> {
        match self.stopped.get() {
            true => Err(self.interrupted()),
            false => Ok(()),
        }
    }

    /// The error of a run that was ended.
    pub fn interrupted(&self) -> Error {
        let done = self.done.get().min(self.total);
        Error::Interrupted { done, total: self.total, unit: self.unit }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::cell::RefCell;
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn workers_are_stopped_and_progress_comes_to_its_end() {
        // Fewer threads than cores: they are not pinned.
        let pool = Pool::over(&[0, 1], 1).unwrap();
        let flag = AtomicBool::new(false);
        let told = RefCell::new(Vec::new());
        let progress = |done, total| told.borrow_mut().push((done, total));
        let stop = Stop { interrupt: Some(&flag), deadline: None };
        let watch = Watch::new(stop, Reporter::new(Some(&progress), 9), (9, "pieces"));
        watch.run(&pool, |_| Ok(())).unwrap();
        watch.ended().unwrap();
        assert_eq!(told.borrow().last(), Some(&(9, 9)));
        let done = watch.done();
        let endless = |worker: &Worker<'_>| {
            done.add(2);
            flag.store(true, Ordering::Relaxed);
            loop {
                worker.abort.check()?;
                std::thread::yield_now();
            }
        };
        watch.run(&pool, endless).unwrap();
        assert_eq!(watch.ended().unwrap_err().to_string(), "interrupted after 2 of 9 pieces");
    }
}
