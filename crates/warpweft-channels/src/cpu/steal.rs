//! Stealing: what a worker does while it waits or has nothing to do, and how calls are left that nobody needs any more.

use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::borders::Taken;
use super::frame::Frame;
use super::shared::{ASKED, Shared};
use super::site::Site;
use super::slot::{Ended, Slot};
use super::worker::{Kind, Worker, cancel};
use crate::spawning::Call;
use warpweft_core::cpu::sync::Ordering;
use warpweft_core::cpu::{until, wake};

/// The most calls that are stolen at once.
const BATCH: u32 = 128;

/// Calls that this worker has stolen.
struct Stolen<'r> {
    slots: &'r [Slot<Kind>],
}

/// A stolen call, as a call of the thief's own: so it may be stolen again.
struct Again<'r> {
    slot: &'r Slot<Kind>,
    run: &'r Shared<Kind>,
}

impl Drop for Again<'_> {
    /// Nobody runs it: its owner waits no longer.
    fn drop(&mut self) {
        // SAFETY: the owner of this value has stolen the slot, which holds its call still.
        unsafe { (self.slot.header().kind.drop_call)(self.slot) };
        if self.slot.finish(Ended::WithoutValue) {
            wake(&self.run.activity);
        }
    }
}

impl Call for Again<'_> {
    type Output = ();
    const NAME: &'static str = "a stolen call";

    fn forked(self, worker: &Worker<'_>, _: u32) {
        let slot = ManuallyDrop::new(self).slot;
        // SAFETY: the owner of this value has stolen the slot, directly or from its thief.
        unsafe { worker.run_stolen(slot) };
    }
}

impl<'r> Worker<'r> {
    /// Runs stolen calls until the run is over.
    pub(super) fn serve(&self) {
        let run = self.run;
        loop {
            let found = until(&run.activity, || match run.is_over() {
                true => Some(None),
                false => self.steal_from_any().map(Some),
            });
            let Some(stolen) = found else { return };
            self.run_all(stolen);
        }
    }

    /// Waits until the call of `slot`, which was popped and is stolen, has ended with a value. Meanwhile this worker runs
    /// other calls.
    #[cold]
    #[inline(never)]
    pub(super) fn join(&self, slot: &Slot<Kind>) {
        let at = self.top.get();
        // The slot is needed for the value: what this worker runs meanwhile is pushed above.
        self.top.set(at + 1);
        let run = self.run;
        slot.wait_for();
        let ended = loop {
            let helps = self.has_stack();
            let found = until(&run.activity, || match slot.ended() {
                Some(ended) => Some(Err(ended)),
                None if helps && !run.is_over() => self.steal_for(slot).map(Ok),
                None => None,
            });
            match found {
                Ok(stolen) => self.run_all(stolen),
                Err(ended) => break ended,
            }
        };
        self.top.set(at);
        self.nothing_public(at);
        if ended == Ended::WithoutValue || run.is_over() {
            if ended == Ended::WithValue {
                // SAFETY: the slot is this worker's again and holds a value, which nobody will take.
                unsafe { (slot.header().kind.drop_value)(slot) };
            }
            cancel();
        }
        // Somebody was there who took calls.
        self.patience.set(0);
        self.mine.guard.store(ASKED, Ordering::Relaxed);
    }

    /// All below `at` are stolen, all above are gone.
    fn nothing_public(&self, at: u32) {
        self.borders().reset(at);
        self.split.set(at);
    }

