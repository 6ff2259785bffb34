//! The kernel of `tasks.cuh` on one GPU with its memory, kept between runs.

mod calls;

use std::any::TypeId;
use std::sync::{Mutex, PoisonError};

use super::proof::Proof;
use super::text::{
    Arguments, block_warps, bytes_of, bytes_of_mut, has_teams, holding_warps, options, source,
    unroll,
};
use crate::policy::StacksPolicy;
use crate::spawning::DeviceCall;
use warpweft_core::cuda::{
    Args, Buffer, Device, Event, Kernel, Launch, Module, Stream, Watchdog, compile,
};
use warpweft_core::element::Unit;
use warpweft_core::error::{Error, Result};
use warpweft_core::memory::filled;

pub(super) use calls::Calls;

/// Words of counters, of counts of 64 bits, and which of them are set: as in `tasks.cuh`.
const COUNTERS: usize = 256;
const COUNTS: usize = 8;
const STATUS: usize = 96;
const LIVE: usize = 160;
const WAITING: usize = 192;
/// Bytes for calls that wait and are in no window.
const POOL: usize = 128 << 20;
/// Frames of a chunk.
const CHUNK: usize = 4;
/// Records of a warp at most, where the policy says none, and bytes for those of all warps.
const RECORDS: usize = 512;
const RECORDS_POOL: usize = 256 << 20;

/// What tells compiled kernels apart: the device, the type of the calls, whether there is one root, and the policy.
type Key = (String, TypeId, bool, StacksPolicy);

/// Kernels that no run uses now, the last used at the end, and how many there are at most: each has memory of its own.
static KEPT: Mutex<Vec<Tasks>> = Mutex::new(Vec::new());
const KEPT_MOST: usize = 16;

/// What the kernel counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub calls: u64,
    pub given: u64,
    pub steps: u64,
    pub rounds: u64,
    pub spilled: u64,
    /// All cycles of warps, those in functions and those without work, where they are measured.
    pub cycles: [u64; 3],
}

/// A kernel for calls of one type, with its memory.
pub(super) struct Tasks {
    key: Key,
    pub module: Module,
    kernel: Kernel,
    pub unit: Unit,
    /// None: calls wait for the values of their calls.
    pub proof: Option<Proof>,
    /// With every number filled in.
    pub policy: StacksPolicy,
    blocks: u32,
    warps: u32,
    shared: u32,
    ring_size: u32,
    control: Buffer,
    inbox: Buffer,
    stacks: Buffer,
    pool: Buffer,
    chunks: u32,
    records: Buffer,
    free_records: Buffer,
    returned: Buffer,
    roots: Buffer,
    results: Buffer,
}

impl Tasks {
    /// For `calls`: a kernel that is kept, or a new one.
    ///
    /// # Errors
    /// The compiler's; too little memory; the driver's.
    pub fn of(
        device: &Device,
        stream: &Stream,
        policy: StacksPolicy,
        calls: &Calls<'_>,
    ) -> Result<Self> {
        let key = |uniform| (device.label().to_string(), calls.of, uniform, policy);
        for uniform in [calls.count == 1, false] {
            let (mut kept, key) =
                (KEPT.lock().unwrap_or_else(PoisonError::into_inner), key(uniform));
            if let Some(at) = kept.iter().rposition(|tasks| tasks.key == key) {
                return Ok(kept.remove(at));
            }
        }
        let mut unit = Unit::new();
        let root = (calls.cuda)(&mut unit);
        let uniform = calls.is_uniform(&unit);
        Self::new(device, stream, key(uniform), (calls, unit, root))
    }

