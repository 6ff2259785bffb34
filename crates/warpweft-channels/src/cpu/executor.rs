//! Runs channels on the cores.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::frame::Frame;
use super::shared::Shared;
use super::site::Site;
use super::worker::{Kind, Worker};
use crate::executor::ChannelsExecutor;
use crate::policy::{CpuPolicy, Policy};
use crate::report::{Counts, report};
use crate::spawning::{Call, Spawning};
use crate::spec::Channels;
use warpweft_core::cpu::{self, Pool};
use warpweft_core::error::{Error, Result};
use warpweft_core::machine::Machine;
use warpweft_core::memory::filled;
use warpweft_core::report::Report;
use warpweft_core::run::Watch;
use warpweft_core::trace::Trace;

/// Calls on the cores of this process.
pub struct CpuExecutor {
    pool: Pool,
    shared: Shared<Kind>,
    policy: CpuPolicy,
    label: String,
    setup_seconds: f64,
}

impl CpuExecutor {
    /// On `threads` threads of the cores of `machine`.
    ///
    /// # Errors
    /// As [`CpuPolicy::check`]; as [`Pool::over`].
    pub fn new(machine: &Machine, threads: usize, policy: CpuPolicy) -> Result<Self> {
        let begin = Instant::now();
        policy.check()?;
        // A worker may run a call of another chain while half is in use: each has the policy's stack then.
        let pool = Pool::with_stack(&machine.cpu.cores, threads, 2 * policy.stack)?;
        let shared = Shared::new(threads, policy.deque_capacity)?;
        let label = machine.cpu.label(threads);
        Ok(Self { pool, shared, policy, label, setup_seconds: begin.elapsed().as_secs_f64() })
    }
}

impl<C: Spawning> ChannelsExecutor<C> for CpuExecutor {
    fn run(&mut self, channels: &Channels<C>) -> Result<(Vec<C::Output>, Report)> {
        self.run_watched(channels, &Watch::default(), None)
    }
}

impl CpuExecutor {
    /// As [`ChannelsExecutor::run`], until `watch` says to end: workers see that where they spawn next.
    pub(crate) fn run_watched<C: Spawning>(
        &mut self,
        channels: &Channels<C>,
        watch: &Watch<'_>,
        trace: Option<&Trace>,
    ) -> Result<(Vec<C::Output>, Report)> {
        channels.check()?;
        self.run_calls(channels.roots.iter().copied(), channels.levels, watch, trace)
    }

    /// The same of calls that may borrow.
    ///
    /// # Errors
    /// As [`ChannelsExecutor::run`].
    pub fn run_once<C: Call>(
        &mut self,
        channels: Channels<C>,
        watch: &Watch<'_>,
        trace: Option<&Trace>,
    ) -> Result<(Vec<C::Output>, Report)> {
        channels.check()?;
        self.run_calls(channels.roots.into_iter(), channels.levels, watch, trace)
    }

    fn run_calls<C: Call>(
        &mut self,
        calls: impl ExactSizeIterator<Item = C>,
        levels: u32,
        watch: &Watch<'_>,
        trace: Option<&Trace>,
    ) -> Result<(Vec<C::Output>, Report)> {
        let begin = Instant::now();
        let hint = "run fewer calls at once";
        let mut outputs = filled((0..calls.len()).map(|_| C::Output::default()), hint)?;
        let roots = calls.zip(&mut outputs);
        let roots = filled(roots.map(|(call, output)| Root { call, output }), hint)?;
        self.shared.begin();
        let setup = self.setup_seconds + begin.elapsed().as_secs_f64();
        let (counts, seconds) = self.run_roots(roots, levels, watch, trace)?;
        let policy = Policy::Cpu(self.policy).to_json();
        Ok((outputs, report(counts, vec![self.label.clone()], [seconds, setup], policy)))
    }

    /// Runs `roots`, whose calls are of so many levels. What was counted, and the seconds.
    fn run_roots<C: Call>(
        &self,
        roots: Vec<Root<'_, C>>,
        levels: u32,
        watch: &Watch<'_>,
        trace: Option<&Trace>,
    ) -> Result<(Counts, f64)> {
        let (shared, stack) = (&self.shared, self.policy.stack);
        let roots = Mutex::new(roots);
        let counts = Mutex::new(Counts::default());
        let start = Instant::now();
        let each = |thread: &cpu::Worker<'_>| {
            let worker = Worker::new(shared, thread.index, levels, stack, trace);
            if thread.index == 0 {
                let mut roots = roots.lock().unwrap_or_else(PoisonError::into_inner);
                let begin = worker.now();
                let run = AssertUnwindSafe(|| worker.roots(std::mem::take(&mut *roots)));
                let ended = catch_unwind(run);
                worker.record(C::NAME, begin);
                if let Err(payload) = ended {
                    shared.unwound(C::NAME, payload.as_ref());
                }
                shared.end();
            } else {
                worker.serve();
            }
            let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
            *counts = counts.and(worker.counts());
            Ok(())
        };
        let run = match watch.is_needed() {
            true => self.pool.run_watched(
                Watch::EVERY,
                &|| {
                    if watch.look() {
                        shared.fail(watch.interrupted());
                    }
                    // Workers must leave their frames in order, which they do by themselves.
                    false
                },
                each,
            ),
            false => self.pool.run(each),
        };
        run.map_err(|panic| bug(&panic.message))?;
        let seconds = start.elapsed().as_secs_f64();
        shared.outcome()?;
        Ok((counts.into_inner().unwrap_or_else(PoisonError::into_inner), seconds))
    }
}

/// A call of the spec, and where its value goes.
struct Root<'o, C: Call> {
    call: C,
    output: &'o mut C::Output,
}

impl<C: Call> Call for Root<'_, C> {
    type Output = ();
    const NAME: &'static str = C::NAME;

    fn forked(self, worker: &Worker<'_>, level: u32) {
        *self.output = self.call.forked(worker, level);
    }
}

impl Worker<'_> {
    /// Runs all `roots`.
    fn roots<'o, C: Call>(&self, roots: Vec<Root<'o, C>>) {
        let site = Site::<Root<'o, C>, 0, true>::default();
        let frame = Frame::new(self);
        for root in roots {
            self.count(1);
            match self.shares(0, C::NAME) {
                // SAFETY: it was asked just now; the one site of the frame outlives it.
                true => unsafe { site.push(&frame, root, 0) },
                false => self.call(root, 0),
            }
            if frame.is_full() {
                self.settle_roots(&frame, &site);
            }
        }
        self.settle_roots(&frame, &site);
    }

    fn settle_roots<C: Call>(&self, frame: &Frame<'_, '_>, site: &Site<C, 0, true>) {
        while frame.newest().is_some() {
            // SAFETY: the frame has one site, and pushed at this level.
            unsafe { site.settle(frame, 0) };
        }
    }
}

/// Panics of calls are caught; any other is a defect of this crate.
fn bug(message: &str) -> Error {
    Error::Device {
        stage: "running channels".into(),
        device: "the cores".into(),
        what: format!("a worker panicked: {message}"),
        hint: "please report this".into(),
    }
}
