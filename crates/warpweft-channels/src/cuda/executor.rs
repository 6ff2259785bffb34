//! Runs channels on one GPU: calls in, one cooperative launch, their values out.

use std::time::{Duration, Instant};

use super::launch::{Buffers, Counted, Shape};
use super::plan::{Plan, Sizes};
use super::sums::Sums;
use super::text::{WARPS, options, source};
use crate::executor::ChannelsExecutor;
use crate::policy::{Policy, StacksPolicy, too_deep, too_many_wait};
use crate::report::{Counts, report};
use crate::spawning::Spawning;
use crate::spec::Channels;
use warpweft_core::cuda::{Device, Event, Kernel, Module, Stream, Watchdog, compile};
use warpweft_core::element::Unit;
use warpweft_core::error::{Error, Result};
use warpweft_core::report::Report;
use warpweft_core::run::Watch;

/// How long all warps may wait for one another.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a run may take in all.
const LIMIT: Duration = Duration::from_secs(24 * 3600);
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

/// A compiled kernel and the shape of its launch.
struct Prepared {
    module: Module,
    kernel: Kernel,
    unit: Unit,
    shape: Shape,
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

    /// Compiles the kernel for `channels`, with stacks in shared memory if they fit, and plans its launch.
    fn prepare<C: Spawning>(&self, channels: &Channels<C>) -> Result<Prepared> {
        let device = &self.device;
        let load = |shared: bool| {
            let (text, unit) = source::<C>(shared)?;
            let cubin = compile(&text, C::NAME, &device.arch()?, &options())?;
            Ok::<_, Error>((Module::load(device, &cubin)?, unit))
        };
        let (mut module, mut unit) = load(true)?;
        let sizes: [u32; 6] = module.global("ww_sizes")?.read(&self.stream)?;
        let sizes = Sizes::of(sizes, channels.children);
        let room = device.shared_memory()?.sm as u64;
        let plan = Plan::new(sizes, channels.levels, &self.joins(), room)?;
        if !plan.shared {
            (module, unit) = load(false)?;
        }
        let kernel = module.kernel("channels_stacks")?;
        let stack = plan.stack_words(sizes) * 4;
        let shared = if plan.shared { stack as u32 * WARPS } else { 0 };
        kernel.allow_shared(shared)?;
        let blocks = self.blocks(&kernel, plan.warps, shared)?;
        Ok(Prepared { module, kernel, unit, shape: Shape { plan, sizes, blocks, shared } })
    }

    /// Blocks of the launch, all of which are resident at once.
    fn blocks(&self, kernel: &Kernel, warps: u32, shared: u32) -> Result<u32> {
        let fitting = kernel.blocks_per_sm(32 * WARPS, shared)?;
        if fitting == 0 {
            return Err(Error::Device {
                stage: "planning".into(),
                device: self.device.label().into(),
                what: format!(
                    "no block of {} threads and {shared} bytes of shared memory fits an SM",
                    32 * WARPS
                ),
                hint: "give the policy smaller stacks".into(),
            });
        }
        let all = fitting.min((warps / WARPS).max(1)) * self.device.sms()?;
        Ok(match self.policy.blocks {
            0 => all,
            blocks => all.min(blocks),
        })
    }

    /// Why all warps wait, if that is why the run ended.
    fn stuck(&self, error: Error) -> Error {
        let Some(stuck) = self.watchdog.stuck() else { return error };
        let waits = match stuck.wanted {
            0 => "waits for its frames".to_string(),
            path if path % 2 == 0 => {
                format!(
                    "has {} free frames and needs {} for a path to the last level",
                    stuck.seen,
                    path / 2
                )
            }
            wanted => format!("waits for word {wanted} of a slot that has {}", stuck.seen),
        };
        Error::Device {
            stage: "running channels".into(),
            device: self.device.label().into(),
            what: format!(
                "warp {} {waits}, with {} waiting calls; no warp runs",
                stuck.flag, stuck.other
            ),
            hint: DEFECT.into(),
        }
    }

