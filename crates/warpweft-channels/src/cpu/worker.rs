//! A worker: when it leaves a call to others, and its end of the deque. Not here: what it publishes (`publish`) and what it
//! does when it has nothing to do (`steal`).

use std::cell::Cell;
use std::panic::resume_unwind;
use std::time::Instant;

use super::borders::Borders;
use super::shared::{ASKED, Cancelled, Deque, FEW, Shared};
use super::slot::{Header, Slot};
use super::stack::stack_pointer;
use crate::policy::too_deep;
use crate::report::Counts;
use crate::spawning::Call;
use warpweft_core::cpu::sync::{Ordering, fence};
use warpweft_core::error::Error;
use warpweft_core::trace::Trace;

/// Bytes of a stack that are left to the variables of one call and to what it calls: a spawn checks before it calls, not how large
/// the frame of the call will be.
const RESERVE: usize = 1 << 20;
/// Private calls that are kept while nobody asks for more.
pub(super) const KEEP: u32 = 3;

/// Runs calls on one core.
pub struct Worker<'r> {
    pub(super) mine: &'r Deque<Kind>,
    /// The deepest level so far.
    deepest: Cell<u32>,
    calls: Cell<u64>,
    /// Calls in the deque.
    pub(super) top: Cell<u32>,
    /// The first private slot.
    pub(super) split: Cell<u32>,
    /// How many private calls are kept.
    pub(super) keep: Cell<u32>,
    /// How many a loop gathers before it answers a request.
    pub(super) batch: Cell<u32>,
    /// When it last answered, and how many private calls were left then.
    pub(super) answered: Cell<Option<(Instant, u32)>>,
    /// Spawns up to the next publication that nobody asked for; 0 for none.
    pub(super) skip: Cell<u32>,
    /// How many there were after the last one that nobody took.
    pub(super) patience: Cell<u32>,
    pub(super) run: &'r Shared<Kind>,
    pub(super) me: usize,
    /// Levels that there may be.
    levels: u32,
    /// Where the stack may not reach.
    end: usize,
    /// Where it may not reach when a call of another chain is begun.
    half: usize,
    pub(super) stolen: Cell<u64>,
    /// Batches that were stolen.
    pub(super) steals: Cell<u64>,
    pub(super) random: Cell<u64>,
    trace: Option<(&'r Trace, String)>,
}

/// How to run a call without knowledge of its type.
///
/// # Safety
/// Its functions are for slots that were filled with this kind, and are the caller's.
pub(super) struct Kind {
    /// Runs the call that is there and leaves its value in its place.
    pub run: unsafe fn(&Slot<Kind>, &Worker<'_>),
    /// Runs the call that is there and drops its value; the slot may be used again meanwhile.
    pub run_for_nothing: unsafe fn(&Slot<Kind>, &Worker<'_>),
    /// Drops the call that is there.
    pub drop_call: unsafe fn(&Slot<Kind>),
    /// Drops the value that is there.
    pub drop_value: unsafe fn(&Slot<Kind>),
    /// The function's name.
    pub name: &'static str,
}

struct KindOf<C>(std::marker::PhantomData<C>);

impl<C: Call> KindOf<C> {
    const KIND: &'static Kind = &Kind {
        run: run::<C>,
        run_for_nothing: run_for_nothing::<C>,
        drop_call: forget::<C>,
        drop_value: forget::<C::Output>,
        name: C::NAME,
    };
}

/// # Safety
/// The slot holds a call of `C` and is the worker's.
unsafe fn run<C: Call>(slot: &Slot<Kind>, worker: &Worker<'_>) {
    // SAFETY: by contract.
    let (call, level) = unsafe { (slot.take::<C>(), slot.header().level) };
    let value = call.forked(worker, u32::from(level));
    // SAFETY: the slot is still the worker's, and its call was taken out.
    unsafe { slot.put(value) };
}

/// # Safety
/// The slot holds a call of `C` and is the worker's.
unsafe fn run_for_nothing<C: Call>(slot: &Slot<Kind>, worker: &Worker<'_>) {
    // SAFETY: by contract.
    let (call, level) = unsafe { (slot.take::<C>(), slot.header().level) };
    drop(call.forked(worker, u32::from(level)));
}

/// # Safety
/// The slot holds a `V` and is the caller's.
unsafe fn forget<V>(slot: &Slot<Kind>) {
    // SAFETY: by contract.
    drop(unsafe { slot.take::<V>() });
}

impl<'r> Worker<'r> {
    /// Worker `me` of `run`, whose calls may be of so many levels, on a thread with a stack of twice so many bytes, which
    /// is nearly empty.
    pub(super) fn new(
        run: &'r Shared<Kind>,
        me: usize,
        levels: u32,
        stack: usize,
        trace: Option<&'r Trace>,
    ) -> Self {
        let here = stack_pointer();
        Self {
            mine: &run.deques[me],
            deepest: Cell::new(0),
            calls: Cell::new(0),
            top: Cell::new(0),
            split: Cell::new(0),
            keep: Cell::new(KEEP),
            batch: Cell::new(1),
            answered: Cell::new(None),
            skip: Cell::new(0),
            patience: Cell::new(0),
            run,
            me,
            levels,
            end: here.saturating_sub(2 * stack - RESERVE),
            half: here.saturating_sub(stack),
            stolen: Cell::new(0),
            steals: Cell::new(0),
            random: Cell::new(0x9e37_79b9_7f4a_7c15 ^ (me as u64 + 1)),
            trace: trace.map(|trace| (trace, format!("worker {me}"))),
        }
    }

    /// What it has counted.
    pub(super) fn counts(&self) -> Counts {
        Counts {
            calls: self.calls.get(),
            stolen: self.stolen.get(),
            steals: self.steals.get(),
            levels: self.deepest.get(),
        }
    }