    fn new(
        device: &Device,
        stream: &Stream,
        key: Key,
        (calls, unit, root): (&Calls<'_>, Unit, String),
    ) -> Result<Self> {
        let (arch, policy, proof) = (device.arch()?, key.3, Proof::of(&unit));
        let load = |shared: bool| {
            let text = source(&unit, &root, proof, (key.2, policy.timed), (shared, policy.warps))?;
            Module::load(device, &compile(&text, calls.name, &arch, &options())?)
        };
        // Teams' arrays lie where windows would.
        let policy = StacksPolicy { shared: policy.shared && !has_teams(&unit), ..policy };
        let (module, sizes, (window, inside)) = loaded(stream, load, proof.is_some(), &policy)?;
        let Sizes { record, record_words, room, stacked } = sizes;
        let kernel = module.kernel("channels_tasks")?;
        let each = block_warps(&unit);
        let shared = if inside { each * window * 128 * stacked } else { room };
        kernel.allow_shared(shared)?;
        let blocks = blocks(device, &kernel, &policy, (each, shared))?;
        let warps = blocks * holding_warps(&unit);
        let ring_size = (2 * warps).next_power_of_two();
        let control = 4 * (COUNTERS + 2 * COUNTS) + 4 * (ring_size + warps) as usize;
        let (chunk, chunks) = chunks(record as usize, warps as usize);
        let records_each = match proof {
            Some(_) => 0,
            None => records(policy.records, warps as usize * 4 * record_words as usize),
        };
        let all_records = (warps * records_each) as usize;
        // Blocks of teams keep frames and lists of free records in shared memory.
        let holds = holding_warps(&unit) > 1;
        let stacks = if inside || !holds { 0 } else { warps as usize * window as usize };
        let listed = if holds { all_records } else { 0 };
        let sms = device.sms()?.max(1);
        let filled = filled_in(policy, (window, inside), unroll(&unit), proof.is_some());
        let (warps_each, records) = (blocks * each / sms, records_each);
        Ok(Self {
            module,
            kernel,
            unit,
            proof,
            policy: StacksPolicy { warps: warps_each, blocks, records, ..filled },
            blocks,
            warps,
            shared,
            ring_size,
            control: Buffer::new(device, control)?,
            inbox: Buffer::new(device, (warps * 128 * (record + 2)) as usize)?,
            stacks: Buffer::new(device, (stacks * 128 * stacked as usize).max(16))?,
            pool: Buffer::new(device, chunks as usize * chunk)?,
            chunks,
            records: Buffer::new(device, (4 * all_records * record_words as usize).max(16))?,
            free_records: Buffer::new(device, (4 * listed).max(16))?,
            returned: Buffer::new(device, (all_records / 8).max(16))?,
            roots: Buffer::new(device, calls.bytes.max(16))?,
            results: Buffer::new(device, 16)?,
            key,
        })
    }

    /// Queues a run of `calls`, and `start` when all that it needs is there.
    ///
    /// # Errors
    /// Too many calls; too little memory; the driver's.
    pub fn launch(
        &mut self,
        stream: &Stream,
        watchdog: &Watchdog,
        calls: &Calls<'_>,
        start: &Event,
    ) -> Result<()> {
        let count = calls.count;
        let roots_count = u32::try_from(count).ok().filter(|&count| count < u32::MAX - (1 << 20));
        let roots_count = roots_count.ok_or_else(|| {
            Error::spec(format!("{count} calls at once"), "run them in parts of less than 2^31")
        })?;
        let device = *stream.device();
        for (buffer, bytes) in [
            (&mut self.roots, count * calls.bytes),
            // Values of nothing take a byte on the device.
            (&mut self.results, count * calls.value.max(1)),
        ] {
            if buffer.bytes() < bytes {
                *buffer = Buffer::new(&device, bytes)?;
            }
        }
        if calls.bytes > 0 {
            stream.upload(&self.roots, 0, calls.roots)?;
        }
        if let Some(proof) = self.proof {
            let neutrals = filled(proof.neutrals(count), "run fewer calls at once")?;
            stream.upload(&self.results, 0, &neutrals)?;
        }
        stream.fill(&self.returned, 0)?;
        stream.fill(&self.control, 0)?;
        stream.upload(&self.control, 4 * LIVE, &[self.warps])?;
        let arguments = self.arguments(roots_count, calls.bytes as u32);
        let mut args = Args::new();
        args.blob(bytes_of(std::slice::from_ref(&arguments)), align_of::<Arguments>());
        watchdog.argument(&mut args)?;
        if self.key.2 {
            args.blob(&calls.roots[..calls.bytes], calls.align);
        }
        watchdog.reset();
        stream.record(start)?;
        let launch = Launch::line(self.blocks, 32 * block_warps(&self.unit)).shared(self.shared);
        // SAFETY: the arguments are those of `channels_tasks` in order and layout; every buffer is as large as the
        // kernel's comments say, and `self` keeps them past the executor's wait.
        unsafe { stream.launch_cooperative(&self.kernel, launch, &args) }
    }

    fn arguments(&self, roots_count: u32, roots_bytes: u32) -> Arguments {
        let control = self.control.address();
        let counts = control + 4 * COUNTERS as u64;
        let ring = counts + 8 * COUNTS as u64;
        Arguments {
            roots: self.roots.address(),
            results: self.results.address(),
            ring,
            inbox: self.inbox.address(),
            inbox_counts: ring + 4 * u64::from(self.ring_size),
            stacks: self.stacks.address(),
            pool: self.pool.address(),
            records: self.records.address(),
            free_records: self.free_records.address(),
            returned: self.returned.address(),
            counters: control,
            counts,
            roots_count,
            roots_bytes,
            ring_size: self.ring_size,
            window: self.policy.depth,
            chunks: self.chunks,
            every: self.policy.every,
            idle: self.policy.idle,
            ramp: (self.warps / 2).max(1),
            // Frames of calls that wait cost a record each.
            age: if self.proof.is_some() { 16 } else { 64 },
            warps: self.warps,
            records_each: self.policy.records,
            _padding: 0,
        }
    }

    /// Ends a running kernel with `status`, by another stream than its own.
    ///
    /// # Errors
    /// The driver's.
    pub fn end(&self, stream: &Stream, status: u32) -> Result<()> {
        stream.upload(&self.control, 4 * STATUS, &[status])
    }

    /// While the kernel runs: warps with work, those counted that have been handed it, and warps that wait.
    ///
    /// # Errors
    /// The driver's.
    pub fn warps_now(&self, stream: &Stream) -> Result<[u32; 2]> {
        let mut words = [0u32; COUNTERS];
        stream.download(&self.control, 0, &mut words)?;
        Ok([words[LIVE], words[WAITING]])
    }

    /// Why the kernel ended, and what it counted.
    ///
    /// # Errors
    /// The driver's.
    pub fn ended(&self, stream: &Stream) -> Result<(u32, Counted)> {
        let mut words = [0u32; COUNTERS + 2 * COUNTS];
        stream.download(&self.control, 0, &mut words)?;
        let long = |at: usize| {
            let at = COUNTERS + 2 * at;
            u64::from(words[at]) | u64::from(words[at + 1]) << 32
        };
        let [calls, given, steps, rounds, spilled] = [0, 1, 2, 3, 4].map(long);
        let cycles = [5, 6, 7].map(long);
        Ok((words[STATUS], Counted { calls, given, steps, rounds, spilled, cycles }))
    }

    /// The value of each of `count` calls.
    ///
    /// # Errors
    /// Too little memory; the driver's.
    pub fn outputs<C: DeviceCall>(&self, stream: &Stream, count: usize) -> Result<Vec<C::Value>> {
        let defaults = (0..count).map(|_| C::Value::default());
        let mut outputs = filled(defaults, "run fewer calls at once")?;
        stream.download(&self.results, 0, bytes_of_mut(&mut outputs))?;
        Ok(outputs)
    }

    /// Mebibytes for calls that wait.
    pub fn pool_mib(&self) -> usize {
        self.pool.bytes() >> 20
    }

    /// Leaves the kernel to the next run, in place of the one that was not used for longest where there are many.
    pub fn keep(self) {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = (kept.len() >= KEPT_MOST).then(|| kept.remove(0));
        kept.push(self);
        // Memory is given back without the lock.
        drop(kept);
        drop(oldest);
    }
}

/// Words of a frame outside windows, of a record and of a frame in a window; bytes of a team's arrays.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    record: u32,
    record_words: u32,
    room: u32,
    stacked: u32,
}

