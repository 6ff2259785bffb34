//! What a worker publishes, and when: the oldest calls, a few at a time, where somebody asks.
//!
//! A request is a flag (Acar, Charguéraud and Rainey, "Scheduling parallel programs by work stealing with private deques",
//! PPoPP 2013), but its answer is to make calls public, so the first thief may take them. The oldest private call is
//! published, and of a loop the older half of its calls. A loop that is asked again and again keeps more and more private
//! calls, so that each answer is larger; and if it spawns quickly, it first gathers some calls, since an answer costs as much as
//! many short calls. One call is public at most times, or thieves would starve while a call that
//! spawns nothing runs; where nobody takes it, the next ones are published more and more rarely.

use std::time::{Duration, Instant};

use super::worker::{KEEP, Worker};
use warpweft_core::cpu::wake;

/// The most private calls that a loop keeps.
const MOST: u32 = 512;
/// A loop that spawns in less time than this is quick: what it gathers does not keep thieves waiting.
const QUICK: Duration = Duration::from_micros(1);
/// The most spawns between two publications that nobody asked for.
const RARELY: u32 = 63;

impl Worker<'_> {
    /// A call was pushed; of a loop, the first slot of its frame.
    #[inline]
    pub(super) fn pushed(&self, looping: Option<u32>) {
        if self.is_asked() {
            if looping.is_none() || self.top.get() - self.split.get() >= self.batch.get() {
                self.publish(self.top.get(), looping);
            }
        } else if self.skip.get() > 0 {
            self.skip.set(self.skip.get() - 1);
            if self.skip.get() == 0 {
                self.publish(self.top.get(), None);
            }
        }
        self.tune_guard();
    }

    /// Publishes the oldest private calls below `end`, if there are any. `looping` is the frame whose loop spawns now.
    #[cold]
    #[inline(never)]
    pub(super) fn publish(&self, end: u32, looping: Option<u32>) {
        let first = self.split.get();
        if first >= end {
            return;
        }
        let siblings = self.siblings(first, end);
        let of_loop = looping.is_some() && looping == self.loop_of(first);
        let (keep, batch) = match of_loop {
            true => ((2 * self.keep.get()).min(MOST), self.next_batch(end - first)),
            false => (KEEP, 1),
        };
        self.keep.set(keep);
        self.batch.set(batch);
        let to = first + siblings.div_ceil(2);
        (first..to).for_each(|at| self.slot(at).offer());
        self.split.set(to);
        // Before thieves see the calls: they may ask again at once.
        self.set_guard(self.limit());
        self.borders().publish(to);
        wake(&self.run.activity);
        self.answered.set(of_loop.then(|| (Instant::now(), end - to)));
    }

    /// How many calls a loop gathers next, which has so many private ones: twice as many if it has spawned quickly since its
    /// last answer, else a quarter.
    fn next_batch(&self, private: u32) -> u32 {
        let batch = self.batch.get();
        let Some((then, left)) = self.answered.get() else { return batch };
        let spawned = private.saturating_sub(left);
        match then.elapsed() < QUICK * spawned {
            true => (2 * batch).min(MOST / 2),
            false => (batch / 4).max(1),
        }
    }

    /// The frame of the call at `at`, if it was spawned in a loop.
    fn loop_of(&self, at: u32) -> Option<u32> {
        // SAFETY: the slot is this worker's own and filled: it is private.
        let header = unsafe { self.slot(at).header() };
        header.site.in_loop.then_some(header.frame)
    }

    /// How many calls from `first` on, below `end`, are of the same frame and of loops; 1 if `first` is not of a loop.
    fn siblings(&self, first: u32, end: u32) -> u32 {
        let Some(frame) = self.loop_of(first) else { return 1 };
        (first..end).take_while(|&at| self.loop_of(at) == Some(frame)).count() as u32
    }

    /// Takes the last public call back, with half of the others. `false` if it is stolen.
    #[cold]
    #[inline(never)]
    pub(super) fn reclaim(&self, at: u32) -> bool {
        let Some(split) = self.borders().reclaim(at) else { return false };
        self.split.set(split);
        self.keep.set(KEEP);
        if split == at && !self.is_asked() {
            // Nobody wants any.
            self.patience.set((2 * self.patience.get() + 1).min(RARELY));
            self.skip.set(self.patience.get());
        }
        true
    }
}
