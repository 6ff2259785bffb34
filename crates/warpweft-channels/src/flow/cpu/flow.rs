//! What the workers of one run share: queues, credits, what is pending, and how the run ends.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::credits::Credits;
use super::ring::{Ring, Slot};
use crate::flow::buffer::HostBuffers;
use crate::flow::handle::Item;
use crate::flow::plan::Plan;
use warpweft_core::error::{Error, Result};
use warpweft_core::memory::filled;
use warpweft_core::run::Done;

/// A channel: its levels, the items that the host put there, and those that came to the host.
pub struct Queues<T> {
    /// One ring a level; none where the host consumes.
    pub levels: Vec<Ring<T>>,
    first: Vec<T>,
    taken: AtomicUsize,
    sink: Mutex<Vec<T>>,
}

/// What to do if memory does not suffice.
pub const SMALLER: &str = "use smaller channels, or fewer levels";

impl<T: Item> Queues<T> {
    /// Bytes of the rings of so many levels.
    pub fn ring_bytes(capacity: usize, levels: usize) -> u64 {
        let elements = Ring::<T>::elements(capacity) as u64;
        elements.saturating_mul(levels as u64).saturating_mul(size_of::<Slot<T>>() as u64)
    }

    /// For `levels` levels of `capacity` items.
    ///
    /// # Errors
    /// Too little memory.
    pub fn new(capacity: usize, levels: usize, first: Vec<T>) -> Result<Self> {
        let ring = |_| {
            let slots = (0..Ring::<T>::elements(capacity)).map(|_| Slot::empty());
            Ok(Ring::of(filled(slots, SMALLER)?))
        };
        Ok(Self {
            levels: (0..levels).map(ring).collect::<Result<_>>()?,
            first,
            taken: AtomicUsize::new(0),
            sink: Mutex::default(),
        })
    }

    /// Items of the host that nobody has taken; may be seen late.
    pub fn first_left(&self) -> usize {
        self.first.len().saturating_sub(self.taken.load(Ordering::Relaxed))
    }

    /// Takes at most `most` items of the host onto the end of `to`. How many.
    pub fn take_first(&self, most: usize, to: &mut Vec<T>) -> usize {
        let first = self.taken.fetch_add(most, Ordering::Relaxed).min(self.first.len());
        let items = &self.first[first..(first + most).min(self.first.len())];
        to.extend_from_slice(items);
        items.len()
    }

    /// Hands items over to the host.
    pub fn to_host(&self, items: &[T]) {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(items);
    }

    /// The items that came to the host, after those it put there itself.
    pub fn into_sink(self) -> Vec<T> {
        let mut all = self.first;
        all.extend(self.sink.into_inner().unwrap_or_else(PoisonError::into_inner));
        all
    }
}

/// A word that workers read with every item, and that seldom changes: on a cache line of its own.
#[repr(align(128))]
struct Flag(AtomicBool);

/// A worker that may fire, in place of what it has seen.
const BUSY: usize = usize::MAX;

/// One run of a graph on cores.
pub struct Flow<'f> {
    pub(in crate::flow) plan: &'f Plan,
    pub(in crate::flow) buffers: HostBuffers,
    /// Of each channel its [`Queues`].
    pub(in crate::flow) channels: Vec<Box<dyn Any + Send + Sync>>,
    /// Of each group, of each level.
    pub(in crate::flow) credits: Vec<Vec<Credits>>,
    /// Items of a firing at most.
    pub(in crate::flow) batch: usize,
    pub(in crate::flow) done: &'f Done,
    /// Items that are in channels, in firings or with the host.
    pending: AtomicUsize,
    /// Firings that ended.
    activity: AtomicUsize,
    /// Of each worker: the activity at which it found nothing to fire, or [`BUSY`].
    seen: Vec<AtomicUsize>,
    ended: Flag,
    error: Mutex<Option<Error>>,
}

