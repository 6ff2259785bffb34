//! Runs channels on the cores.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::frame::Frame;
use super::shared::Shared;
use super::worker::{Kind, Worker};
use crate::combine::Store;
use crate::executor::ChannelsExecutor;
use crate::policy::{CpuPolicy, Policy};
use crate::report::{Counts, report};
use crate::spawning::Spawning;
use crate::spec::Channels;
use warpweft_core::cpu::{self, Pool};
use warpweft_core::error::{Error, Result};
use warpweft_core::machine::Machine;
use warpweft_core::memory::filled;
use warpweft_core::report::Report;
use warpweft_core::run::Watch;

/// Calls on the cores of this process.
pub struct CpuExecutor {
    pool: Pool,
    policy: CpuPolicy,
    label: String,
    setup_seconds: f64,
}

impl CpuExecutor {
    /// On the cores of `machine`.
    ///
    /// # Errors
    /// As [`CpuPolicy::check`]; no threads to be had.
    pub fn new(machine: &Machine, policy: CpuPolicy) -> Result<Self> {
        let begin = Instant::now();
        policy.check()?;
        let pool = Pool::with_stack(&machine.cpu.cores, policy.threads, policy.stack)?;
        let label = machine.cpu.label(policy.threads);
        Ok(Self { pool, policy, label, setup_seconds: begin.elapsed().as_secs_f64() })
    }
}

impl<C: Spawning> ChannelsExecutor<C> for CpuExecutor {
    fn run(&mut self, channels: &Channels<C>) -> Result<(Vec<C::Output>, Report)> {
        self.run_watched(channels, &Watch::default())
    }
}

impl CpuExecutor {
    /// As [`ChannelsExecutor::run`], until `watch` says to end: workers see that where they spawn next.
    pub(crate) fn run_watched<C: Spawning>(
        &mut self,
        channels: &Channels<C>,
        watch: &Watch<'_>,
    ) -> Result<(Vec<C::Output>, Report)> {
        let begin = Instant::now();
        channels.check()?;
        let CpuPolicy { threads, deque_capacity, stack } = self.policy;
        let shared = Shared::new(threads, deque_capacity, channels.levels, &Kind::NONE)?;
        let hint = "run fewer calls at once";
        let none = channels.roots.iter().map(|_| C::Output::default());
        let outputs = Mutex::new(filled(none, hint)?);
        let counts = Mutex::new(Counts::default());
        let setup = self.setup_seconds + begin.elapsed().as_secs_f64();
        let start = Instant::now();
        let each = |thread: &cpu::Worker<'_>| {
            let mut worker = Worker::new(&shared, thread.index, stack);
            if thread.index == 0 {
                let mut outputs = outputs.lock().unwrap_or_else(PoisonError::into_inner);
                let roots = || worker.roots(&channels.roots, &mut outputs);
                if let Err(payload) = catch_unwind(AssertUnwindSafe(roots)) {
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
        let outputs = outputs.into_inner().unwrap_or_else(PoisonError::into_inner);
        let counts = counts.into_inner().unwrap_or_else(PoisonError::into_inner);
        let policy = Policy::Cpu(self.policy).to_json();
        Ok((outputs, report(counts, vec![self.label.clone()], [seconds, setup], policy)))
    }
}

impl Worker<'_> {
    /// Runs all `roots`, with their values into `outputs`.
    fn roots<C: Spawning>(&mut self, roots: &[C], outputs: &mut [C::Output]) {
        self.begin();
        let mut frame = Frame::new(self);
        for (&call, output) in roots.iter().zip(outputs) {
            // SAFETY: the outputs outlive the frame, and each is one call's.
            unsafe { frame.spawn::<C, Store>(output, call) };
        }
        frame.sync();
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
