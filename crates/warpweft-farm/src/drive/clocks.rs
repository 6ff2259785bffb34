//! How long each worker of this process has run its task: tasks that take longer than a limit are found, and told
//! that nobody waits for them. Not for chunks that an executor runs as a whole.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::drive::endpoint::Message;
use crate::drive::settings::Settings;
use crate::drive::standing::{Found, Limit, Returned, Running, Standing};
use crate::spec::chunk::Results;
use crate::spec::worker::Worker;
use warpweft_core::error::{Error, Result};

/// The clocks of the workers of a process.
#[derive(Debug)]
pub struct Clocks {
    begin: Instant,
    limit: Option<Limit>,
    /// No output is wanted any more.
    over: AtomicBool,
    workers: Vec<Clock>,
}

/// Of one worker.
#[derive(Debug, Default)]
struct Clock {
    standing: Mutex<Standing<Results>>,
    /// Its task has taken too long, for the task to ask without the lock.
    late: AtomicBool,
}

impl Clock {
    /// Nothing panics while it is held.
    fn standing(&self) -> MutexGuard<'_, Standing<Results>> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

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

/// Whether nobody waits for the task that calls this, on a core's thread of a farm: the farm was interrupted or has all other
/// results (a backup copy of this task was sooner), or the task took longer than [`Settings::task_limit`](crate::Settings::task_limit). A long task
/// that asks now and then, and returns anything if so, lets the farm return. What it returns is dropped: the task counts as
/// not run, or as failed if it took too long. A [`ChunkExecutor`](crate::ChunkExecutor) that asks loses what it has not handed over.
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
            let clocks = &own.clocks;
            let cancelled = clocks.over.load(Ordering::Relaxed)
                || clocks.workers[own.number].late.load(Ordering::Relaxed);
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
    pub fn new(workers: usize, limit: Option<Limit>) -> Arc<Self> {
        let workers = (0..workers).map(|_| Clock::default()).collect();
        Arc::new(Self { begin: Instant::now(), limit, over: AtomicBool::new(false), workers })
    }

    /// This thread is the worker with this number until what is returned goes.
    pub fn enter(self: &Arc<Self>, number: usize) -> Entered {
        Entered(OWN.replace(Some(Own { clocks: self.clone(), number, told: Cell::new(false) })))
    }

    /// The worker begins `task`; it has `results` of the tasks from `first` on, which it began at `from`.
    pub fn begins(
        &self,
        number: usize,
        (first, from): (u64, Instant),
        task: u64,
        results: &mut Results,
    ) {
        if self.limit.is_some() {
            let (from, since) = (from.saturating_duration_since(self.begin), self.begin.elapsed());
            let results = std::mem::take(results);
            let running = Running { first, from, task, since, results };
            self.workers[number].standing().begin(running);
        }
    }

    /// The task of the worker of this thread has returned. If it was in time, the worker has its `results` again.
    pub fn ends(&self, number: usize, results: &mut Results) -> Returned<()> {
        if self.limit.is_none() {
            return Returned::InTime(());
        }
        let clock = &self.workers[number];
        let returned = clock.standing().end();
        match returned {
            Returned::InTime(before) => {
                *results = before;
                Returned::InTime(())
            }
            Returned::Late => {
                clock.late.store(false, Ordering::Relaxed);
                let over = self.over.load(Ordering::Relaxed);
                OWN.with_borrow(|own| own.iter().for_each(|own| own.told.set(over)));
                Returned::Late
            }
            Returned::GivenUp => Returned::GivenUp,
        }
    }

    /// The worker is through.
    pub fn leaves(&self, number: usize) {
        self.workers[number].standing().leave();
    }

    /// No output is wanted any more.
    pub fn over(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// What the committer is to know of tasks that take too long, since the last call.
    pub fn look(&self) -> Vec<Message> {
        let Some(limit) = self.limit else { return Vec::new() };
        let now = self.begin.elapsed();
        let found = self.workers.iter().enumerate().filter_map(|(worker, clock)| {
            let mut standing = clock.standing();
            let found = standing.look(limit, now)?;
            // Under the lock: the flag is of the task that it was set for.
            clock.late.store(true, Ordering::Relaxed);
            Some((worker, found))
        });
        let found: Vec<_> = found.collect();
        found.into_iter().map(|(worker, found)| news(worker, found, limit, now)).collect()
    }

    /// Waits until the workers are `through`, but those that are given up; whether there are such.
    pub fn wait(&self, through: impl Fn() -> bool) -> bool {
        if self.limit.is_none() {
            return false;
        }
        while !through() && !self.all_gone() {
            self.look();
            std::thread::sleep(PAUSE);
        }
        self.workers.iter().any(|clock| matches!(*clock.standing(), Standing::GivenUp))
    }

    /// How long tasks may take; no time at all if they have no limit.
    pub fn limit(&self) -> Limit {
        self.limit.unwrap_or_default()
    }

    /// Whether every worker is through or given up.
    pub fn all_gone(&self) -> bool {
        self.workers.iter().all(|clock| clock.standing().is_gone())
    }
}

/// Between two looks at workers that are to leave.
const PAUSE: Duration = Duration::from_millis(2);

fn news(worker: usize, found: Found<Results>, limit: Limit, now: Duration) -> Message {
    match found {
        Found::Late(Running { first, from, task, mut results, .. }) => {
            results.fail((task - first) as usize, &too_long(limit.task), None);
            let range = first..task + 1;
            // Of each task before it there is a result.
            let collected = results.take((range.end - first) as usize).unwrap_or_default();
            let seconds = now.saturating_sub(from).as_secs_f64();
            Message::Done { worker, range, collected, seconds, late: true }
        }
        Found::GivenUp(task) => Message::Stuck { worker, task },
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
fn too_long(limit: Duration) -> String {
    format!(
        "it took longer than the limit of {limit:?}; raise `Settings::task_limit` if that is too little"
    )
}

/// A note that `worker` runs such a task.
pub fn waits_for(worker: Worker, task: u64, limit: Limit) -> String {
    let Limit { task: limit, grace } = limit;
    format!(
        "task {task} on {worker} has taken longer than the limit of {limit:?} and counts as failed; {worker} goes on once the task has returned, and is given up after {grace:?}: let the task ask `farm::is_cancelled()`"
    )
}

/// The loss of a worker that does not return from such a task.
pub fn given_up(worker: Worker, task: u64, limit: Limit) -> Error {
    let Limit { task: limit, grace } = limit;
    Error::Device {
        stage: format!("running task {task}"),
        device: worker.to_string(),
        what: format!(
            "the task has not returned {grace:?} after its limit of {limit:?}, so the worker is given up"
        ),
        hint: "have the task return when `farm::is_cancelled()`, or raise `Settings::grace`".into(),
    }
}

/// The limits of `settings`, which can be kept.
///
/// # Errors
/// One of no time.
pub fn checked(settings: &Settings<'_>) -> Result<Option<Limit>> {
    let Some(task) = settings.task_limit else { return Ok(None) };
    if task.is_zero() {
        return Err(Error::spec("a limit of no time for each task", "give a time above 0"));
    }
    Ok(Some(Limit { task, grace: settings.grace }))
}
