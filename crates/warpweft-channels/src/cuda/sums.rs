//! Functions that are one sum over all calls, on one GPU: the kernel of `sums.cuh`, kept between runs.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::Mutex;

use super::proof::Proof;
use super::text::{WARPS, bytes_of, bytes_of_mut, numbered};
use crate::policy::StacksPolicy;
use crate::spawning::Spawning;
use crate::spec::Channels;
use warpweft_core::cuda::{
    Args, Buffer, Cubin, Device, Kernel, Launch, Module, Options, Stream, Watchdog, compile,
};
use warpweft_core::element::Unit;
use warpweft_core::error::{Error, Result};
use warpweft_core::memory::filled;

/// Words of counters, of counts of 64 bits, and which of them are set: as in `sums.cuh`.
const COUNTERS: usize = 256;
const COUNTS: usize = 8;
const STATUS: usize = 96;
const LIVE: usize = 160;
/// Bytes for calls that wait and are in no window.
const POOL: usize = 128 << 20;
/// Frames of a chunk.
const CHUNK: usize = 4;
/// Text of functions beyond which steps are not unrolled.
const LONG: usize = 6000;

/// The kernel's struct of arguments, as `ww_arguments` in `sums.cuh`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Arguments {
    roots: u64,
    results: u64,
    ring: u64,
    inbox: u64,
    inbox_counts: u64,
    stacks: u64,
    pool: u64,
    counters: u64,
    counts: u64,
    roots_count: u32,
    roots_bytes: u32,
    ring_size: u32,
    window: u32,
    chunks: u32,
    every: u32,
    idle: u32,
    ramp: u32,
    age: u32,
    warps: u32,
}

/// What tells compiled kernels apart: the device, the type of the calls, whether there is one root, and the policy.
type Key = (String, TypeId, bool, StacksPolicy);

/// Kernels that no run uses now.
static KEPT: Mutex<Option<HashMap<Key, Vec<Sums>>>> = Mutex::new(None);

/// What the kernel counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counted {
    pub calls: u64,
    pub given: u64,
    pub steps: u64,
    pub rounds: u64,
    pub spilled: u64,
}

/// A kernel for calls of one type, with its memory.
pub(super) struct Sums {
    key: Key,
    pub module: Module,
    kernel: Kernel,
    pub unit: Unit,
    proof: Proof,
    /// With every number filled in.
    pub policy: StacksPolicy,
    warps: u32,
    shared: u32,
    ring_size: u32,
    control: Buffer,
    inbox: Buffer,
    stacks: Buffer,
    pool: Buffer,
    chunks: u32,
    roots: Buffer,
    results: Buffer,
}

/// CUDA C++ of the kernel for calls of `C`.
fn source(unit: &Unit, root: &str, proof: Proof, uniform: bool, shared: bool) -> String {
    let (functions, unroll) = (unit.source(), unroll(unit));
    format!(
        "#define WW_UNIFORM {}\n{functions}
#define WW_FUNCTIONS(F) {}
#define WW_ROOT {root}
#define WW_WARPS {WARPS}
#define WW_SHARED {}
#define WW_OPERATION {}
#define WW_UNROLL {unroll}
#define WW_ARGUMENTS_BYTES {}
#include \"sums.cuh\"
",
        u32::from(uniform),
        numbered(unit),
        u32::from(shared),
        proof.operation,
        size_of::<Arguments>(),
    )
}

/// Steps in a row without a test: 1 where functions are long.
fn unroll(unit: &Unit) -> u32 {
    let prelude = Unit::new().source().len();
    if unit.source().len() - prelude > LONG { 1 } else { 4 }
}

fn options() -> Options {
    Options::including(&[
        ("sums.cuh", include_str!("sums.cuh")),
        ("sums_warp.cuh", include_str!("sums_warp.cuh")),
        ("words.cuh", include_str!("words.cuh")),
    ])
}

/// Whether all roots may be taken for one in what each call passes on.
fn is_uniform<C: Spawning>(unit: &Unit, roots: usize) -> bool {
    roots == 1 && unit.numbered().len() == 1 && size_of::<C>() > 0
}

