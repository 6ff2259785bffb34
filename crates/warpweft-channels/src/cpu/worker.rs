//! A worker: its stack of jobs, what it gives of it, and what it does while it waits.

use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use super::job::Job;
use super::shared::{Cancelled, Shared};
use crate::combine::Combine;
use crate::report::Counts;
use crate::spawning::Spawning;
use crate::spec::too_deep;
use warpweft_core::cpu::Asked;
use warpweft_core::error::Error;

/// Bytes of a stack that are left to what is called by calls.
const RESERVE: usize = 256 << 10;
/// Looks for an answer before a request is taken back: some microseconds.
const PATIENCE: u32 = 1000;
/// Waits in vain before a worker sleeps, some tens of microseconds.
const SPINS: u32 = 4;
/// The longest that it sleeps. Its own are not woken: nobody would have to look who sleeps.
const SLEEP: Duration = Duration::from_micros(200);

/// Runs calls on one core.
pub struct Worker<'r> {
    run: &'r Shared,
    me: usize,
    jobs: &'r [Job],
    /// Jobs there are.
    top: usize,
    /// All below are given.
    first: usize,
    /// Of the call that runs, from 1 for roots.
    level: u32,
    deepest: u32,
    /// Where the stack may not reach.
    end: usize,
    calls: u64,
    given: u64,
    random: u64,
}

impl<'r> Worker<'r> {
    /// Worker `me` of `run`, on a thread with a stack of so many bytes, which is nearly empty.
    pub(super) fn new(run: &'r Shared, me: usize, stack: usize) -> Self {
        let here = 0u8;
        Self {
            run,
            me,
            jobs: &run.jobs[me],
            top: 0,
            first: 0,
            level: 0,
            deepest: 0,
            end: (&raw const here).addr().saturating_sub(stack - RESERVE),
            calls: 0,
            given: 0,
            random: 0x9e37_79b9_7f4a_7c15 ^ (me as u64 + 1),
        }
    }

    /// What it has counted.
    pub(super) fn counts(&self) -> Counts {
        Counts { calls: self.calls, given: self.given, levels: self.deepest }
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
                "raise the policy's `stack`, or keep less in the function's variables",
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

    /// Leaves `call` for later or for others, or runs it if no more can be kept.
    ///
    /// # Safety
    /// `target` is null, or it holds an output that nobody else uses until the job is settled or dropped.
    #[inline(always)]
    pub(super) unsafe fn push<C: Spawning, M: Combine<C::Output>>(
        &mut self,
        target: *mut C::Output,
        call: C,
    ) {
        let Some(job) = self.jobs.get(self.top) else {
            let value = self.call(call);
            if !target.is_null() {
                // SAFETY: by contract.
                unsafe { target.write(M::combine(target.read(), value)) };
            }
            return;
        };
        // SAFETY: places from `top` on are this worker's and empty.
        unsafe { job.fill::<C, M>(call, target, self.level + 1) };
        self.top += 1;
        if self.run.windows.is_asked(self.me) && !self.hear() {
            cancel();
        }
    }

    /// Runs the last job, or waits until it has been run; its value goes where it should.
    ///
    /// # Safety
    /// There is a job, and its target lives and is used by nobody else.
    #[inline(always)]
    pub(super) unsafe fn settle(&mut self) {
        let job = &self.jobs[self.top - 1];
        if job.is_own() {
            self.top -= 1;
            // SAFETY: the job is this worker's own again, off its stack; the rest is by contract.
            unsafe { (job.kind().own)(job, self) };
        } else {
            self.wait(job);
            self.drop_given();
            if self.run.is_over() {
                cancel();
            }
            // SAFETY: the job is done, so its value is there; the rest is by contract.
            unsafe { (job.kind().combine)(job) };
        }
    }

    /// As [`Worker::settle`], and the value goes nowhere.
    pub(super) fn settle_for_nobody(&mut self) {
        // SAFETY: the job is this worker's, and whoever has it leaves its target alone; then there is none.
        unsafe {
            self.jobs[self.top - 1].forget_target();
            self.settle();
        }
    }

    /// It has work from now on.
    pub(super) fn begin(&mut self) {
        self.run.windows.open(self.me);
    }

    /// Takes the last job off the stack, once nobody else uses it.
    pub(super) fn drop_last(&mut self) {
        let job = &self.jobs[self.top - 1];
        if job.is_own() {
            self.top -= 1;
            return;
        }
        // What the others do is of no use any more.
        self.run.end();
        while job.holder().is_some() {
            self.refuse();
            spin_loop();
        }
        self.drop_given();
    }

    fn drop_given(&mut self) {
        self.top -= 1;
        self.first = self.first.min(self.top);
    }

    /// Answers who asked, if anybody did. Whether the run goes on.
    #[cold]
    fn hear(&mut self) -> bool {
        match self.run.windows.take(self.me) {
            Asked::Nobody => true,
            Asked::Stopped => false,
            Asked::Worker(whom, level) => {
                let job = self.give(whom, level);
                self.run
                    .windows
                    .answer(whom, job.map(|job| std::ptr::from_ref(job).expose_provenance()));
                true
            }
        }
    }

    /// The same of a worker that has nothing it could give.
    fn refuse(&self) {
        if let Asked::Worker(whom, _) = self.run.windows.take(self.me) {
            self.run.windows.answer(whom, None);
        }
    }

    /// The oldest of its own jobs that is deeper than `level`, from now on `whom`'s.
    fn give(&mut self, whom: usize, level: u32) -> Option<&'r Job> {
        let jobs: &'r [Job] = &self.jobs[self.first..self.top];
        // Levels grow along the stack.
        // SAFETY: these places hold jobs.
        let from = jobs.partition_point(|job| unsafe { job.level() } <= level);
        let at = from + jobs[from..].iter().position(Job::is_own)?;
        jobs[at].give(whom);
        if at == 0 {
            self.first += 1;
        }
        self.given += 1;
        Some(&jobs[at])
    }

