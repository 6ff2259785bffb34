//! Runs channels on one GPU: calls in, one cooperative launch, their values out.

use std::time::{Duration, Instant};

use super::lent::Lent;
use super::tasks::{Calls, Counted, Tasks};
use crate::borrowing::Borrowing;
use crate::executor::ChannelsExecutor;
use crate::policy::{Policy, StacksPolicy, too_many_wait};
use crate::report::{Counts, TimeShares, report};
use crate::spawning::{DeviceCall, Spawning};
use crate::spec::Channels;
use warpweft_core::cuda::{Device, Event, Stream, Watchdog};
use warpweft_core::error::{Error, Result};
use warpweft_core::report::Report;
use warpweft_core::run::{Ending, Watch};
use warpweft_core::trace::Trace;

/// How long all warps may wait for one another.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a run may take in all.
const LIMIT: Duration = Duration::from_secs(24 * 3600);
/// How often the timeline gets how many warps wait.
const SAMPLES: Duration = Duration::from_millis(1);
/// The status of a run that the host ended.
const STOPPED: u32 = 3;
/// What to do about a kernel that stands still.
const DEFECT: &str =
    "this is a defect of the kernel: please report it with the command and its policy";
/// The status of a run whose calls are all done.
const DONE: u32 = 255;

/// Calls on one GPU.
pub struct CudaExecutor {
    device: Device,
    stream: Stream,
    watchdog: Watchdog,
    policy: StacksPolicy,
}

impl CudaExecutor {
    /// On `device`.
    ///
    /// # Errors
    /// As [`StacksPolicy::check`]; the driver's.
    pub fn new(device: &Device, policy: StacksPolicy) -> Result<Self> {
        policy.check()?;
        Ok(Self {
            device: *device,
            stream: Stream::new(device)?,
            watchdog: Watchdog::new(device, PATIENCE)?,
            policy,
        })
    }
}

impl<C: Spawning> ChannelsExecutor<C> for CudaExecutor {
    fn run(&mut self, channels: &Channels<C>) -> Result<(Vec<C::Output>, Report)> {
        self.run_watched(channels, &Watch::default(), None)
    }
}

impl CudaExecutor {
    /// As [`ChannelsExecutor::run`] of calls as a GPU has them, until `watch` says to end: the host then sets the word by which warps tell one
    /// another that the run is over, which each of them reads every few steps.
    pub(crate) fn run_watched<C: DeviceCall>(
        &mut self,
        channels: &Channels<C>,
        watch: &Watch<'_>,
        trace: Option<&Trace>,
    ) -> Result<(Vec<C::Value>, Report)> {
        let begin = Instant::now();
        channels.check()?;
        const {
            assert!(
                <C::Value as warpweft_core::element::DeviceType>::ALIKE,
                "a tuple whose members Rust and C++ order differently; return a struct with #[derive(Device)]"
            );
        }
        let (mut outputs, calls) = (Vec::new(), Calls::of(channels));
        let report = self.run_calls(&calls, (watch, trace, begin), &mut |tasks, stream| {
            outputs = tasks.outputs::<C>(stream, channels.roots.len())?;
            Ok(())
        })?;
        Ok((outputs, report))
    }