/// Compiles the kernel for one call of `C`, if its functions are one sum.
///
/// # Errors
/// The compiler's.
pub(super) fn compile_check<C: Spawning>(arch: &str) -> Result<Option<Cubin>> {
    let mut unit = Unit::new();
    let root = C::cuda(&mut unit);
    let Some(proof) = Proof::of(&unit) else { return Ok(None) };
    let text = source(&unit, &root, proof, is_uniform::<C>(&unit, 1), true);
    compile(&text, C::NAME, arch, &options()).map(Some)
}

impl Sums {
    /// For `channels`: a kernel that is kept, or a new one; none if the functions are no sum.
    ///
    /// # Errors
    /// The compiler's; too little memory; the driver's.
    pub fn of<C: Spawning>(
        device: &Device,
        stream: &Stream,
        policy: StacksPolicy,
        channels: &Channels<C>,
    ) -> Result<Option<Self>> {
        let roots = channels.roots.len();
        let key = |uniform| (device.label().to_string(), TypeId::of::<C>(), uniform, policy);
        for uniform in [roots == 1, false] {
            let mut kept = KEPT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let found = kept.get_or_insert_default().get_mut(&key(uniform)).and_then(Vec::pop);
            if let Some(found) = found {
                return Ok(Some(found));
            }
        }
        let mut unit = Unit::new();
        let root = C::cuda(&mut unit);
        let Some(proof) = Proof::of(&unit) else { return Ok(None) };
        let uniform = is_uniform::<C>(&unit, roots);
        Self::new::<C>(device, stream, key(uniform), (unit, root), proof).map(Some)
    }

    fn new<C: Spawning>(
        device: &Device,
        stream: &Stream,
        key: Key,
        (unit, root): (Unit, String),
        proof: Proof,
    ) -> Result<Self> {
        let (uniform, policy) = (key.2, key.3);
        let load = |shared| {
            let text = source(&unit, &root, proof, uniform, shared);
            let cubin = compile(&text, C::NAME, &device.arch()?, &options())?;
            Module::load(device, &cubin)
        };
        let mut module = load(policy.shared)?;
        let [record]: [u32; 1] = module.global("ww_sizes")?.read(stream)?;
        let (window, inside) = window(record, &policy);
        if policy.shared && !inside {
            module = load(false)?;
        }
        let kernel = module.kernel("channels_sums")?;
        let shared = if inside { WARPS * window * 128 * record } else { 0 };
        kernel.allow_shared(shared)?;
        let blocks = blocks(device, &kernel, &policy, shared)?;
        let warps = blocks * WARPS;
        let ring_size = (2 * warps).next_power_of_two();
        let control = 4 * (COUNTERS + 2 * COUNTS) + 4 * (ring_size + warps) as usize;
        let (every, unroll) = (if policy.every == 0 { 16 } else { policy.every }, unroll(&unit));
        let chunk = 4 * (2 + CHUNK * record as usize);
        let chunks = (POOL / chunk).max(warps as usize) as u32;
        let outside = if inside { 16 } else { (warps * window * 128 * record) as usize };
        Ok(Self {
            module,
            kernel,
            unit,
            proof,
            policy: StacksPolicy {
                warps: warps / device.sms()?.max(1),
                blocks,
                depth: window,
                shared: inside,
                every: every.min(window / 2).max(unroll),
                idle: if policy.idle == 0 { 8 } else { policy.idle },
                ..policy
            },
            warps,
            shared,
            ring_size,
            control: Buffer::new(device, control)?,
            inbox: Buffer::new(device, (warps * 128 * (record + 1)) as usize)?,
            stacks: Buffer::new(device, outside)?,
            pool: Buffer::new(device, chunks as usize * chunk)?,
            chunks,
            roots: Buffer::new(device, size_of::<C>().max(16))?,
            results: Buffer::new(device, 16)?,
            key,
        })
    }

