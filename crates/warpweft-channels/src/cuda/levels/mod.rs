//! Runs channels level by level on one GPU: a launch of the kernel of `levels.cuh` for all calls of one depth. For functions whose
//! values are one sum over all calls.

use std::time::{Duration, Instant};

use super::proof::Proof;
use super::tasks::Calls;
use super::text::{
    LEVEL_WARPS as WARPS, LevelArguments, bytes_of, bytes_of_mut, is_uniform, level_source, options,
};
use crate::executor::ChannelsExecutor;
use crate::policy::{LevelsPolicy, Policy, too_wide};
use crate::report::{Counts, report};
use crate::spawning::{DeviceCall, Spawning};
use crate::spec::Channels;
use warpweft_core::cuda::{
    Args, Buffer, Device, Event, Kernel, Launch, Module, Stream, Watchdog, compile,
};
use warpweft_core::element::Unit;
use warpweft_core::error::{Error, Result};
use warpweft_core::memory::filled;
use warpweft_core::report::Report;
use warpweft_core::run::{Ending, Watch};
use warpweft_core::trace::Trace;

/// How long a level may take.
const LIMIT: Duration = Duration::from_secs(24 * 3600);
/// The most calls of a level.
const MOST: u64 = u32::MAX as u64;

/// Calls on one GPU, level by level.
pub struct LevelsExecutor {
    device: Device,
    stream: Stream,
    watchdog: Watchdog,
    policy: LevelsPolicy,
}

/// A compiled kernel with the memory of one run.
struct Levels {
    unit: Unit,
    module: Module,
    kernel: Kernel,
    blocks: u32,
    /// Words of a call; the most calls of a level.
    words: usize,
    capacity: u64,
    calls: [Buffer; 2],
    results: Buffer,
    /// Calls of the next level, then whether the run is over.
    control: Buffer,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    calls: u64,
    levels: u32,
    widest: u64,
}

impl LevelsExecutor {
    /// On `device`.
    ///
    /// # Errors
    /// As [`LevelsPolicy::check`]; the driver's.
    pub fn new(device: &Device, policy: LevelsPolicy) -> Result<Self> {
        policy.check()?;
        let (stream, watchdog) = (Stream::new(device)?, Watchdog::new(device, LIMIT)?);
        Ok(Self { device: *device, stream, watchdog, policy })
    }

    /// As [`ChannelsExecutor::run`], until `watch` says to end.
    pub(crate) fn run_watched<C: DeviceCall>(
        &mut self,
        channels: &Channels<C>,
        watch: &Watch<'_>,
        trace: Option<&Trace>,
    ) -> Result<(Vec<C::Value>, Report)> {
        let begin = Instant::now();
        channels.check()?;
        let mut outputs = Vec::new();
        let calls = Calls::of(channels);
        let report = self.run_calls(&calls, (watch, trace, begin), &mut |stream, results| {
            let defaults = (0..channels.roots.len()).map(|_| C::Value::default());
            outputs = filled(defaults, "run fewer calls at once")?;
            stream.download(results, 0, bytes_of_mut(&mut outputs))
        })?;
        Ok((outputs, report))
    }

