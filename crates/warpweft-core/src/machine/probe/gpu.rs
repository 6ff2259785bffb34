//! Measures one GPU's memory, flags, barrier, launches and its link to the host.

use std::time::Duration;

use super::{GpuProbe, keep, median};
use crate::cuda::{
    Args, Buffer, Device, Event, Kernel, Launch, Module, Options, Pinned, Stream, Watchdog, compile,
};
use crate::error::Result;
use crate::machine::Gpu;

/// Number of measurements, of which the median is used.
const TRIES: usize = 7;
const THREADS: u32 = 512;
/// How long a block may wait for another. Normally a wait takes microseconds.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) fn measure(gpu: &Gpu, notes: &mut Vec<String>) -> GpuProbe {
    let mut probe = GpuProbe { ordinal: gpu.ordinal, ..GpuProbe::default() };
    let bench = match Bench::new(gpu) {
        Ok(bench) => bench,
        Err(error) => {
            notes.push(format!("{} was not measured: {error}", gpu.label()));
            return probe;
        }
    };
    let mut note =
        |what: &str, measured| keep(&format!("{what} of {}", gpu.label()), measured, notes);
    probe.copy_driver = note("the driver's copy", bench.copy_driver());
    probe.to_device = note("the way from the host", bench.host(true));
    probe.from_device = note("the way to the host", bench.host(false));
    match module(&bench.device) {
        Ok(module) => {
            probe.copy = note("the copy", bench.stream_kernel(&module, "copy", 2));
            probe.read = note("reading", bench.stream_kernel(&module, "read", 1));
            probe.hop = note("the flag", bench.hop(&module));
            probe.barrier = note("the barrier", bench.barrier(&module, gpu));
            probe.launch = note("the launch", bench.launch(&module));
            probe.graph_launch = note("the graph's launch", bench.graph(&module));
        }
        Err(error) => notes.push(format!("kernels on {} were not measured: {error}", gpu.label())),
    }
    probe
}

/// The probe's kernels on a device.
pub(super) fn module(device: &Device) -> Result<Module> {
    let source = include_str!("probe.cuh");
    Module::load(device, &compile(source, "probe", &device.arch()?, &Options::default())?)
}

/// A device with two arrays to copy between.
struct Bench {
    device: Device,
    stream: Stream,
    from: Buffer,
    to: Buffer,
    sms: u32,
}

impl Bench {
    fn new(gpu: &Gpu) -> Result<Self> {
        let device = gpu.device()?;
        let stream = Stream::new(&device)?;
        // Much larger than the second-level cache, but a fraction of the free memory.
        let bytes = (device.memory()?.0.min(8 << 30) as usize / 8) & !0xfff;
        let (from, to) = (Buffer::new(&device, bytes)?, Buffer::new(&device, bytes)?);
        stream.fill(&from, 1)?;
        stream.fill(&to, 1)?;
        Ok(Self { device, stream, from, to, sms: gpu.sms })
    }

    /// The median time of the work that `body` queues.
    fn seconds(&self, body: impl FnMut(&Stream) -> Result<()>) -> Result<Option<f64>> {
        seconds(&self.stream, TRIES, body)
    }

    fn copy_driver(&self) -> Result<Option<f64>> {
        let bytes = self.to.bytes();
        let seconds = self.seconds(|stream| stream.copy(&self.to, 0, &self.from, 0, bytes))?;
        Ok(seconds.map(|seconds| 2.0 * bytes as f64 / seconds))
    }

    fn host(&self, up: bool) -> Result<Option<f64>> {
        let bytes = self.to.bytes().min(256 << 20);
        let mut host = Pinned::<u8>::new(&self.device, bytes)?;
        let seconds = self.seconds(|stream| {
            // SAFETY: `host` is not accessed, and not dropped before the wait below.
            unsafe {
                if up {
                    stream.upload_async(&self.to, 0, &host, 0..bytes)
                } else {
                    stream.download_async(&self.from, 0, &mut host, 0..bytes)
                }
            }
        });
        // No copy may outlive `host`, after an error either.
        self.stream.synchronize()?;
        let seconds = seconds?;
        Ok(seconds.map(|seconds| bytes as f64 / seconds))
    }

