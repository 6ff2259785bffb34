//! One launch: its buffers, its arguments, and what it leaves in them.

use super::plan::{Plan, Sizes};
use super::text::{Arguments, WARPS, bytes_of, bytes_of_mut};
use crate::policy::StacksPolicy;
use crate::spawning::Spawning;
use crate::spec::Channels;
use warpweft_core::cuda::{Args, Buffer, Device, Kernel, Launch, Stream, Watchdog};
use warpweft_core::error::{Error, Result};
use warpweft_core::memory::filled;

/// Words of the counters, and where those that are read or set lie: as in `call.cuh`.
const COUNTERS: usize = 128 + 32 * CHANNELS;
const RUNNING: usize = 32;
const ROOTS_LEFT: usize = 64;
const STATUS: usize = 96;
/// Channels of batches, one for each lane that looks at them: claims of one word are one at a time.
const CHANNELS: usize = 32;
/// No frame.
const NONE: u32 = u32::MAX;

/// The kernel as it is launched.
pub(super) struct Shape {
    /// What each warp and each of its lanes has.
    pub plan: Plan,
    /// What the kernel says of its functions.
    pub sizes: Sizes,
    /// Blocks of the launch, all of which are resident at once.
    pub blocks: u32,
    /// Bytes of shared memory of a block.
    pub shared: u32,
}

impl Shape {
    /// Warps of the launch.
    pub fn warps(&self) -> usize {
        (self.blocks * WARPS) as usize
    }
}

/// What was counted on the device, as `counts` in `call.cuh`.
pub(super) struct Counted {
    pub calls: u64,
    pub stolen: u64,
    pub steps: u64,
    pub lanes: u64,
    pub levels: u64,
    pub moved: u64,
    pub rounds: u64,
}

/// The device memory of one launch.
pub(super) struct Buffers {
    roots: Buffer,
    results: Buffer,
    frames: Buffer,
    free_frames: Buffer,
    returned: Buffer,
    rings: Buffer,
    stacks: Buffer,
    more: Buffer,
    slots: Buffer,
    counters: Buffer,
    counts: Buffer,
    /// Channels of batches, and slots of each.
    channels: usize,
    slots_each: usize,
}

impl Buffers {
    /// For all calls of `channels`, with the roots uploaded.
    ///
    /// # Errors
    /// Too little memory; more calls than the kernel counts; the driver's.
    pub fn new<C: Spawning>(
        device: &Device,
        stream: &Stream,
        shape: &Shape,
        channels: &Channels<C>,
    ) -> Result<Self> {
        let Shape { plan, sizes, .. } = shape;
        let (warps, count) = (shape.warps(), channels.roots.len());
        let roots = Buffer::new(device, (count * size_of::<C>()).max(16))?;
        if size_of::<C>() > 0 {
            stream.upload(&roots, 0, bytes_of(&channels.roots))?;
        }
        let stack = plan.stack_words(*sizes) as usize * 4;
        let more = warps * 8 * sizes.quota as usize * sizes.stack_item as usize * 4;
        let none = filled((0..warps).map(|_| NONE), "use fewer warps")?;
        let channel_count = warps.min(CHANNELS);
        // A warp has one ticket at a time.
        let slots_each = (2 * warps.div_ceil(channel_count)).next_power_of_two();
        let slot = 128 + 32 * sizes.item as usize;
        let mut words = [0u32; COUNTERS];
        words[RUNNING] = warps as u32;
        words[ROOTS_LEFT] = u32::try_from(count).map_err(|_| {
            Error::spec(format!("{count} calls at once"), "run them in parts of less than 2^32")
        })?;
        Ok(Self {
            roots,
            results: Buffer::zeroed(stream, (count * size_of::<C::Output>()).max(count))?,
            frames: Buffer::new(device, warps * plan.frames as usize * sizes.frame as usize)?,
            free_frames: Buffer::new(device, warps * plan.frames as usize * 4)?,
            returned: Buffer::from_slice(stream, &none)?,
            rings: Buffer::new(device, warps * plan.ring as usize * sizes.item as usize)?,
            stacks: Buffer::new(device, if plan.shared { 16 } else { warps * stack })?,
            more: Buffer::new(device, more)?,
            slots: Buffer::zeroed(stream, channel_count * slots_each * slot)?,
            counters: Buffer::from_slice(stream, &words)?,
            counts: Buffer::zeroed(stream, 7 * 8)?,
            channels: channel_count,
            slots_each,
        })
    }

