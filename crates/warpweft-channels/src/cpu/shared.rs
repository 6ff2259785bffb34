//! What the workers of a run have in common.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::job::Job;
use warpweft_core::cpu::{Windows, panic_text};
use warpweft_core::error::{Error, Result};
use warpweft_core::memory::room;

/// One run.
pub(super) struct Shared {
    pub windows: Windows,
    /// Each worker's stack of jobs.
    pub jobs: Vec<Vec<Job>>,
    /// Levels that there may be.
    pub levels: u32,
    over: AtomicBool,
    error: Mutex<Option<Error>>,
}

/// What unwinds a worker whose run is over.
pub(super) struct Cancelled;

impl Shared {
    /// Of `workers` workers who keep `kept` jobs each.
    pub fn new(workers: usize, kept: usize, levels: u32) -> Result<Self> {
        let hint = "keep fewer calls, or use fewer threads";
        let mut jobs = room(workers, hint)?;
        for _ in 0..workers {
            let mut own = room(kept, hint)?;
            own.resize_with(kept, Job::empty);
            jobs.push(own);
        }
        let (over, error) = (AtomicBool::new(false), Mutex::new(None));
        Ok(Self { windows: Windows::new(workers), jobs, levels, over, error })
    }

    /// Whether nothing more is to be done.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Ends the run.
    pub fn end(&self) {
        self.over.store(true, Ordering::Release);
        self.windows.stop();
    }

    /// Ends it with `error`, unless there was another before.
    pub fn fail(&self, error: Error) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.end();
    }

    /// The same with what unwound a call of `name`.
    pub fn unwound(&self, name: &str, payload: &(dyn Any + Send)) {
        if !payload.is::<Cancelled>() {
            let (place, what) = (format!("`{name}`"), panic_text(payload).to_string());
            self.fail(Error::Element { place, what });
        }
    }

    /// What it came to.
    pub fn outcome(&self) -> Result<()> {
        let error = self.error.lock().unwrap_or_else(PoisonError::into_inner).take();
        error.map_or(Ok(()), Err)
    }
}