    /// The same of calls as bytes, whose values `take` fetches; the run began at `begin`.
    fn run_calls(
        &mut self,
        calls: &Calls<'_>,
        (watch, trace, begin): (&Watch<'_>, Option<&Trace>, Instant),
        take: &mut dyn FnMut(&Tasks, &Stream) -> Result<()>,
    ) -> Result<Report> {
        let mut tasks = Tasks::of(&self.device, &self.stream, self.policy, calls)?;
        let (device, stream) = (&self.device, &self.stream);
        let (start, end) = (Event::new(device)?, Event::new(device)?);
        let launched = Instant::now();
        tasks.launch(stream, &self.watchdog, calls, &start)?;
        stream.record(&end)?;
        self.wait(&tasks, calls.name, (watch, trace))?;
        if let Some(trace) = trace {
            trace.add(device.label(), calls.name, launched);
        }
        let seconds = start.seconds_until(&end)?;
        let (status, counted) = tasks.ended(stream)?;
        if tasks.unit.faults() {
            let fault: u32 = tasks.module.global("ww_fault")?.read(stream)?;
            if fault != 0 {
                tasks.module.global("ww_fault")?.write(stream, 0u32)?;
                return Err(tasks.unit.fault(fault, device.label()));
            }
        }
        match status {
            DONE => {}
            STOPPED => return Err(watch.interrupted()),
            1 => return Err(too_many_wait(calls.name, tasks.pool_mib())),
            code => return Err(self.ended_with(code)),
        }
        take(&tasks, stream)?;
        // Uploads and fills are queued: they are over when the kernel is.
        let setup = begin.elapsed().as_secs_f64() - seconds;
        let report = reported(&tasks, counted, device, [seconds, setup]);
        tasks.keep();
        Ok(report)
    }

    /// Waits until the kernel has ended, or `watch` says that it is to. A timeline gets how many warps wait for work.
    fn wait(
        &self,
        tasks: &Tasks,
        name: &str,
        (watch, trace): (&Watch<'_>, Option<&Trace>),
    ) -> Result<()> {
        let device = &self.device;
        // Made when it is needed: a run of microseconds needs none.
        let (mut second, mut ending, mut sampled) = (None, Ending::default(), Instant::now());
        let mut look = || {
            let second = match &second {
                Some(second) => second,
                None => second.insert(Stream::new(device)?),
            };
            if let Some(trace) = trace.filter(|_| sampled.elapsed() >= SAMPLES) {
                sampled = Instant::now();
                let [_, waiting] = tasks.warps_now(second)?;
                trace.level("warps that wait for work", f64::from(waiting));
            }
            let Some(since) = ending.look(watch, || tasks.end(second, STOPPED))? else {
                return Ok(());
            };
            let [live, waiting] = tasks.warps_now(second)?;
            let state = format!("{live} warps have calls of `{name}`, {waiting} wait for work");
            Err(Ending::overdue("ending channels", device.label(), since, &state))
        };
        let waited = self.watchdog.wait_while(&self.stream, LIMIT, &mut look);
        waited.map_err(|error| self.stuck(error))
    }

    /// The same of calls that borrow, which get their slices back if all goes well. The inner error is one of copying back: some
    /// slices may have changed then.
    pub(crate) fn run_borrowing<C: Borrowing>(
        &mut self,
        channels: &mut Channels<C>,
        watch: &Watch<'_>,
        trace: Option<&Trace>,
    ) -> Result<Result<(Vec<C::Output>, Report)>> {
        let begin = Instant::now();
        let stream = Stream::new(&self.device)?;
        let mut memory = Lent::new(&stream);
        let roots = channels.roots.iter().map(|call| call.lend(&mut memory));
        let roots = roots.collect::<Result<Vec<_>>>()?;
        let there = begin.elapsed().as_secs_f64();
        let device = self.device;
        let traced = |what: &str, from| {
            if let Some(trace) = trace {
                trace.add(device.label(), what, from);
            }
        };
        traced("slices to the GPU", begin);
        let lent = Channels { roots, levels: channels.levels, children: channels.children };
        let (outputs, mut report) = self.run_watched(&lent, watch, trace)?;
        let begin = Instant::now();
        let taken = channels.roots.iter_mut().try_for_each(|call| call.take_back(&mut memory));
        if let Err(error) = taken {
            return Ok(Err(error));
        }
        let back = begin.elapsed().as_secs_f64();
        traced("slices back", begin);
        report.setup_seconds += there;
        let [to, from] = memory.bytes().map(|bytes| bytes as f64 / f64::from(1 << 20));
        report.notes.push(format!(
            "slices: {to:.1} MiB to the GPU in {:.1} ms, {from:.1} MiB back in {:.1} ms",
            there * 1e3,
            back * 1e3
        ));
        Ok(Ok((outputs, report)))
    }

    /// Why all warps wait, if that is why the run ended.
    fn stuck(&self, error: Error) -> Error {
        let Some(stuck) = self.watchdog.stuck() else { return error };
        Error::Device {
            stage: "running channels".into(),
            device: self.device.label().into(),
            what: format!(
                "warp {} waits for word {} and sees {}; no warp runs, {} have work",
                stuck.other, stuck.wanted, stuck.seen, stuck.flag
            ),
            hint: DEFECT.into(),
        }
    }

    fn ended_with(&self, code: u32) -> Error {
        Error::Device {
            stage: "running channels".into(),
            device: self.device.label().into(),
            what: format!("the kernel ended with status {code}"),
            hint: "please report this with the command and its policy".into(),
        }
    }
}

/// The report of a run of so many seconds, and of its setup.
fn reported(tasks: &Tasks, counted: Counted, device: &Device, seconds: [f64; 2]) -> Report {
    let counts = Counts { calls: counted.calls, stolen: counted.given, steals: 0, levels: 0 };
    let devices = vec![device.label().to_string()];
    let policy = Policy::Stacks(tasks.policy).to_json();
    let mut report = report(counts, devices, seconds, policy);
    let mean = counted.calls as f64 / counted.steps.max(1) as f64;
    let values = match tasks.proof {
        Some(_) => "one sum over all calls",
        None => "calls wait for values",
    };
    report.notes.push(format!(
            "{values}: {mean:.1} calls a step of 32 lanes, {} rounds of work sharing, {} waiting calls in GPU memory",
            counted.rounds, counted.spilled
        ));
    report.notes.extend(TimeShares::of(counted.cycles).map(|shares| shares.to_string()));
    report
}