    fn arguments<C: Spawning>(
        &self,
        shape: &Shape,
        policy: &StacksPolicy,
        channels: &Channels<C>,
    ) -> Arguments {
        let Shape { plan, sizes, .. } = shape;
        Arguments {
            roots: self.roots.address(),
            results: self.results.address(),
            frames: self.frames.address(),
            free_frames: self.free_frames.address(),
            returned: self.returned.address(),
            rings: self.rings.address(),
            stacks: self.stacks.address(),
            more: self.more.address(),
            slots: self.slots.address(),
            counters: self.counters.address(),
            counts: self.counts.address(),
            roots_count: channels.roots.len() as u32,
            roots_bytes: size_of::<C>() as u32,
            levels: channels.levels,
            quota: sizes.quota,
            frames_each: plan.frames,
            ring: plan.ring,
            slots_count: self.slots_each as u32,
            every: policy.every,
            idle: policy.idle,
            stack_items: plan.items,
            stack_frames: plan.depth,
            channels: self.channels as u32,
        }
    }

    /// Queues the launch.
    ///
    /// # Errors
    /// The driver's.
    pub fn launch<C: Spawning>(
        &self,
        (kernel, stream, watchdog): (&Kernel, &Stream, &Watchdog),
        shape: &Shape,
        policy: &StacksPolicy,
        channels: &Channels<C>,
    ) -> Result<()> {
        let arguments = self.arguments(shape, policy, channels);
        let mut args = Args::new();
        args.blob(bytes_of(std::slice::from_ref(&arguments)), align_of::<Arguments>());
        watchdog.argument(&mut args)?;
        watchdog.reset();
        let launch = Launch::line(shape.blocks, 32 * WARPS).shared(shape.shared);
        // SAFETY: the arguments are those of `channels_stacks` in order and layout; every buffer is as large
        // as the kernel's comments say, and the executor keeps them all past its wait.
        unsafe { stream.launch_cooperative(kernel, launch, &args) }
    }

    /// Ends a running kernel with `status`, by another stream than its own: warps read the word every few steps.
    ///
    /// # Errors
    /// The driver's.
    pub fn end(&self, stream: &Stream, status: u32) -> Result<()> {
        stream.upload(&self.counters, STATUS * 4, &[status])
    }

    /// Why the kernel ended.
    ///
    /// # Errors
    /// The driver's.
    pub fn status(&self, stream: &Stream) -> Result<u32> {
        let mut words = [0u32; COUNTERS];
        stream.download(&self.counters, 0, &mut words)?;
        Ok(words[STATUS])
    }

    /// The value of each of `count` calls.
    ///
    /// # Errors
    /// Too little memory; the driver's.
    pub fn outputs<C: Spawning>(&self, stream: &Stream, count: usize) -> Result<Vec<C::Output>> {
        let defaults = (0..count).map(|_| C::Output::default());
        let mut outputs = filled(defaults, "run fewer calls at once")?;
        if size_of::<C::Output>() > 0 {
            stream.download(&self.results, 0, bytes_of_mut(&mut outputs))?;
        }
        Ok(outputs)
    }

    /// What the kernel counted.
    ///
    /// # Errors
    /// The driver's.
    pub fn counted(&self, stream: &Stream) -> Result<Counted> {
        let mut words = [0u64; 7];
        stream.download(&self.counts, 0, &mut words)?;
        let [calls, stolen, steps, lanes, levels, moved, rounds] = words;
        Ok(Counted { calls, stolen, steps, lanes, levels, moved, rounds })
    }
}