    /// The same of calls as bytes, whose values `take` fetches; the run began at `begin`.
    fn run_calls(
        &self,
        calls: &Calls<'_>,
        (watch, trace, begin): (&Watch<'_>, Option<&Trace>, Instant),
        take: &mut dyn FnMut(&Stream, &Buffer) -> Result<()>,
    ) -> Result<Report> {
        let levels = self.prepared(calls)?;
        let setup = begin.elapsed().as_secs_f64();
        let (start, end) = (Event::new(&self.device)?, Event::new(&self.device)?);
        self.stream.record(&start)?;
        let counted = self.run_levels(&levels, calls, (watch, trace))?;
        self.stream.record(&end)?;
        end.synchronize()?;
        let seconds = start.seconds_until(&end)?;
        take(&self.stream, &levels.results)?;
        let counts = Counts { calls: counted.calls, levels: counted.levels, ..Counts::default() };
        let policy = Policy::Levels(LevelsPolicy { calls: levels.capacity as usize });
        let devices = vec![self.device.label().to_string()];
        let mut report = report(counts, devices, [seconds, setup], policy.to_json());
        report.notes.push(format!(
            "level by level: at most {} calls in a level, {} bytes each",
            counted.widest,
            4 * levels.words
        ));
        Ok(report)
    }

    /// The kernel for `calls`, and its memory with the first level.
    fn prepared(&self, calls: &Calls<'_>) -> Result<Levels> {
        let (device, stream) = (&self.device, &self.stream);
        let mut unit = Unit::new();
        let root = (calls.cuda)(&mut unit);
        let proof = Proof::of(&unit).ok_or_else(|| not_one_sum(calls.name))?;
        let (name, roots) = (calls.name, calls.count);
        let text = level_source(&unit, &root, proof, (calls.is_uniform(&unit), roots == 1))?;
        let module = Module::load(device, &compile(&text, name, &device.arch()?, &options())?)?;
        let [words]: [u32; 1] = module.global("ww_sizes")?.read(stream)?;
        let kernel = module.kernel("channels_level")?;
        let blocks = kernel.blocks_per_sm(32 * WARPS, 0)?.max(1) * device.sms()?;
        let (free, _) = device.memory()?;
        let bytes = 4 * u64::from(words);
        let capacity = match self.policy.calls {
            // Two levels in half of the memory that is free.
            0 => (free / 4 / bytes).clamp(1, MOST),
            calls => calls as u64,
        };
        let words = words as usize;
        let level = || Buffer::new(device, capacity as usize * 4 * words);
        let neutrals = filled(proof.neutrals(roots), "run fewer calls at once")?;
        let levels = Levels {
            unit,
            module,
            kernel,
            blocks,
            words,
            capacity,
            calls: [level()?, level()?],
            results: Buffer::from_slice(stream, &neutrals)?,
            control: Buffer::zeroed(stream, 32)?,
        };
        if roots as u64 > capacity {
            return Err(too_wide(name, (1, roots as u64), capacity));
        }
        let number = levels.unit.numbered().iter().position(|name| *name == root).unwrap_or(0);
        // The driver loads a kernel at its first launch, which is to be no part of the run.
        self.launch(&levels, calls, ([0, 1], 0))?;
        for (word, words) in
            first_level((calls.roots, calls.bytes, roots), levels.words, number as u32)
        {
            stream.upload(&levels.calls[0], word * capacity as usize * 4, &words)?;
        }
        Ok(levels)
    }

    /// Level after level, until no call is left.
    fn run_levels(
        &self,
        levels: &Levels,
        calls: &Calls<'_>,
        (watch, trace): (&Watch<'_>, Option<&Trace>),
    ) -> Result<Counted> {
        let mut counted = Counted::default();
        let mut count = calls.count as u64;
        let (mut from, mut to) = (0, 1);
        while count > 0 {
            // Short launches end before anything is checked while they run.
            if watch.is_needed() && watch.look() {
                return Err(watch.interrupted());
            }
            counted.calls += count;
            counted.levels += 1;
            counted.widest = counted.widest.max(count);
            let launched = Instant::now();
            self.launch(levels, calls, ([from, to], count))?;
            let stopped = self.wait(levels, watch, counted)?;
            if let Some(trace) = trace {
                trace.add(self.device.label(), format!("level {}", counted.levels), launched);
                trace.level("calls in a level", count as f64);
            }
            self.faulted(levels)?;
            if stopped {
                return Err(watch.interrupted());
            }
            let mut next = [0u64];
            self.stream.download(&levels.control, 0, &mut next)?;
            [count] = next;
            if count > levels.capacity {
                let level = counted.levels + 1;
                return Err(too_wide(calls.name, (level, count), levels.capacity));
            }
            (from, to) = (to, from);
        }
        Ok(counted)
    }

    fn launch(
        &self,
        levels: &Levels,
        calls: &Calls<'_>,
        ([from, to], count): ([usize; 2], u64),
    ) -> Result<()> {
        self.stream.fill(&levels.control, 0)?;
        let control = levels.control.address();
        let arguments = LevelArguments {
            from: levels.calls[from].address(),
            to: levels.calls[to].address(),
            results: levels.results.address(),
            appended: control,
            status: control + 16,
            count,
            capacity: levels.capacity,
        };
        let mut args = Args::new();
        args.blob(bytes_of(std::slice::from_ref(&arguments)), align_of::<LevelArguments>());
        if calls.is_uniform(&levels.unit) {
            args.blob(&calls.roots[..calls.bytes], calls.align);
        }
        let blocks = count.div_ceil(u64::from(32 * WARPS)).clamp(1, levels.blocks.into()) as u32;
        // SAFETY: the arguments are those of `channels_level` in order and layout; both levels have room for `capacity`
        // calls of as many words as the kernel says, and `levels` keeps all buffers past the wait.
        unsafe { self.stream.launch(&levels.kernel, Launch::line(blocks, 32 * WARPS), &args) }
    }

    /// Waits for a level; whether `watch` ended it.
    fn wait(&self, levels: &Levels, watch: &Watch<'_>, counted: Counted) -> Result<bool> {
        let (mut second, mut ending) = (None, Ending::default());
        let mut look = || {
            let ask = || {
                let stream: &Stream = second.insert(Stream::new(&self.device)?);
                stream.upload(&levels.control, 16, &[1u32])
            };
            match ending.look(watch, ask)? {
                None => Ok(()),
                Some(since) => {
                    let state =
                        format!("{} calls of {} levels were begun", counted.calls, counted.levels);
                    let device = self.device.label();
                    Err(Ending::overdue("ending a level of calls", device, since, &state))
                }
            }
        };
        self.watchdog.wait_while(&self.stream, LIMIT, &mut look)?;
        Ok(ending.is_asked())
    }

    /// The error of a function that faulted.
    fn faulted(&self, levels: &Levels) -> Result<()> {
        if !levels.unit.faults() {
            return Ok(());
        }
        match levels.module.global("ww_fault")?.read(&self.stream)? {
            0 => Ok(()),
            fault => Err(levels.unit.fault(fault, self.device.label())),
        }
    }
}

impl<C: Spawning> ChannelsExecutor<C> for LevelsExecutor {
    fn run(&mut self, channels: &Channels<C>) -> Result<(Vec<C::Output>, Report)> {
        self.run_watched(channels, &Watch::default(), None)
    }
}

/// The words of the first `count` calls of `size` bytes, as they lie on the device: the number of a word in a call, and that
/// word of each call.
fn first_level(
    (bytes, size, count): (&[u8], usize, usize),
    words: usize,
    number: u32,
) -> impl Iterator<Item = (usize, Vec<u32>)> {
    let own = size.div_ceil(4);
    let word = move |root: usize, word: usize| {
        let of = &bytes[root * size..][..size];
        let mut some = [0; 4];
        let part = &of[4 * word..(4 * word + 4).min(of.len())];
        some[..part.len()].copy_from_slice(part);
        u32::from_le_bytes(some)
    };
    let arguments = (0..own).map(move |k| (k, (0..count).map(|root| word(root, k)).collect()));
    // Behind the arguments of the largest call: the function's number and the root's, as far as they are kept.
    let last = (count > 1).then(|| (words - 1, (0..count as u32).collect()));
    let numbered = words - usize::from(count > 1);
    let numbers = (numbered > own).then(|| (numbered - 1, vec![number; count]));
    arguments.chain(numbers).chain(last)
}

fn not_one_sum(name: &str) -> Error {
    Error::spec(
        format!("`{name}` level by level: its calls wait for values, or teams run them"),
        "levels are for functions whose values are one sum over all calls; name another policy",
    )
}

/// Compiles the kernel for one call of `C` level by level for `arch` without a device.
///
/// # Errors
/// A function whose values are no sum; the compiler's.
pub fn compile_levels_check<C: DeviceCall>(arch: &str) -> Result<()> {
    let mut unit = Unit::new();
    let root = C::cuda(&mut unit);
    let proof = Proof::of(&unit).ok_or_else(|| not_one_sum(C::NAME))?;
    let text = level_source(&unit, &root, proof, (is_uniform::<C>(&unit, 1), true))?;
    compile(&text, C::NAME, arch, &options()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_calls_lie_word_by_word() {
        #[derive(Clone, Copy)]
        #[repr(C)]
        struct Two(u32, u16);
        let words = |roots: &[Two], words| {
            let of = (bytes_of(roots), size_of::<Two>(), roots.len());
            first_level(of, words, 3).collect::<Vec<_>>()
        };
        let alone = [Two(7, 8)];
        assert_eq!(words(&alone, 2).len(), 2);
        let two = words(&[Two(7, 8), Two(9, 10)], 5);
        assert_eq!(two[0], (0, vec![7, 9]));
        assert_eq!(two[1].0, 1);
        assert_eq!(two[1].1.iter().map(|word| word & 0xffff).collect::<Vec<_>>(), [8, 10]);
        // A larger call of another function has three words of arguments.
        assert_eq!(two[2..], [(3, vec![3, 3]), (4, vec![0, 1])]);
    }
}