/// A module that `load` makes, with windows in shared memory where they fit; its sizes, and the window.
fn loaded(
    stream: &Stream,
    load: impl Fn(bool) -> Result<Module>,
    is_sum: bool,
    policy: &StacksPolicy,
) -> Result<(Module, Sizes, (u32, bool))> {
    let module = load(policy.shared)?;
    let sizes: [u32; 5] = module.global("ww_sizes")?.read(stream)?;
    let [record, record_words, room, stacked, label_bits] = sizes;
    let sizes = Sizes { record, record_words, room, stacked };
    let (window, inside) = window((stacked, label_bits), is_sum, policy);
    let module = if policy.shared && !inside { load(false)? } else { module };
    Ok((module, sizes, (window, inside)))
}

/// Bytes of a chunk of frames of so many words, and how many there are.
fn chunks(record: usize, warps: usize) -> (usize, u32) {
    let chunk = 4 * (2 + CHUNK * record);
    (chunk, (POOL / chunk).max(warps) as u32)
}

/// Records of a warp, of which one takes so many bytes for all warps: as asked, or as memory allows.
fn records(asked: u32, bytes: usize) -> u32 {
    match asked {
        0 => (RECORDS_POOL / bytes.max(1)).clamp(128, RECORDS) as u32 / 32 * 32,
        records => records,
    }
}