    /// The better of two grids, since devices prefer different numbers of blocks.
    fn stream_kernel(&self, module: &Module, name: &str, passes: u32) -> Result<Option<f64>> {
        let kernel = module.kernel(name)?;
        let bytes = self.from.bytes();
        let mut args = Args::new();
        args.buffer(&self.from);
        args.buffer(&self.to);
        args.value(bytes as u64 / 16);
        let mut best: Option<f64> = None;
        for blocks in [4, 32] {
            let launch = Launch::line(self.sms * blocks, THREADS);
            // SAFETY: two arrays of that many 16-byte parts, alive until the stream is done.
            let seconds =
                self.seconds(|stream| unsafe { stream.launch(&kernel, launch, &args) })?;
            let rate = seconds.map(|seconds| f64::from(passes) * bytes as f64 / seconds);
            best = best.into_iter().chain(rate).reduce(f64::max);
        }
        Ok(best)
    }

    fn hop(&self, module: &Module) -> Result<Option<f64>> {
        const ROUNDS: u32 = 2000;
        let flags = Buffer::zeroed(&self.stream, 256)?;
        let mut args = Args::new();
        args.buffer(&flags);
        args.value(ROUNDS);
        let dog = Watchdog::new(&self.device, PATIENCE)?;
        dog.argument(&mut args)?;
        // Two blocks that must both be resident.
        let launch = Launch::line(2, 32);
        self.rounds(&module.kernel("hop")?, launch, &args, &flags, &dog, 2 * ROUNDS)
    }

    fn barrier(&self, module: &Module, gpu: &Gpu) -> Result<Option<f64>> {
        const ROUNDS: u32 = 500;
        if !gpu.cooperative {
            return Ok(None);
        }
        let word = Buffer::zeroed(&self.stream, 256)?;
        let mut args = Args::new();
        args.buffer(&word);
        args.value(ROUNDS);
        let dog = Watchdog::new(&self.device, PATIENCE)?;
        dog.argument(&mut args)?;
        let launch = Launch::line(self.sms, 256);
        self.rounds(&module.kernel("barrier")?, launch, &args, &word, &dog, ROUNDS)
    }

    /// The median time of one of `count` rounds of a cooperative kernel over zeroed `words`.
    fn rounds(
        &self,
        kernel: &Kernel,
        launch: Launch,
        args: &Args,
        words: &Buffer,
        dog: &Watchdog,
        count: u32,
    ) -> Result<Option<f64>> {
        let mut tries = Vec::new();
        let (start, end) = (Event::new(&self.device)?, Event::new(&self.device)?);
        for _ in 0..TRIES {
            self.stream.fill(words, 0)?;
            self.stream.record(&start)?;
            // SAFETY: the kernel takes the words, the number of rounds and the watchdog.
            unsafe { self.stream.launch_cooperative(kernel, launch, args)? };
            self.stream.record(&end)?;
            dog.wait(&self.stream, 10 * PATIENCE)?;
            tries.push(start.seconds_until(&end)? / f64::from(count));
        }
        Ok(median(tries))
    }

    fn launch(&self, module: &Module) -> Result<Option<f64>> {
        const LAUNCHES: usize = 500;
        let seconds = self.seconds(|stream| self.empty(stream, module, LAUNCHES))?;
        Ok(seconds.map(|seconds| seconds / LAUNCHES as f64))
    }

    fn graph(&self, module: &Module) -> Result<Option<f64>> {
        const LAUNCHES: usize = 500;
        let mut graph = self.stream.capture(|stream| self.empty(stream, module, LAUNCHES))?;
        let seconds = self.seconds(|stream| graph.launch(stream))?;
        Ok(seconds.map(|seconds| seconds / LAUNCHES as f64))
    }

    fn empty(&self, stream: &Stream, module: &Module, count: usize) -> Result<()> {
        let kernel = module.kernel("nothing")?;
        let (launch, args) = (Launch::line(self.sms, 256), Args::new());
        for _ in 0..count {
            // SAFETY: the kernel takes nothing and touches nothing.
            unsafe { stream.launch(&kernel, launch, &args)? };
        }
        Ok(())
    }
}

/// The median time on the device's clock of the work that `body` queues, after a warm-up run.
pub(super) fn seconds(
    stream: &Stream,
    tries: usize,
    mut body: impl FnMut(&Stream) -> Result<()>,
) -> Result<Option<f64>> {
    let (start, end) = (Event::new(stream.device())?, Event::new(stream.device())?);
    let mut times = Vec::new();
    for number in 0..=tries {
        stream.record(&start)?;
        body(stream)?;
        stream.record(&end)?;
        stream.synchronize()?;
        if number > 0 {
            times.push(start.seconds_until(&end)?);
        }
    }
    Ok(median(times))
}