    /// Queues a run of `channels`.
    ///
    /// # Errors
    /// Too many calls; too little memory; the driver's.
    pub fn launch<C: Spawning>(
        &mut self,
        stream: &Stream,
        watchdog: &Watchdog,
        channels: &Channels<C>,
    ) -> Result<()> {
        let count = channels.roots.len();
        let roots_count = u32::try_from(count).ok().filter(|&count| count < u32::MAX - (1 << 20));
        let roots_count = roots_count.ok_or_else(|| {
            Error::spec(format!("{count} calls at once"), "run them in parts of less than 2^31")
        })?;
        let device = *stream.device();
        for (buffer, bytes) in [
            (&mut self.roots, count * size_of::<C>()),
            (&mut self.results, count * self.proof.bytes),
        ] {
            if buffer.bytes() < bytes {
                *buffer = Buffer::new(&device, bytes)?;
            }
        }
        if size_of::<C>() > 0 {
            stream.upload(&self.roots, 0, bytes_of(&channels.roots))?;
        }
        let neutrals = filled(self.proof.neutrals(count), "run fewer calls at once")?;
        stream.upload(&self.results, 0, &neutrals)?;
        stream.fill(&self.control, 0)?;
        stream.upload(&self.control, 4 * LIVE, &[self.warps])?;
        let arguments = self.arguments(roots_count, size_of::<C>() as u32);
        let mut args = Args::new();
        args.blob(bytes_of(std::slice::from_ref(&arguments)), align_of::<Arguments>());
        watchdog.argument(&mut args)?;
        if self.key.2 {
            args.blob(bytes_of(&channels.roots[..1]), align_of::<C>());
        }
        watchdog.reset();
        let launch = Launch::line(self.warps / WARPS, 32 * WARPS).shared(self.shared);
        // SAFETY: the arguments are those of `channels_sums` in order and layout; every buffer is as large as the
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
            age: 16,
            warps: self.warps,
        }
    }

    /// Ends a running kernel with `status`, by another stream than its own.
    ///
    /// # Errors
    /// The driver's.
    pub fn end(&self, stream: &Stream, status: u32) -> Result<()> {
        stream.upload(&self.control, 4 * STATUS, &[status])
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
        Ok((words[STATUS], Counted { calls, given, steps, rounds, spilled }))
    }

    /// The value of each of `count` calls.
    ///
    /// # Errors
    /// Too little memory; the driver's.
    pub fn outputs<C: Spawning>(&self, stream: &Stream, count: usize) -> Result<Vec<C::Output>> {
        let defaults = (0..count).map(|_| C::Output::default());
        let mut outputs = filled(defaults, "run fewer calls at once")?;
        stream.download(&self.results, 0, bytes_of_mut(&mut outputs))?;
        Ok(outputs)
    }

    /// Mebibytes for calls that wait.
    pub fn pool_mib(&self) -> usize {
        self.pool.bytes() >> 20
    }

    /// Leaves the kernel to the next run.
    pub fn keep(self) {
        let mut kept = KEPT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        kept.get_or_insert_default().entry(self.key.clone()).or_default().push(self);
    }
}

/// Blocks of the launch, all of which are resident at once.
fn blocks(device: &Device, kernel: &Kernel, policy: &StacksPolicy, shared: u32) -> Result<u32> {
    let fitting = kernel.blocks_per_sm(32 * WARPS, shared)?;
    let most = if policy.warps == 0 { 32 } else { policy.warps };
    let blocks = fitting.min((most / WARPS).max(1)) * device.sms()?;
    let blocks = if policy.blocks == 0 { blocks } else { blocks.min(policy.blocks) };
    if blocks > 0 {
        return Ok(blocks);
    }
    Err(Error::Device {
        stage: "planning".into(),
        device: device.label().into(),
        what: format!("no block of {} threads and {shared} bytes fits an SM", 32 * WARPS),
        hint: "give the policy smaller stacks: less `depth`".into(),
    })
}

/// Frames of a lane's window, a power of two, and whether it lies in shared memory.
fn window(record: u32, policy: &StacksPolicy) -> (u32, bool) {
    let asked = |otherwise: u32| if policy.depth == 0 { otherwise } else { policy.depth.max(8) };
    let bytes = |frames: u32| frames * 128 * record;
    // Enough of them for 28 warps an SM; more where frames are large.
    let inside = [32, 16, 8].into_iter().map(asked).find(|&frames| bytes(frames) <= 8192);
    let inside = inside.or(Some(asked(8)).filter(|&frames| bytes(frames) * WARPS <= 160 << 10));
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
        let of = |record| window(record, &usual);
        assert_eq!([of(1), of(4), of(8)], [(32, true), (16, true), (8, true)]);
        assert_eq!([of(20), of(90)], [(8, true), (16, false)]);
        assert_eq!(window(4, &StacksPolicy { shared: false, ..usual }), (16, false));
        assert_eq!(window(1, &StacksPolicy { depth: 2, ..usual }), (8, true));
    }
}
