//! Runs channels on one GPU: calls in, one cooperative launch, their values out.

use std::time::{Duration, Instant};

use super::plan::{Plan, Sizes};
use super::text::{Arguments, WARPS, options, source};
use crate::executor::ChannelsExecutor;
use crate::policy::{Policy, StacksPolicy};
use crate::report::{Counts, report};
use crate::spawning::Spawning;
use crate::spec::{Channels, too_deep};
use warpweft_core::cuda::{
    Args, Buffer, Device, Event, Kernel, Launch, Module, Stream, Watchdog, compile,
};
use warpweft_core::element::Unit;
use warpweft_core::error::{Error, Result};
use warpweft_core::memory::filled;
use warpweft_core::report::Report;

/// How long all warps may wait for one another.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a run may take in all.
const LIMIT: Duration = Duration::from_secs(24 * 3600);
/// Words of the counters, and where those that are read or set lie: as in `call.cuh`.
const COUNTERS: usize = 128 + 32 * CHANNELS;
const RUNNING: usize = 32;
const ROOTS_LEFT: usize = 64;
const STATUS: usize = 96;
/// Channels of batches, one for each lane that looks at them: claims of one word are one at a time.
const CHANNELS: usize = 32;
/// All is done.
const DONE: u32 = 255;
/// No frame.
const NONE: u32 = u32::MAX;

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

    /// What all warps wait for, if that is why the run ended.
    fn stuck(&self, error: Error) -> Error {
        let Some(stuck) = self.watchdog.stuck() else { return error };
        let waits = match stuck.wanted {
            0 => "waits for its frames alone".to_string(),
            path if path % 2 == 0 => {
                format!("stands with {} free frames, a path down takes {}", stuck.seen, path / 2)
            }
            wanted => format!("waits for word {wanted} of a slot that has {}", stuck.seen),
        };
        Error::Device {
            stage: "running channels".into(),
            device: self.device.label().into(),
            what: format!(
                "warp {} {waits}, with {} calls that wait for others; nobody runs",
                stuck.flag, stuck.other
            ),
            hint:
                "this is a defect of the kernel: please report it with the command and its policy"
                    .into(),
        }
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

    /// The error that the kernel's word stands for.
    fn ended(&self, status: u32, unit: &Unit, [levels, children]: [u32; 2]) -> Error {
        let functions = unit.numbered();
        let name = functions.get((status >> 8) as usize).map_or("a call", |name| name);
        let name = name.trim_end_matches("_ww");
        match status & 0xff {
            1 => too_deep(name, levels),
            2 => Error::spec(
                format!("`{name}` spawned more than {children} calls in loops before it waited"),
                "allow more with `children`",
            ),
            code => Error::Device {
                stage: "running channels".into(),
                device: self.device.label().into(),
                what: format!("the kernel ended with status {code}"),
                hint: "please report this with the command and its policy".into(),
            },
        }
    }
}