impl<'f> Flow<'f> {
    /// Before the first firing: of each channel its [`Queues`], with `pending` items that kernels are to consume.
    pub fn new(
        plan: &'f Plan,
        channels: Vec<Box<dyn Any + Send + Sync>>,
        (buffers, pending): (HostBuffers, usize),
        (workers, batch): (usize, usize),
        done: &'f Done,
    ) -> Self {
        let credits = plan.groups.iter().map(|group| {
            (0..group.levels).map(|_| Credits::new(group.capacity)).collect::<Vec<_>>()
        });
        Self {
            plan,
            buffers,
            channels,
            credits: credits.collect(),
            batch,
            done,
            pending: AtomicUsize::new(pending),
            activity: AtomicUsize::new(0),
            seen: (0..workers).map(|_| AtomicUsize::new(BUSY)).collect(),
            ended: Flag(AtomicBool::new(pending == 0)),
            error: Mutex::default(),
        }
    }

    /// Items in a channel and in the others of its cycle, reservations included; may be seen late.
    pub fn items(&self, channel: usize) -> usize {
        let credits = &self.credits[self.plan.group_of[channel].unwrap_or_default()];
        credits.iter().map(Credits::taken).sum()
    }

    /// The state of a channel. The graph has checked its type.
    pub fn queues<T: Item>(&self, channel: usize) -> &Queues<T> {
        self.channels[channel].downcast_ref().expect("the graph checks its channels")
    }

    /// Counts items that a firing is about to publish.
    pub fn add_pending(&self, count: usize) {
        self.pending.fetch_add(count, Ordering::Relaxed);
    }

    /// A firing has consumed `count` items, and what it emitted is counted.
    pub fn fired(&self, count: usize) {
        if self.pending.fetch_sub(count, Ordering::AcqRel) == count {
            self.ended.0.store(true, Ordering::Release);
        }
        self.activity.fetch_add(1, Ordering::SeqCst);
    }

    /// Ends the run with an error; the first one counts.
    pub fn fail(&self, error: Error) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.ended.0.store(true, Ordering::Release);
    }

    /// Whether there is nothing left to do.
    pub fn ended(&self) -> bool {
        self.ended.0.load(Ordering::Acquire)
    }

    /// Why the run failed, if it did.
    ///
    /// # Errors
    /// What ended it.
    pub fn outcome(&self) -> Result<()> {
        match self.error.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// How many firings have ended, before a worker looks for something to fire.
    pub fn activity(&self) -> usize {
        self.activity.load(Ordering::SeqCst)
    }

    /// `me` has found nothing to fire since `seen`: returns when a firing has ended since, or the run.
    ///
    /// If all workers wait and no firing has ended since any of them looked, worker 0 looks once more, `alone`: others may
    /// have held credits for a moment when it looked before. If it finds nothing then, nobody ever will.
    pub fn wait(&self, me: usize, seen: usize, alone: &mut bool) {
        self.seen[me].store(seen, Ordering::SeqCst);
        let mut rounds = 0u32;
        while !self.ended() && self.activity() == seen {
            if me == 0 && self.seen.iter().all(|other| other.load(Ordering::SeqCst) == seen) {
                match std::mem::replace(alone, true) {
                    true => self.fail(self.stuck()),
                    false => {
                        self.seen[me].store(BUSY, Ordering::SeqCst);
                        return;
                    }
                }
            }
            rounds += 1;
            match rounds {
                0..200 => std::hint::spin_loop(),
                200..400 => std::thread::yield_now(),
                _ => std::thread::sleep(std::time::Duration::from_micros(100)),
            }
        }
        *alone = false;
        self.seen[me].store(BUSY, Ordering::SeqCst);
    }

    /// The error of a graph in which nothing can fire, with the state of every channel.
    fn stuck(&self) -> Error {
        let held = self.plan.order.iter().map(|&channel| (channel, self.items(channel)));
        self.plan.stuck(self.pending.load(Ordering::Relaxed), held)
    }
}