    /// Calls of the thief of `slot`, which are most often needed for it, else those of any other worker.
    fn steal_for(&self, slot: &Slot<Kind>) -> Option<Stolen<'r>> {
        slot.thief().and_then(|thief| self.steal(thief)).or_else(|| self.steal_from_any())
    }

    fn steal_from_any(&self) -> Option<Stolen<'r>> {
        let count = self.run.deques.len();
        // Xorshift (Marsaglia, "Xorshift RNGs", 2003).
        let mut random = self.random.get();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        self.random.set(random);
        let first = (random % count as u64) as usize;
        let victims = (first..count).chain(0..first);
        victims.filter(|&victim| victim != self.me).find_map(|victim| self.steal(victim))
    }

    /// Half of what `victim` has published. If that was all, it is asked for more.
    fn steal(&self, victim: usize) -> Option<Stolen<'r>> {
        let deque = &self.run.deques[victim];
        let most = BATCH.min(self.capacity() - self.top.get());
        if most == 0 {
            return None;
        }
        let taken = deque.borders.0.steal(most);
        if taken.is_none_or(|taken| taken.all) && deque.guard.load(Ordering::Relaxed) != ASKED {
            deque.guard.store(ASKED, Ordering::Relaxed);
        }
        let Taken { from, to, .. } = taken?;
        let slots = &deque.slots[from as usize..to as usize];
        slots.iter().for_each(|slot| slot.mark(self.me));
        self.stolen.set(self.stolen.get() + slots.len() as u64);
        self.steals.set(self.steals.get() + 1);
        Some(Stolen { slots })
    }

    fn run_all(&self, stolen: Stolen<'r>) {
        let begin = self.now();
        // SAFETY: this worker has stolen them, and their headers stay until they are finished.
        let name = begin.map(|_| unsafe { stolen.slots[0].header() }.kind.name);
        match stolen.slots {
            // SAFETY: this worker has stolen it.
            [slot] => unsafe { self.run_stolen(slot) },
            // What unwinds is that the run is over: panics of calls are caught below.
            slots => drop(catch_unwind(AssertUnwindSafe(|| self.run_several(slots)))),
        }
        self.record(name.unwrap_or_default(), begin);
    }

    /// Several calls, of which others may steal some again.
    fn run_several(&self, slots: &'r [Slot<Kind>]) {
        let site = Site::<Again<'r>, 0, true>::default();
        let frame = Frame::new(self);
        for slot in slots {
            // SAFETY: no more were stolen than there is room; the one site of the frame outlives it.
            unsafe { site.push(&frame, Again { slot, run: self.run }, 0) };
        }
        while frame.newest().is_some() {
            // SAFETY: the frame has one site, and pushed at this level.
            unsafe { site.settle(&frame, 0) };
        }
    }

    /// Runs a call that this worker has stolen. Panics end here, as an error of the run.
    ///
    /// # Safety
    /// This worker has stolen the call.
    unsafe fn run_stolen(&self, slot: &Slot<Kind>) {
        // SAFETY: the slot is this worker's until it is finished.
        let kind = unsafe { slot.header() }.kind;
        // SAFETY: the same; it holds its call.
        let run = AssertUnwindSafe(|| unsafe { (kind.run)(slot, self) });
        let ended = match catch_unwind(run) {
            Ok(()) => Ended::WithValue,
            Err(payload) => {
                self.run.unwound(kind.name, payload.as_ref());
                Ended::WithoutValue
            }
        };
        // Not every call that ends: all who sleep would wake.
        if slot.finish(ended) {
            wake(&self.run.activity);
        }
    }

    /// Runs the newest call, or waits for its thief; its value goes nowhere.
    pub(super) fn settle_untyped(&self) {
        let own = self.pop();
        let slot = self.slot(self.top.get());
        // SAFETY: a popped slot is this worker's: with its call, or joined and with its value.
        unsafe {
            let kind = slot.header().kind;
            match own {
                true => (kind.run_for_nothing)(slot, self),
                false => {
                    self.join(slot);
                    (kind.drop_value)(slot);
                }
            }
        }
    }

    /// A call unwinds whose frame begins at `base`: what it has spawned is dropped, or waited for where it is stolen. What
    /// other workers do is of no use any more.
    #[cold]
    pub(super) fn abandon(&self, base: u32) {
        self.run.end();
        let (head, split) = self.borders().retract(base);
        self.split.set(split);
        while self.top.get() > base {
            let at = self.top.get() - 1;
            let slot = self.slot(at);
            if at >= head {
                // SAFETY: nobody has stolen it, and it is not public any more.
                unsafe { (slot.header().kind.drop_call)(slot) };
            } else if self.ended(slot) == Ended::WithValue {
                // SAFETY: the slot is this worker's again and holds the value.
                unsafe { (slot.header().kind.drop_value)(slot) };
            }
            self.top.set(at);
        }
        if head > base {
            self.nothing_public(base);
        }
    }

    /// Waits for the end of a stolen call.
    fn ended(&self, slot: &Slot<Kind>) -> Ended {
        slot.wait_for();
        until(&self.run.activity, || slot.ended())
    }
}