/// `policy` with what work sharing needs.
fn filled_in(
    policy: StacksPolicy,
    (window, inside): (u32, bool),
    unroll: u32,
    is_sum: bool,
) -> StacksPolicy {
    let or = |asked: u32, otherwise: u32| if asked == 0 { otherwise } else { asked };
    StacksPolicy {
        depth: window,
        shared: inside,
        // Frames that stay until their calls have ended fill a window: the fewer steps, the fewer go to global memory.
        every: or(policy.every, if is_sum { 16 } else { window / 4 }).min(window / 2).max(unroll),
        idle: or(policy.idle, if is_sum { 8 } else { 16 }),
        ..policy
    }
}

/// Blocks of the launch, all of which are resident at once.
fn blocks(
    device: &Device,
    kernel: &Kernel,
    policy: &StacksPolicy,
    (each, shared): (u32, u32),
) -> Result<u32> {
    let fitting = kernel.blocks_per_sm(32 * each, shared)?;
    let most = if policy.warps == 0 { 32.max(4 * each) } else { policy.warps };
    let blocks = fitting.min((most / each).max(1)) * device.sms()?;
    let blocks = if policy.blocks == 0 { blocks } else { blocks.min(policy.blocks) };
    if blocks > 0 {
        return Ok(blocks);
    }
    Err(Error::Device {
        stage: "planning".into(),
        device: device.label().into(),
        what: format!("no block of {} threads and {shared} bytes fits an SM", 32 * each),
        hint: "give the policy smaller stacks: less `depth`".into(),
    })
}

/// Frames of a lane's window, a power of two, of which one takes so many words, and whether it lies in shared memory. Labels of so many bits
/// each are in one word.
fn window((words, label_bits): (u32, u32), is_sum: bool, policy: &StacksPolicy) -> (u32, bool) {
    let most = 32u32.checked_div(label_bits).unwrap_or(u32::MAX);
    let asked = |otherwise: u32| {
        let frames = if policy.depth == 0 { otherwise } else { policy.depth.max(8) };
        frames.min(most)
    };
    let bytes = |frames: u32| frames * 128 * words;
    // Enough of them for 28 warps an SM, or for 12 of frames that stay until all their calls have ended (as in `tasks.cuh`); more
    // where frames are large.
    let (frames, most) = if is_sum { ([32, 16, 8], 8192) } else { ([16, 16, 8], 16384) };
    let inside = frames.into_iter().map(asked).find(|&frames| bytes(frames) <= most);
    let inside = inside.or(Some(asked(8)).filter(|&frames| bytes(frames) * 4 <= 160 << 10));
    match inside.filter(|_| policy.shared) {
        Some(frames) => (frames, true),
        None => (asked(16), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_as_long_as_shared_memory_has_room() {
        let usual = StacksPolicy::default();
        let of = |words| window((words, 0), true, &usual);
        assert_eq!([of(1), of(4), of(8)], [(32, true), (16, true), (8, true)]);
        assert_eq!([of(20), of(90)], [(8, true), (16, false)]);
        let of = |words, bits| window((words, bits), false, &usual);
        assert_eq!([of(4, 0), of(8, 1), of(10, 2)], [(16, true), (16, true), (8, true)]);
        assert_eq!(window((4, 0), true, &StacksPolicy { shared: false, ..usual }), (16, false));
        assert_eq!(window((1, 0), true, &StacksPolicy { depth: 2, ..usual }), (8, true));
        assert_eq!(window((6, 2), false, &StacksPolicy { depth: 64, ..usual }), (16, true));
    }
}
