//! Stealing: what a worker gives when another requests a call, and what it does while it waits or has nothing.

use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::job::Job;
use super::worker::{Kind, Worker};
use warpweft_core::cpu::Request;

/// Looks for a reply before a request is withdrawn: some microseconds.
const PATIENCE: u32 = 1000;
/// Failed attempts before a worker sleeps: some tens of microseconds.
const SPINS: u32 = 4;
/// The longest sleep. Nobody wakes a worker: a victim would have to know which worker sleeps.
const SLEEP: Duration = Duration::from_micros(200);

impl<'r> Worker<'r> {
    /// It has work from now on.
    pub(super) fn begin(&mut self) {
        self.run.mailboxes.open(self.me);
    }

    /// Takes the last job off the deque, once nobody else uses it.
    pub(super) fn drop_last(&mut self) {
        let job = &self.deque[self.top - 1];
        if job.is_own() {
            self.top -= 1;
            // SAFETY: the job is this worker's own, off its deque, and holds its call.
            unsafe { (job.kind().discard)(job) };
            return;
        }
        // What the other workers do is of no use any more.
        self.run.end();
        while job.thief().is_some() {
            self.refuse();
            spin_loop();
        }
        self.drop_stolen();
    }

    /// Replies to a steal request, if there is one. Whether the run goes on.
    #[cold]
    pub(super) fn reply_to_request(&mut self) -> bool {
        match self.run.mailboxes.take_request(self.me) {
            Request::None => true,
            Request::Stopped => false,
            Request::From(thief, level) => {
                let job = self.give(thief, level);
                let job = job.map(|job| std::ptr::from_ref(job).expose_provenance());
                self.run.mailboxes.reply(thief, job);
                true
            }
        }
    }

    /// The same of a worker that has nothing to give.
    fn refuse(&self) {
        if let Request::From(thief, _) = self.run.mailboxes.take_request(self.me) {
            self.run.mailboxes.reply(thief, None);
        }
    }

    /// The oldest of its own jobs that is deeper than `level`, from now on the thief's.
    fn give(&mut self, thief: usize, level: u32) -> Option<&'r Job<Kind>> {
        let jobs: &'r [Job<Kind>] = &self.deque[self.first..self.top];
        // Levels grow along the deque.
        // SAFETY: these places hold jobs.
        let from = jobs.partition_point(|job| unsafe { job.level() } <= level);
        let at = from + jobs[from..].iter().position(Job::is_own)?;
        jobs[at].give(thief);
        if at == 0 {
            self.first += 1;
        }
        self.stolen += 1;
        Some(&jobs[at])
    }

    /// Waits until `job`, which is stolen, is done, and meanwhile runs what is deeper than the present call.
    #[cold]
    pub(super) fn wait(&mut self, job: &Job<Kind>) {
        let mut failed = 0;
        while let Some(thief) = job.thief() {
            let go_on = self.reply_to_request();
            match go_on && self.steal(thief, self.level, Some(job)) {
                true => failed = 0,
                false => failed = pause(failed),
            }
        }
    }

    /// Runs stolen calls until the run is over.
    pub(super) fn serve(&mut self) {
        let mut failed = 0;
        while !self.run.is_over() {
            let others = self.run.mailboxes.workers() as u64 - 1;
            if others == 0 {
                return;
            }
            // Xorshift (Marsaglia, "Xorshift RNGs", 2003).
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            let victim = (self.random % others) as usize;
            let victim = victim + usize::from(victim >= self.me);
            match self.steal(victim, 0, None) {
                true => failed = 0,
                false => failed = pause(failed),
            }
        }
    }

    /// Requests a job deeper than `level` from `victim` and runs it. Whether there was one. A worker that waits for
    /// a job of its own replies to requests meanwhile, and gives up once that job is done.
    fn steal(&mut self, victim: usize, level: u32, waits: Option<&Job<Kind>>) -> bool {
        let mailboxes = &self.run.mailboxes;
        if !mailboxes.request(victim, self.me, level) {
            return false;
        }
        let mut looks = 0;
        let stolen = loop {
            if let Some(stolen) = mailboxes.poll_reply(self.me) {
                break stolen;
            }
            if waits.is_some() {
                // Own jobs may be given; the reply to this worker's own request is another matter.
                self.reply_to_request();
            }
            looks += 1;
            let enough = looks > PATIENCE || waits.is_some_and(|job| job.thief().is_none());
            if enough && mailboxes.withdraw(victim, self.me, level) {
                return false;
            }
            spin_loop();
        };
        let Some(stolen) = stolen else { return false };
        if waits.is_none() {
            // Not open before: it had nothing. Where the run is over the job ends at its first spawn.
            mailboxes.open(self.me);
        }
        let job = std::ptr::with_exposed_provenance::<Job<Kind>>(stolen);
        // SAFETY: the victim keeps its place until it is finished.
        self.run_stolen(unsafe { &*job });
        if waits.is_none()
            && let Request::From(thief, _) = mailboxes.close(self.me)
        {
            mailboxes.reply(thief, None);
        }
        true
    }

    /// Runs a job that this worker has stolen. Panics end here, as an error of the run.
    fn run_stolen(&mut self, job: &Job<Kind>) {
        let (level, top) = (self.level, self.top);
        // SAFETY: this worker has stolen the job and sees all of it.
        let kind = unsafe {
            self.level = job.level() - 1;
            job.kind()
        };
        // SAFETY: the same.
        let run = AssertUnwindSafe(|| unsafe { (kind.stolen)(job, self) });
        if let Err(payload) = catch_unwind(run) {
            self.run.unwound(kind.name, payload.as_ref());
        }
        self.level = level;
        // A frame that unwinds while it is dropped leaves the rest of its jobs to the caller below it.
        while self.top > top {
            self.drop_last();
        }
        job.finish();
    }
}

/// After so many failed attempts: a short wait, later a sleep. Returns their number from now on.
fn pause(failed: u32) -> u32 {
    if failed < SPINS {
        (0..PATIENCE).for_each(|_| spin_loop());
    } else {
        let doubled = Duration::from_micros(10) * (1 << (failed - SPINS).min(5));
        std::thread::sleep(doubled.min(SLEEP));
    }
    failed + 1
}