    /// The time, if there is a timeline.
    pub(super) fn now(&self) -> Option<Instant> {
        self.trace.as_ref().map(|_| Instant::now())
    }

    /// Records a span of `name` from `begin` on, if there is a timeline.
    pub(super) fn record(&self, name: &str, begin: Option<Instant>) {
        if let (Some((trace, lane)), Some(begin)) = (&self.trace, begin) {
            trace.add(lane.clone(), name, begin);
        }
    }

    pub(super) fn slot(&self, at: u32) -> &'r Slot<Kind> {
        &self.mine.slots[at as usize]
    }

    pub(super) fn borders(&self) -> &'r Borders {
        &self.mine.borders.0
    }

    pub(super) fn capacity(&self) -> u32 {
        self.mine.slots.len() as u32
    }

    /// Whether another call may be begun while one waits: there is stack left for all of its levels.
    pub(super) fn has_stack(&self) -> bool {
        stack_pointer() > self.half
    }

    /// Runs `call`, which a call of this level spawns, here and now.
    #[inline(always)]
    pub fn call<C: Call>(&self, call: C, level: u32) -> C::Output {
        call.forked(self, level + 1)
    }

    /// `calls` more are spawned.
    #[inline(always)]
    pub fn count(&self, calls: u64) {
        self.calls.set(self.calls.get().wrapping_add(calls));
    }

    /// Whether what a call of this level, of the function `name`, is about to spawn should be left to others; else it is to
    /// be called.
    #[inline(always)]
    pub fn shares(&self, level: u32, name: &'static str) -> bool {
        // Both comparisons without a branch between.
        let below = stack_pointer() < self.mine.guard.load(Ordering::Relaxed);
        (below | (level >= self.deepest.get())) && self.look_closer(level, name)
    }

    #[cold]
    #[inline(never)]
    fn look_closer(&self, level: u32, name: &'static str) -> bool {
        if level >= self.deepest.get() {
            self.deepest.set(level + 1);
            if level >= self.levels {
                self.run.fail(too_deep(name, self.levels));
                cancel();
            }
        }
        if stack_pointer() < self.end {
            self.run.fail(Error::spec(
                format!("`{name}` ran out of stack at level {level}"),
                "raise the policy's `stack`, or use smaller local variables in the function",
            ));
            cancel();
        }
        let guard = self.mine.guard.load(Ordering::Relaxed);
        if guard == ASKED && self.run.is_over() {
            cancel();
        }
        if self.run.deques.len() == 1 {
            self.set_guard(self.end);
            return false;
        }
        let top = self.top.get();
        if top < self.capacity() && (guard == ASKED || top < self.split.get() + self.keep.get()) {
            return true;
        }
        if guard == ASKED {
            self.publish(top, None);
        }
        self.set_guard(self.end);
        false
    }

    /// The guard from now on; that somebody asked is forgotten.
    pub(super) fn set_guard(&self, guard: usize) {
        self.mine.guard.store(guard, Ordering::Relaxed);
        // Pairs with the fence of `Shared::end`.
        fence(Ordering::SeqCst);
        if self.run.is_over() {
            self.mine.guard.store(ASKED, Ordering::Relaxed);
        }
    }

    /// The guard for as many private calls as there are now.
    pub(super) fn limit(&self) -> usize {
        let few = self.top.get() < self.capacity().min(self.split.get() + self.keep.get());
        if few && self.run.deques.len() > 1 { FEW } else { self.end }
    }

    /// The same, unless somebody asks.
    #[inline]
    pub(super) fn tune_guard(&self) {
        let guard = self.limit();
        let before = self.mine.guard.load(Ordering::Relaxed);
        if before != ASKED && before != guard {
            // A thief that asks meanwhile is not overruled.
            let order = Ordering::Relaxed;
            let _ = self.mine.guard.compare_exchange(before, guard, order, order);
        }
    }

    #[inline]
    pub(super) fn is_asked(&self) -> bool {
        self.mine.guard.load(Ordering::Relaxed) == ASKED
    }

    /// Puts `call` on the deque, which is not full.
    ///
    /// # Safety
    /// The call is settled or abandoned, as [`Frame`](super::Frame) does, before anything that it borrows ends.
    pub(super) unsafe fn push<C: Call>(&self, call: C, header: Header<Kind>) {
        let top = self.top.get();
        // SAFETY: slots from `top` on are this worker's and empty.
        unsafe { self.slot(top).fill(call, header) };
        self.top.set(top + 1);
        self.pushed(header.site.in_loop.then_some(header.frame));
    }

    /// The header of a call of `C` that a frame from `frame` on spawns.
    pub(super) fn header<C: Call>(frame: u32, level: u32, site: super::slot::Site) -> Header<Kind> {
        // There are at most 60,000 levels.
        Header { kind: KindOf::<C>::KIND, frame, level: level as u16, site }
    }

    /// Takes the newest call off the deque. Whether it is there; else it is stolen.
    pub(super) fn pop(&self) -> bool {
        let at = self.top.get() - 1;
        self.top.set(at);
        if at < self.split.get() {
            if !self.reclaim(at) {
                return false;
            }
        } else if self.is_asked() {
            self.publish(at, None);
        }
        self.tune_guard();
        true
    }
}

/// Marks what is rare, and keeps it out of the way.
#[doc(hidden)]
#[cold]
#[inline(never)]
pub fn cold<R>(rare: impl FnOnce() -> R) -> R {
    rare()
}

/// Leaves all calls of this worker.
pub(super) fn cancel() -> ! {
    resume_unwind(Box::new(Cancelled))
}