    /// Waits until `job`, which was given, is done, and meanwhile runs what is deeper than the present call.
    #[cold]
    fn wait(&mut self, job: &Job) {
        let mut vain = 0;
        while let Some(holder) = job.holder() {
            let go_on = self.hear();
            match go_on && self.help(holder, self.level, Some(job)) {
                true => vain = 0,
                false => vain = pause(vain),
            }
        }
    }

    /// Runs calls for others until the run is over.
    pub(super) fn serve(&mut self) {
        let mut vain = 0;
        while !self.run.is_over() {
            let others = self.run.windows.len() as u64 - 1;
            if others == 0 {
                return;
            }
            // Xorshift (Marsaglia, "Xorshift RNGs", 2003).
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            let other = (self.random % others) as usize;
            let other = other + usize::from(other >= self.me);
            match self.help(other, 0, None) {
                true => vain = 0,
                false => vain = pause(vain),
            }
        }
    }

    /// Asks `whom` for a job deeper than `level` and runs it. Whether there was one. A worker that waits for
    /// a job of its own answers others meanwhile, and gives up once that is done.
    fn help(&mut self, whom: usize, level: u32, waits: Option<&Job>) -> bool {
        let windows = &self.run.windows;
        if !windows.ask(whom, self.me, level) {
            return false;
        }
        let mut looks = 0;
        let given = loop {
            if let Some(given) = windows.answered(self.me) {
                break given;
            }
            if waits.is_some() {
                // Own jobs may be given; the answer to this worker's own request is another matter.
                self.hear();
            }
            looks += 1;
            let enough = looks > PATIENCE || waits.is_some_and(|job| job.holder().is_none());
            if enough && windows.withdraw(whom, self.me, level) {
                return false;
            }
            spin_loop();
        };
        let Some(given) = given else { return false };
        if waits.is_none() {
            // Not open before: it had nothing. Where the run is over the job ends at its first spawn.
            windows.open(self.me);
        }
        let job = std::ptr::with_exposed_provenance::<Job>(given);
        // SAFETY: whoever gave it keeps its place until it is finished.
        self.run_taken(unsafe { &*job });
        if waits.is_none()
            && let Asked::Worker(whom, _) = windows.close(self.me)
        {
            windows.answer(whom, None);
        }
        true
    }

    /// Runs a job that was given to this worker. Panics end here, as an error of the run.
    fn run_taken(&mut self, job: &Job) {
        let (level, top) = (self.level, self.top);
        // SAFETY: the job was given to this worker, who sees all of it.
        let kind = unsafe {
            self.level = job.level() - 1;
            job.kind()
        };
        // SAFETY: the same.
        let run = AssertUnwindSafe(|| unsafe { (kind.taken)(job, self) });
        if let Err(payload) = catch_unwind(run) {
            self.run.unwound(kind.name, payload.as_ref());
        }
        self.level = level;
        // A frame that unwinds while it goes leaves the rest of its jobs to whoever is below it.
        while self.top > top {
            self.drop_last();
        }
        job.finish();
    }
}

/// After so many waits in vain: a short one, later a sleep. Their number from now on.
fn pause(vain: u32) -> u32 {
    if vain < SPINS {
        (0..PATIENCE).for_each(|_| spin_loop());
    } else {
        let doubled = Duration::from_micros(10) * (1 << (vain - SPINS).min(5));
        std::thread::sleep(doubled.min(SLEEP));
    }
    vain + 1
}

/// Leaves all calls of this worker.
fn cancel() -> ! {
    resume_unwind(Box::new(Cancelled))
}