    /// The error that the kernel's status stands for.
    fn failed(&self, status: u32, unit: &Unit, [levels, children]: [u32; 2]) -> Error {
        let functions = unit.numbered();
        let name = functions.get((status >> 8) as usize).map_or("a call", |name| name);
        let name = name.trim_end_matches("_ww");
        match status & 0xff {
            1 => too_deep(name, levels),
            2 => Error::spec(
                format!("`{name}` spawned more than {children} calls in loops before it waited"),
                "allow more with `children`",
            ),
            code => self.ended_with(code),
        }
    }

    /// Fails if a call faulted or the kernel ended before all calls were done.
    fn check<C: Spawning>(
        &self,
        prepared: &Prepared,
        buffers: &Buffers,
        channels: &Channels<C>,
    ) -> Result<()> {
        let Prepared { module, unit, .. } = prepared;
        if unit.faults() {
            let fault: u32 = module.global("ww_fault")?.read(&self.stream)?;
            if fault != 0 {
                module.global("ww_fault")?.write(&self.stream, 0u32)?;
                return Err(unit.fault(fault, self.device.label()));
            }
        }
        match buffers.status(&self.stream)? {
            DONE => Ok(()),
            status => Err(self.failed(status, unit, [channels.levels, channels.children])),
        }
    }

    fn report(&self, counted: &Counted, shape: &Shape, seconds: [f64; 2]) -> Report {
        let Counted { calls, stolen, steps, lanes, levels, moved, rounds } = *counted;
        let (plan, warps) = (shape.plan, shape.warps());
        let policy = Policy::Stacks(StacksPolicy {
            warps: plan.warps,
            blocks: shape.blocks,
            items: plan.items,
            depth: plan.depth,
            shared: plan.shared,
            frames: plan.frames,
            ring: plan.ring,
            ..self.joins()
        });
        let counts = Counts { calls, stolen, steals: 0, levels: levels as u32 };
        let devices = vec![self.device.label().to_string()];
        let mut report = report(counts, devices, seconds, policy.to_json());
        let mean = lanes as f64 / steps.max(1) as f64;
        report.notes.push(format!(
            "{mean:.1} of 32 lanes busy over {steps} steps of {warps} warps in {rounds} rounds of work sharing, \
             {moved} calls moved from stacks"
        ));
        report
    }
}

impl<C: Spawning> ChannelsExecutor<C> for CudaExecutor {
    fn run(&mut self, channels: &Channels<C>) -> Result<(Vec<C::Output>, Report)> {
        self.run_watched(channels, &Watch::default())
    }
}

impl CudaExecutor {
    /// As [`ChannelsExecutor::run`], until `watch` says to end: the host then sets the word by which warps tell one
    /// another that the run is over, which each of them reads every few steps.
    pub(crate) fn run_watched<C: Spawning>(
        &mut self,
        channels: &Channels<C>,
        watch: &Watch<'_>,
    ) -> Result<(Vec<C::Output>, Report)> {
        let begin = Instant::now();
        channels.check_for_gpus()?;
        const {
            assert!(
                <C::Output as warpweft_core::element::DeviceType>::ALIKE,
                "a tuple whose members Rust and C++ order differently; return a struct with #[derive(Device)]"
            );
        }
        if let Some(sums) = Sums::of(&self.device, &self.stream, self.policy, channels)? {
            return self.run_sums(sums, channels, watch, begin);
        }
        let (device, stream) = (&self.device, &self.stream);
        let prepared = self.prepare(channels)?;
        let Prepared { kernel, shape, .. } = &prepared;
        let buffers = Buffers::new(device, stream, shape, channels)?;
        let (start, end) = (Event::new(device)?, Event::new(device)?);
        stream.synchronize()?;
        let setup = begin.elapsed().as_secs_f64();

        stream.record(&start)?;
        buffers.launch((kernel, stream, &self.watchdog), shape, &self.joins(), channels)?;
        stream.record(&end)?;
        let (second, mut stopped) = (Stream::new(device)?, false);
        let mut look = || {
            if !stopped && watch.is_needed() && watch.look() {
                stopped = true;
                buffers.end(&second, STOPPED)?;
            }
            Ok(())
        };
        let waited = self.watchdog.wait_while(stream, LIMIT, &mut look);
        waited.map_err(|error| self.stuck(error))?;
        let seconds = start.seconds_until(&end)?;
        if buffers.status(stream)? == STOPPED {
            return Err(watch.interrupted());
        }
        self.check(&prepared, &buffers, channels)?;
        let outputs = buffers.outputs::<C>(stream, channels.roots.len())?;
        let counted = buffers.counted(stream)?;
        Ok((outputs, self.report(&counted, shape, [seconds, setup])))
    }

