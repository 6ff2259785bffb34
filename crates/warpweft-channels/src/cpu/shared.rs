//! What the workers of a run share.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::job::Job;
use warpweft_core::cpu::{Mailboxes, panic_text};
use warpweft_core::error::{Error, Result};
use warpweft_core::memory::room;

/// One run, whose jobs are of kinds `K`.
pub(super) struct Shared<K: 'static> {
    pub mailboxes: Mailboxes,
    /// The deque of each worker.
    pub deques: Vec<Vec<Job<K>>>,
    /// Levels that there may be.
    pub levels: u32,
    over: AtomicBool,
    error: Mutex<Option<Error>>,
}

/// What unwinds a worker whose run is over.
pub(super) struct Cancelled;

impl<K> Shared<K> {
    /// For `workers` workers with deques of `capacity` jobs each.
    pub fn new(workers: usize, capacity: usize, levels: u32, empty: &'static K) -> Result<Self> {
        let hint = "use a smaller deque, or fewer threads";
        let mut deques = room(workers, hint)?;
        for _ in 0..workers {
            let mut deque = room(capacity, hint)?;
            deque.resize_with(capacity, || Job::empty(empty));
            deques.push(deque);
        }
        let (over, error) = (AtomicBool::new(false), Mutex::new(None));
        Ok(Self { mailboxes: Mailboxes::new(workers), deques, levels, over, error })
    }

    /// Whether nothing more is to be done.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Ends the run.
    pub fn end(&self) {
        self.over.store(true, Ordering::Release);
        self.mailboxes.stop();
    }

    /// Ends it with `error`, unless there was another before.
    pub fn fail(&self, error: Error) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.end();
    }

    /// Ends it with the panic that unwound a call of `name`.
    pub fn unwound(&self, name: &str, payload: &(dyn Any + Send)) {
        if !payload.is::<Cancelled>() {
            let (place, what) = (format!("`{name}`"), panic_text(payload).to_string());
            self.fail(Error::Element { place, what });
        }
    }

    /// Its error, if there was one.
    pub fn outcome(&self) -> Result<()> {
        let error = self.error.lock().unwrap_or_else(PoisonError::into_inner).take();
        error.map_or(Ok(()), Err)
    }
}
