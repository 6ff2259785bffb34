//! What the workers of a run share.

use std::any::Any;
use std::sync::{Mutex, PoisonError};

use super::borders::Borders;
use super::slot::Slot;
use warpweft_core::cpu::sync::{AtomicBool, AtomicUsize, Ordering, fence};
use warpweft_core::cpu::{panic_text, wake};
use warpweft_core::error::{Error, Result};
use warpweft_core::memory::room;

/// A thief has found nothing: the owner should publish calls.
pub(super) const ASKED: usize = usize::MAX;
/// The owner keeps too few private calls. Below: the address that its stack may not reach.
pub(super) const FEW: usize = usize::MAX - 1;

/// A worker's deque of calls that `K` tells how to run, and its word for thieves.
#[repr(align(128))]
pub(super) struct Deque<K: 'static> {
    /// A spawn looks closer where the stack is below this address: always, if it is [`ASKED`] or [`FEW`].
    pub guard: AtomicUsize,
    pub slots: Vec<Slot<K>>,
    /// On a line of its own: thieves write it.
    pub borders: Apart<Borders>,
}

#[repr(align(128))]
pub(super) struct Apart<T>(pub T);

/// One run at a time.
pub(super) struct Shared<K: 'static> {
    /// Of each worker.
    pub deques: Vec<Deque<K>>,
    /// Where workers sleep that find nothing to do.
    pub activity: AtomicUsize,
    over: AtomicBool,
    error: Mutex<Option<Error>>,
}

/// What unwinds a worker whose run is over.
pub(super) struct Cancelled;

impl<K> Shared<K> {
    /// For `workers` workers with deques of `capacity` calls each.
    pub fn new(workers: usize, capacity: usize) -> Result<Self> {
        let hint = "use a smaller deque, or fewer threads";
        let mut deques = room(workers, hint)?;
        for _ in 0..workers {
            let mut slots = room(capacity, hint)?;
            slots.resize_with(capacity, Slot::empty);
            let (guard, borders) = (AtomicUsize::new(ASKED), Apart(Borders::new()));
            deques.push(Deque { guard, slots, borders });
        }
        let (over, error) = (AtomicBool::new(false), Mutex::new(None));
        Ok(Self { deques, activity: AtomicUsize::new(0), over, error })
    }

    /// Ready for a run, while no worker is.
    pub fn begin(&mut self) {
        for deque in &mut self.deques {
            deque.guard.store(ASKED, Ordering::Relaxed);
            deque.borders.0.reset(0);
        }
        self.over.store(false, Ordering::Relaxed);
        *self.error.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether nothing more is to be done.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Ends the run: every worker looks closer at its next spawn.
    pub fn end(&self) {
        self.over.store(true, Ordering::Release);
        // Pairs with the fence of `Worker::set_guard`: either this word stays or the worker sees that the run is over.
        fence(Ordering::SeqCst);
        for deque in &self.deques {
            deque.guard.store(ASKED, Ordering::Relaxed);
        }
        wake(&self.activity);
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