    /// The policy for functions whose calls wait, with every number filled in that the plan leaves open.
    fn joins(&self) -> StacksPolicy {
        let or = |asked: u32, otherwise: u32| if asked == 0 { otherwise } else { asked };
        let StacksPolicy { warps, every, idle, .. } = self.policy;
        StacksPolicy {
            warps: or(warps, 16),
            every: or(every, 32),
            idle: or(idle, 2),
            ..self.policy
        }
    }

    /// Runs functions that are one sum.
    fn run_sums<C: Spawning>(
        &self,
        mut sums: Sums,
        channels: &Channels<C>,
        watch: &Watch<'_>,
        begin: Instant,
    ) -> Result<(Vec<C::Output>, Report)> {
        let (device, stream) = (&self.device, &self.stream);
        let (start, end) = (Event::new(device)?, Event::new(device)?);
        stream.record(&start)?;
        sums.launch(stream, &self.watchdog, channels)?;
        stream.record(&end)?;
        let setup = begin.elapsed().as_secs_f64();
        let (mut second, mut stopped) = (None, false);
        let mut look = || {
            if !stopped && watch.is_needed() && watch.look() {
                stopped = true;
                let stream = second.insert(Stream::new(device)?);
                sums.end(stream, STOPPED)?;
            }
            Ok(())
        };
        let waited = self.watchdog.wait_while(stream, LIMIT, &mut look);
        waited.map_err(|error| self.stuck_sums(error))?;
        let seconds = start.seconds_until(&end)?;
        let (status, counted) = sums.ended(stream)?;
        if sums.unit.faults() {
            let fault: u32 = sums.module.global("ww_fault")?.read(stream)?;
            if fault != 0 {
                sums.module.global("ww_fault")?.write(stream, 0u32)?;
                return Err(sums.unit.fault(fault, device.label()));
            }
        }
        match status {
            DONE => {}
            STOPPED => return Err(watch.interrupted()),
            1 => return Err(too_many_wait(C::NAME, sums.pool_mib())),
            code => return Err(self.ended_with(code)),
        }
        let outputs = sums.outputs::<C>(stream, channels.roots.len())?;
        let counts = Counts { calls: counted.calls, stolen: counted.given, steals: 0, levels: 0 };
        let devices = vec![device.label().to_string()];
        let policy = Policy::Stacks(sums.policy).to_json();
        let mut report = report(counts, devices, [seconds, setup], policy);
        let mean = counted.calls as f64 / counted.steps.max(1) as f64;
        report.notes.push(format!(
            "one sum over all calls: {mean:.1} calls a step of 32 lanes, {} rounds of work sharing, {} waiting calls in GPU memory",
            counted.rounds, counted.spilled
        ));
        sums.keep();
        Ok((outputs, report))
    }

    /// Why all warps wait, if that is why the run ended.
    fn stuck_sums(&self, error: Error) -> Error {
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
