//! A worker: its deque of spawned calls, and how it runs them. How calls are stolen is in `steal`.

use std::panic::resume_unwind;

use super::job::Job;
use super::shared::{Cancelled, Shared};
use crate::combine::Combine;
use crate::policy::too_deep;
use crate::report::Counts;
use crate::spawning::Spawning;
use warpweft_core::error::Error;

/// Bytes of a stack that are left to what is called by calls.
const RESERVE: usize = 256 << 10;

/// Runs calls on one core.
pub struct Worker<'r> {
    pub(super) run: &'r Shared<Kind>,
    pub(super) me: usize,
    pub(super) deque: &'r [Job<Kind>],
    /// Jobs in the deque.
    pub(super) top: usize,
    /// All jobs below are stolen.
    pub(super) first: usize,
    /// Of the call that runs, from 1 for roots.
    pub(super) level: u32,
    deepest: u32,
    /// Where the stack may not reach.
    end: usize,
    calls: u64,
    pub(super) stolen: u64,
    pub(super) random: u64,
}

/// How to run a job, for one type of call and one way to combine its value.
///
/// # Safety
/// Its functions are for jobs that were filled with this kind, once each, under what they say further.
pub(super) struct Kind {
    /// Runs it here and combines its value: the job is the worker's own and holds its call; its target lives,
    /// and nobody else uses it.
    pub own: unsafe fn(&Job<Kind>, &mut Worker<'_>),
    /// Runs it here and leaves its value in the job, which holds its call and was stolen by this worker.
    pub stolen: unsafe fn(&Job<Kind>, &mut Worker<'_>),
    /// Combines the value that a thief left: the job is its owner's again and holds it; its target lives, and
    /// nobody else uses it.
    pub combine: unsafe fn(&Job<Kind>),
    /// Drops its call, which nobody has run: the job is the worker's own and holds it.
    pub discard: unsafe fn(&Job<Kind>),
    /// The function's name.
    pub name: &'static str,
}

impl Kind {
    /// Of places without a job: nobody runs it, since places are filled before they are used.
    pub const NONE: Self = {
        unsafe fn run(_: &Job<Kind>, _: &mut Worker<'_>) {}
        unsafe fn end(_: &Job<Kind>) {}
        Self { own: run, stolen: run, combine: end, discard: end, name: "" }
    };
}

struct Kinds<C, M>(std::marker::PhantomData<(C, M)>);

impl<C: Spawning, M: Combine<C::Output>> Kinds<C, M> {
    const KIND: Kind = Kind {
        own: own::<C, M>,
        stolen: stolen::<C>,
        combine: combine::<C, M>,
        discard: discard::<C>,
        name: C::NAME,
    };
}

/// # Safety
/// `job` holds a call of `C` and is the worker's own; its target lives and nobody else uses it.
unsafe fn own<C: Spawning, M: Combine<C::Output>>(job: &Job<Kind>, worker: &mut Worker<'_>) {
    // SAFETY: by contract. Both are copied out before the call, which uses the place again.
    let (call, target) = unsafe { (job.take::<C>(), job.target()) };
    let value = worker.call(call);
    // SAFETY: the target lives until the frame that spawned the call is synced, which is what runs this.
    unsafe { deliver::<C, M>(target, value) };
}

/// # Safety
/// `job` holds a call of `C` that this worker has stolen.
unsafe fn stolen<C: Spawning>(job: &Job<Kind>, worker: &mut Worker<'_>) {
    // SAFETY: by contract.
    let call = unsafe { job.take::<C>() };
    let value = worker.call(call);
    // SAFETY: the job is this worker's until it is finished, and its call was taken out.
    unsafe { job.put::<C::Output>(value) };
}

/// # Safety
/// `job` holds the value of a call of `C`, and is its owner's again; its target lives and nobody else uses it.
unsafe fn combine<C: Spawning, M: Combine<C::Output>>(job: &Job<Kind>) {
    // SAFETY: by contract.
    unsafe { deliver::<C, M>(job.target(), job.take::<C::Output>()) };
}

/// # Safety
/// `job` holds a call of `C` and is the worker's own.
unsafe fn discard<C: Spawning>(job: &Job<Kind>) {
    // SAFETY: by contract.
    unsafe { job.take::<C>() };
}

/// # Safety
/// `target` is null, or holds an output that nobody else uses.
#[inline(always)]
unsafe fn deliver<C: Spawning, M: Combine<C::Output>>(target: *mut (), value: C::Output) {
    let target = target.cast::<C::Output>();
    if !target.is_null() {
        // SAFETY: by contract.
        unsafe { target.write(M::combine(target.read(), value)) };
    }
}

impl<'r> Worker<'r> {
    /// Worker `me` of `run`, on a thread with a stack of so many bytes, which is nearly empty.
    pub(super) fn new(run: &'r Shared<Kind>, me: usize, stack: usize) -> Self {
        let here = 0u8;
        Self {
            run,
            me,
            deque: &run.deques[me],
            top: 0,
            first: 0,
            level: 0,
            deepest: 0,
            end: (&raw const here).addr().saturating_sub(stack - RESERVE),
            calls: 0,
            stolen: 0,
            random: 0x9e37_79b9_7f4a_7c15 ^ (me as u64 + 1),
        }
    }

    /// What it has counted.
    pub(super) fn counts(&self) -> Counts {
        Counts { calls: self.calls, stolen: self.stolen, levels: self.deepest }
    }

    /// Runs `call` here and now.
    #[inline(always)]
    pub fn call<C: Spawning>(&mut self, call: C) -> C::Output {
        let here = 0u8;
        let here = (&raw const here).addr();
        self.level += 1;
        if self.level > self.deepest || here < self.end {
            self.descend(C::NAME, here);
        }
        self.calls += 1;
        let value = call.forked(self);
        self.level -= 1;
        value
    }

    /// It has not been as deep before, or has too little stack left.
    #[cold]
    fn descend(&mut self, name: &str, here: usize) {
        if self.level > self.run.levels {
            self.run.fail(too_deep(name, self.run.levels));
            cancel();
        }
        if here < self.end {
            self.run.fail(Error::spec(
                format!("`{name}` has used a thread's stack at level {}", self.level),
                "raise the policy's `stack`, or use less in the function's variables",
            ));
            cancel();
        }
        self.deepest = self.level.max(self.deepest);
    }

    /// How many jobs it has.
    #[inline(always)]
    pub(super) fn top(&self) -> usize {
        self.top
    }

    /// Puts `call` into the deque, or runs it if the deque is full.
    ///
    /// # Safety
    /// `target` is null, or it holds an output that nobody else uses until the job is settled or dropped.
    #[inline(always)]
    pub(super) unsafe fn push<C: Spawning, M: Combine<C::Output>>(
        &mut self,
        target: *mut C::Output,
        call: C,
    ) {
        let Some(job) = self.deque.get(self.top) else {
            let value = self.call(call);
            // SAFETY: by contract.
            unsafe { deliver::<C, M>(target.cast(), value) };
            return;
        };
        // SAFETY: places from `top` on are this worker's and empty.
        unsafe { job.fill(call, target.cast(), &Kinds::<C, M>::KIND, self.level + 1) };
        self.top += 1;
        if self.run.mailboxes.has_request(self.me) && !self.reply_to_request() {
            cancel();
        }
    }

    /// Runs the last job, or waits until its thief has run it; its value goes to its target.
    ///
    /// # Safety
    /// There is a job, and its target lives and is used by nobody else.
    #[inline(always)]
    pub(super) unsafe fn settle(&mut self) {
        let job = &self.deque[self.top - 1];
        if job.is_own() {
            self.top -= 1;
            // SAFETY: the job is this worker's own again, off its deque; the rest is by contract.
            unsafe { (job.kind().own)(job, self) };
        } else {
            self.wait(job);
            self.drop_stolen();
            if self.run.is_over() {
                cancel();
            }
            // SAFETY: the job is done, so its value is there; the rest is by contract.
            unsafe { (job.kind().combine)(job) };
        }
    }

    /// As [`Worker::settle`], and the value goes nowhere.
    pub(super) fn settle_without_target(&mut self) {
        // SAFETY: the job is this worker's, and its thief leaves its target alone; then there is none.
        unsafe {
            self.deque[self.top - 1].forget_target();
            self.settle();
        }
    }

    /// Takes the last, stolen job off the deque.
    pub(super) fn drop_stolen(&mut self) {
        self.top -= 1;
        self.first = self.first.min(self.top);
    }
}

/// Leaves all calls of this worker.
fn cancel() -> ! {
    resume_unwind(Box::new(Cancelled))
}