impl<C: Spawning> ChannelsExecutor<C> for CudaExecutor {
    fn run(&mut self, channels: &Channels<C>) -> Result<(Vec<C::Output>, Report)> {
        let begin = Instant::now();
        channels.check()?;
        const {
            assert!(
                <C::Output as warpweft_core::element::DeviceType>::ALIKE,
                "a tuple whose members Rust and C++ order differently; return a #[repr(C)] struct with #[derive(Device)]"
            );
        }
        let (device, stream) = (&self.device, &self.stream);
        let load = |shared: bool| {
            let (text, unit) = source::<C>(shared)?;
            let cubin = compile(&text, C::NAME, &device.arch()?, &options())?;
            Ok::<_, Error>((Module::load(device, &cubin)?, unit))
        };
        let (mut module, mut unit) = load(true)?;
        let sizes: [u32; 6] = module.global("ww_sizes")?.read(stream)?;
        let sizes = Sizes::of(sizes, channels.children);
        let room = device.shared_memory()?.sm as u64;
        let plan = Plan::new(sizes, channels.levels, &self.policy, room)?;
        if !plan.shared {
            (module, unit) = load(false)?;
        }
        let kernel = module.kernel("channels_stacks")?;
        let stack = plan.stack_words(sizes) as usize * 4;
        let shared = if plan.shared { stack as u32 * WARPS } else { 0 };
        kernel.allow_shared(shared)?;
        let blocks = self.blocks(&kernel, plan.warps, shared)?;
        let warps = (blocks * WARPS) as usize;

        let count = channels.roots.len();
        let (call, value) = (size_of::<C>(), size_of::<C::Output>());
        let roots = Buffer::new(device, (count * call).max(16))?;
        if call > 0 {
            stream.upload(&roots, 0, bytes_of(&channels.roots))?;
        }
        let results = Buffer::zeroed(stream, (count * value).max(count))?;
        let frames = Buffer::new(device, warps * plan.frames as usize * sizes.frame as usize)?;
        let free_frames = Buffer::new(device, warps * plan.frames as usize * 4)?;
        let returned =
            Buffer::from_slice(stream, &filled((0..warps).map(|_| NONE), "use fewer warps")?)?;
        let rings = Buffer::new(device, warps * plan.ring as usize * sizes.item as usize)?;
        let stacks = Buffer::new(device, if plan.shared { 16 } else { warps * stack })?;
        let more = warps * 8 * sizes.quota as usize * sizes.stack_item as usize * 4;
        let more = Buffer::new(device, more)?;
        let channels_count = warps.min(CHANNELS);
        // A warp has one ticket at a time.
        let slots_count = (2 * warps.div_ceil(channels_count)).next_power_of_two();
        let slot = 128 + 32 * sizes.item as usize;
        let slots = Buffer::zeroed(stream, channels_count * slots_count * slot)?;
        let mut words = [0u32; COUNTERS];
        words[RUNNING] = warps as u32;
        words[ROOTS_LEFT] = u32::try_from(count).map_err(|_| {
            Error::spec(format!("{count} calls at once"), "run them in parts of less than 2^32")
        })?;
        let counters = Buffer::from_slice(stream, &words)?;
        let counts = Buffer::zeroed(stream, 7 * 8)?;
        let arguments = Arguments {
            roots: roots.address(),
            results: results.address(),
            frames: frames.address(),
            free_frames: free_frames.address(),
            returned: returned.address(),
            rings: rings.address(),
            stacks: stacks.address(),
            more: more.address(),
            slots: slots.address(),
            counters: counters.address(),
            counts: counts.address(),
            roots_count: count as u32,
            roots_bytes: call as u32,
            levels: channels.levels,
            quota: sizes.quota,
            frames_each: plan.frames,
            ring: plan.ring,
            slots_count: slots_count as u32,
            every: self.policy.every,
            idle: self.policy.idle,
            stack_items: plan.items,
            stack_frames: plan.depth,
            channels: channels_count as u32,
        };
        let mut args = Args::new();
        args.blob(bytes_of(std::slice::from_ref(&arguments)), align_of::<Arguments>());
        self.watchdog.argument(&mut args)?;
        self.watchdog.reset();
        let launch = Launch::line(blocks, 32 * WARPS).shared(shared);
        let (start, end) = (Event::new(device)?, Event::new(device)?);
        stream.synchronize()?;
        let setup = begin.elapsed().as_secs_f64();

        stream.record(&start)?;
        // SAFETY: the arguments are those of `channels_stacks` in order and layout; every buffer is as large
        // as the kernel's comments say and lives past the wait.
        unsafe { stream.launch_cooperative(&kernel, launch, &args)? };
        stream.record(&end)?;
        self.watchdog.wait(stream, LIMIT).map_err(|error| self.stuck(error))?;
        let seconds = start.seconds_until(&end)?;
        if unit.faults() {
            let fault: u32 = module.global("ww_fault")?.read(stream)?;
            if fault != 0 {
                module.global("ww_fault")?.write(stream, 0u32)?;
                return Err(unit.fault(fault, device.label()));
            }
        }
        let mut words = [0u32; COUNTERS];
        stream.download(&counters, 0, &mut words)?;
        if words[STATUS] != DONE {
            return Err(self.ended(words[STATUS], &unit, [channels.levels, channels.children]));
        }
        let none = (0..count).map(|_| C::Output::default());
        let mut outputs = filled(none, "run fewer calls at once")?;
        if value > 0 {
            stream.download(&results, 0, bytes_of_mut(&mut outputs))?;
        }
        let mut told = [0u64; 7];
        stream.download(&counts, 0, &mut told)?;
        let [calls, given, turns, lanes, levels, moved, rounds] = told;
        let counts = Counts { calls, given, levels: levels as u32 };
        let policy = Policy::Stacks(StacksPolicy {
            warps: plan.warps,
            blocks,
            items: plan.items,
            depth: plan.depth,
            shared: plan.shared,
            frames: plan.frames,
            ring: plan.ring,
            ..self.policy
        });
        let devices = vec![device.label().to_string()];
        let mut report = report(counts, devices, [seconds, setup], policy.told());
        let mean = lanes as f64 / turns.max(1) as f64;
        report.notes.push(format!(
            "{mean:.1} of 32 lanes busy over {turns} turns of {warps} warps in {rounds} rounds, {moved} calls moved from stacks"
        ));
        Ok((outputs, report))
    }
}

/// The bytes of calls.
fn bytes_of<T: Copy>(values: &[T]) -> &[u8] {
    // SAFETY: they are only copied, by the driver, never looked at; values outlive the borrow.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The bytes of outputs, to be overwritten by those of outputs.
fn bytes_of_mut<T: Copy>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as above; the kernel wrote values of the same type, laid out the same.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}
