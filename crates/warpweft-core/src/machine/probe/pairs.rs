//! The links between GPUs, every ordered pair.

use std::time::Instant;

use super::gpu::{module, seconds};
use super::{PairProbe, keep, median};
use crate::cuda::{Args, Buffer, Device, Event, Launch, Stream};
use crate::error::Result;
use crate::machine::Gpu;

const TRIES: usize = 5;

pub(super) fn measure(gpus: &[Gpu], notes: &mut Vec<String>) -> Vec<PairProbe> {
    let mut pairs = Vec::new();
    for from in gpus {
        for to in gpus.iter().filter(|to| to.ordinal != from.ordinal) {
            let name = format!("the link from {} to {}", from.label(), to.label());
            let mut pair = PairProbe {
                from: from.ordinal,
                to: to.ordinal,
                copy: None,
                latency: None,
                hop: None,
            };
            let peer =
                |a: &Gpu, b: &Gpu| a.links.iter().any(|link| link.to == b.ordinal && link.peer);
            let both = peer(from, to) && peer(to, from);
            match Link::new(from, to, both) {
                Ok(link) => {
                    pair.copy = keep(&name, link.copy(), notes);
                    pair.latency = keep(&name, link.latency(), notes);
                    if both {
                        pair.hop = keep(&name, link.hop(), notes);
                    }
                }
                Err(error) => notes.push(format!("{name} was not measured: {error}")),
            }
            pairs.push(pair);
        }
    }
    pairs
}

struct Link {
    from: Device,
    to: Device,
    here: Stream,
    there: Stream,
    source: Buffer,
    sink: Buffer,
}

impl Link {
    fn new(from: &Gpu, to: &Gpu, peer: bool) -> Result<Self> {
        let (from, to) = (from.device()?, to.device()?);
        if peer {
            from.enable_peer(&to)?;
            to.enable_peer(&from)?;
        }
        let (here, there) = (Stream::new(&from)?, Stream::new(&to)?);
        let free = from.memory()?.0.min(to.memory()?.0);
        let bytes = (free / 8).min(256 << 20) as usize;
        let (source, sink) = (Buffer::zeroed(&here, bytes)?, Buffer::zeroed(&there, bytes)?);
        there.synchronize()?;
        Ok(Self { from, to, here, there, source, sink })
    }

    fn copy(&self) -> Result<Option<f64>> {
        let bytes = self.sink.bytes();
        let copy = |stream: &Stream| stream.copy(&self.sink, 0, &self.source, 0, bytes);
        Ok(seconds(&self.here, TRIES, copy)?.map(|seconds| bytes as f64 / seconds))
    }

    /// From call to arrival, as a program that waits for one copy sees it.
    fn latency(&self) -> Result<Option<f64>> {
        let mut tries = Vec::new();
        for number in 0..=50 {
            let start = Instant::now();
            self.here.copy(&self.sink, 0, &self.source, 0, 4096)?;
            self.here.synchronize()?;
            if number > 0 {
                tries.push(start.elapsed().as_secs_f64());
            }
        }
        Ok(median(tries))
    }

    /// Each kernel writes a flag in the other's memory and waits for one in its own.
    fn hop(&self) -> Result<Option<f64>> {
        const ROUNDS: u32 = 1000;
        // Both kernels normally run at once; if not, they end by themselves.
        const PATIENCE: u64 = 2_000_000_000;
        let ends = [(&self.from, &self.here), (&self.to, &self.there)];
        let kernels =
            [module(&self.from)?.kernel("hop_peer")?, module(&self.to)?.kernel("hop_peer")?];
        let flags = [Buffer::new(&self.from, 256)?, Buffer::new(&self.to, 256)?];
        let (start, end) = (Event::new(&self.from)?, Event::new(&self.from)?);
        let mut tries = Vec::new();
        for _ in 0..=TRIES {
            for (flag, (_, stream)) in flags.iter().zip(ends) {
                stream.fill(flag, 0)?;
                stream.synchronize()?;
            }
            for side in [1, 0] {
                let (_, stream) = ends[side];
                let mut args = Args::new();
                args.buffer(&flags[1 - side]);
                args.buffer(&flags[side]);
                args.value(u32::from(side == 0));
                args.value(ROUNDS);
                args.value(PATIENCE);
                if side == 0 {
                    stream.record(&start)?;
                }
                // SAFETY: the flags live until both streams are done, and each device may address
                // the other's memory.
                unsafe { stream.launch(&kernels[side], Launch::line(1, 1), &args)? };
            }
            self.here.record(&end)?;
            self.here.synchronize()?;
            self.there.synchronize()?;
            let mut last = [0u32];
            self.there.download(&flags[1], 0, &mut last)?;
            if last[0] == ROUNDS {
                tries.push(start.seconds_until(&end)? / f64::from(2 * ROUNDS));
            }
        }
        Ok(median(tries))
    }
}
