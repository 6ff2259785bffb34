//! When each worker of this process began the task that it runs: tasks that take longer than a limit are found, and told
//! that nobody waits for them. Not for chunks that an executor runs as a whole.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::report::Share;
use crate::spec::worker::Worker;
use warpweft_core::error::{Error, Result};

/// The clocks of the workers of a process.
#[derive(Debug)]
pub struct Clocks {
    begin: Instant,
    limit: Option<Duration>,
    /// No output is wanted any more.
    over: AtomicBool,
    workers: Vec<Clock>,
}

/// Of one worker, which alone writes `task` and `since`.
#[derive(Debug)]
struct Clock {
    /// What it runs; [`NONE`] between tasks.
    task: AtomicU64,
    /// Microseconds from the beginning.
    since: AtomicU64,
    /// The task took too long, and the worker is given up.
    late: AtomicBool,
}

const NONE: u64 = u64::MAX;

thread_local! {
    /// The farm that this thread works for.
    static OWN: RefCell<Option<Own>> = const { RefCell::new(None) };
}

struct Own {
    clocks: Arc<Clocks>,
    /// This thread's worker.
    number: usize,
    /// Whether a task was told that nobody waits for it.
    told: Cell<bool>,
}

/// Whether nobody waits for the task that calls this, on a core's thread of a farm: the farm was interrupted, a backup
/// copy was sooner, or the task took longer than [`Settings::task_limit`](crate::Settings::task_limit). A long task
/// that asks now and then, and returns anything if so, lets the farm return. What it returns is dropped, so the task counts as
/// not run. A [`ChunkExecutor`](crate::ChunkExecutor) that asks loses what it has not handed over.
///
/// ```
/// use std::time::{Duration, Instant};
/// use warpweft::farm::{Run, is_cancelled};
/// use warpweft::prelude::*;
///
/// # fn main() -> warpweft::Result<()> {
/// let endless = Farm::each(0..4u64, |_| while !is_cancelled() {});
/// let deadline = Some(Instant::now() + Duration::from_millis(50));
/// let (_, outcome) = endless.run_with(&Machine::detect()?, &Run { deadline, ..Run::default() })?;
/// assert!(outcome.report.interrupted);
/// # Ok(())
/// # }
/// ```
pub fn is_cancelled() -> bool {
    OWN.with_borrow(|own| {
        own.as_ref().is_some_and(|own| {
            let cancelled = own.clocks.over.load(Ordering::Relaxed)
                || own.clocks.workers[own.number].late.load(Ordering::Relaxed);
            own.told.set(own.told.get() || cancelled);
            cancelled
        })
    })
}

/// Whether a task on this thread was told that nobody waits for it.
pub fn was_told() -> bool {
    OWN.with_borrow(|own| own.as_ref().is_some_and(|own| own.told.get()))
}

impl Clocks {
    /// Of so many workers.
    pub fn new(workers: usize, limit: Option<Duration>) -> Arc<Self> {
        let clock = || Clock {
            task: AtomicU64::new(NONE),
            since: AtomicU64::new(0),
            late: AtomicBool::new(false),
        };
        let workers = (0..workers).map(|_| clock()).collect();
        Arc::new(Self { begin: Instant::now(), limit, over: AtomicBool::new(false), workers })
    }

    /// This thread is the worker with this number until what is returned goes.
    pub fn enter(self: &Arc<Self>, number: usize) -> Entered {
        Entered(OWN.replace(Some(Own { clocks: self.clone(), number, told: Cell::new(false) })))
    }

    /// The worker begins `task`.
    pub fn begins(&self, number: usize, task: u64) {
        if self.limit.is_some() {
            let clock = &self.workers[number];
            clock.since.store(self.begin.elapsed().as_micros() as u64, Ordering::Relaxed);
            clock.task.store(task, Ordering::Release);
        }
    }

    /// The worker has ended its task.
    pub fn ends(&self, number: usize) {
        if self.limit.is_some() {
            self.workers[number].task.store(NONE, Ordering::Release);
        }
    }

    /// No output is wanted any more.
    pub fn over(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Workers, and their tasks, that have taken too long since the last call.
    pub fn late(&self) -> Vec<(usize, u64)> {
        let Some(limit) = self.limit else { return Vec::new() };
        let now = self.begin.elapsed().as_micros() as u64;
        let most = limit.as_micros() as u64;
        let late = self.workers.iter().enumerate().filter_map(|(number, clock)| {
            let task = clock.task.load(Ordering::Acquire);
            let since = clock.since.load(Ordering::Relaxed);
            let same = clock.task.load(Ordering::Acquire) == task;
            let long = task != NONE && same && now.saturating_sub(since) > most;
            (long && !clock.late.swap(true, Ordering::Relaxed)).then_some((number, task))
        });
        late.collect()
    }
}

/// A thread that is a worker.
pub struct Entered(Option<Own>);

impl Drop for Entered {
    fn drop(&mut self) {
        OWN.set(self.0.take());
    }
}

/// What a task failed with that took too long.
pub fn too_long(limit: Option<Duration>) -> String {
    format!("it took longer than the limit of {:?}", limit.unwrap_or_default())
}

/// A note that `worker` still runs such a task.
pub fn waits_for(worker: Worker, task: u64, limit: Option<Duration>) -> String {
    format!(
        "task {task} on {worker} has taken longer than the limit of {:?}; it counts as failed, but the farm can return \
         only once the task has returned, because a thread cannot be stopped from outside: let the task ask \
         `farm::is_cancelled()`",
        limit.unwrap_or_default()
    )
}

/// The loss of the worker that runs such a task.
pub fn given_up(share: &Share, task: u64) -> Error {
    Error::Device {
        stage: format!("running task {task}"),
        device: share.worker.to_string(),
        what: "the task took longer than the limit, so its worker is given up".into(),
        hint: "raise the limit, or have the task return when `farm::is_cancelled()`".into(),
    }
}

/// A limit that can be kept.
///
/// # Errors
/// One of no time.
pub fn checked(limit: Option<Duration>) -> Result<Option<Duration>> {
    match limit {
        Some(limit) if limit.is_zero() => {
            Err(Error::spec("a limit of no time for each task", "give a time above 0"))
        }
        limit => Ok(limit),
    }
}
