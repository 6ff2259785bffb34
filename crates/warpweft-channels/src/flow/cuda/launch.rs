//! The device memory of one run, and its launches.

use std::cell::Cell;

use super::layout::{APART, Layout};
use super::spans;
use crate::flow::bytes::bytes_of;
use crate::flow::graph::FlowGraph;
use warpweft_core::cuda::{Args, Buffer, Device, Kernel, Launch, Stream};
use warpweft_core::error::{Error, Result};
use warpweft_core::run::Watch;

/// Words of the record of an error, and where the item begins: as in `flow.cuh`.
const RECORD: usize = 4 + 1024 / 4;
/// Counts of a kernel: items, firings, yields, least credits seen.
pub(super) const COUNTS: usize = 4;
/// Counts of cycles behind those of the kernels.
const CYCLES: usize = 3;

/// Why a kernel ended, as in `flow.cuh`.
pub(super) mod status {
    pub const RUNNING: u32 = 0;
    pub const DRAIN: u32 = 2;
    pub const STUCK: u32 = 3;
    pub const TOO_MANY: u32 = 4;
    pub const TOO_DEEP: u32 = 5;
    pub const FAULT: u32 = 6;
    pub const STOPPED: u32 = 7;
}

/// What an ended kernel says.
pub(super) struct Record {
    pub status: u32,
    pub kernel: usize,
    pub site: u32,
    /// The item that faulted.
    pub item: Vec<u8>,
}

/// The memory of one run.
pub(super) struct Memory {
    queues: Buffer,
    states: Buffer,
    items: Buffer,
    credits: Buffer,
    taken: Buffer,
    drained: Buffer,
    pending: Buffer,
    /// Items of the host, and those that progress has been told of.
    first_items: u32,
    told: Cell<u64>,
    record: Buffer,
    activity: Buffer,
    counts: Buffer,
    /// Firings for a timeline.
    spans: Buffer,
    first: Vec<(Buffer, usize)>,
    host: Vec<Option<Buffer>>,
    buffers: Vec<(Buffer, usize)>,
    nodes: Vec<u8>,
}

impl Memory {
    /// For `graph`, with the first items, credits and buffers uploaded.
    ///
    /// # Errors
    /// Too little memory; too many items; the driver's.
    pub fn new(
        device: &Device,
        stream: &Stream,
        graph: &FlowGraph,
        layout: &Layout,
        (warps, traced): (usize, bool),
    ) -> Result<Self> {
        let words = |count: usize| Buffer::zeroed(stream, (count * 4).max(16));
        let up = |bytes: &[u8]| -> Result<Buffer> {
            let buffer = Buffer::new(device, bytes.len().max(16))?;
            if !bytes.is_empty() {
                stream.upload(&buffer, 0, bytes)?;
            }
            Ok(buffer)
        };
        let first = graph.kernels.iter().map(|kernel| {
            let first = &graph.channels[kernel.input].first;
            Ok((up(first.bytes())?, first.len()))
        });
        let first = first.collect::<Result<Vec<_>>>()?;
        let pending: usize = first.iter().map(|(_, count)| count).sum();
        if pending > 1 << 30 {
            let what = format!("{pending} first items");
            return Err(Error::spec(what, "put at most 1073741824: run the graph several times"));
        }
        let buffers = graph.buffers.iter().map(|buffer| Ok((up(&buffer.bytes())?, buffer.len())));
        let mut counts: Vec<u64> = (0..graph.kernels.len() * COUNTS)
            .map(|k| if k % COUNTS == 3 { u64::MAX } else { 0 })
            .collect();
        counts.extend([0; CYCLES]);
        let memory = Self {
            queues: words(2 * APART * layout.served.len())?,
            states: words(layout.states)?,
            items: Buffer::new(device, (layout.items * 4).max(16))?,
            credits: words(APART * layout.credits)?,
            taken: words(APART * graph.kernels.len())?,
            drained: words(APART * graph.channels.len())?,
            pending: Buffer::from_slice(stream, &[pending as u32, 0, 0, 0])?,
            first_items: pending as u32,
            told: Cell::new(0),
            record: words(RECORD)?,
            activity: words(warps)?,
            counts: Buffer::from_slice(stream, &counts)?,
            spans: words(if traced { 2 * spans::WORDS * warps } else { 0 })?,
            first,
            host: host_memory(device, graph, layout)?,
            buffers: buffers.collect::<Result<_>>()?,
            nodes: layout.node_memory(graph),
        };
        let mut credits = vec![0u32; APART * layout.credits];
        for group in &layout.groups {
            for level in 0..group.levels {
                credits[APART * (group.credits + level)] = group.capacity as u32;
            }
        }
        stream.upload(&memory.credits, 0, &credits)?;
        Ok(memory)
    }

    /// The kernel's struct of arguments, as `ww_arguments` in `flow.cuh`.
    fn arguments(&self, layout: &Layout, patience: u64) -> Vec<u8> {
        let mut words: Vec<u64> = [
            &self.queues,
            &self.states,
            &self.items,
            &self.credits,
            &self.taken,
            &self.drained,
            &self.pending,
            &self.record,
            &self.activity,
            &self.counts,
            &self.spans,
        ]
        .map(Buffer::address)
        .into();
        words.push(patience);
        for (buffer, count) in &self.first {
            words.extend([buffer.address(), *count as u64]);
        }
        words.extend(self.host.iter().map(|host| host.as_ref().map_or(0, Buffer::address)));
        for (buffer, count) in &self.buffers {
            words.extend([buffer.address(), *count as u64]);
        }
        if self.buffers.is_empty() {
            words.extend([0, 0]);
        }
        let mut bytes = bytes_of(&words).to_vec();
        bytes.resize(layout.arguments - layout.node_bytes, 0);
        bytes.extend_from_slice(&self.nodes);
        bytes
    }

    /// Queues a launch, from where the last one ended.
    ///
    /// # Errors
    /// The driver's.
    pub fn launch(
        &self,
        (kernel, stream): (&Kernel, &Stream),
        layout: &Layout,
        (blocks, threads): (u32, u32),
        patience: u64,
    ) -> Result<()> {
        stream.fill(&self.record, 0)?;
        let mut args = Args::new();
        args.blob(&self.arguments(layout, patience), 16);
        // SAFETY: the argument is that of `channels_flow` in layout, whose size the kernel asserts; every buffer is as large
        // as the layout says, and the caller keeps them all past its wait.
        unsafe { stream.launch(kernel, Launch::line(blocks, threads), &args) }
    }

    /// Launches a kernel that was just loaded, with nothing to consume: what the driver does at a first launch is no part of a run's time.
    ///
    /// # Errors
    /// The driver's.
    pub fn launch_idle(
        &self,
        kernel: (&Kernel, &Stream),
        layout: &Layout,
        shape: (u32, u32),
    ) -> Result<()> {
        let stream = kernel.1;
        stream.upload(&self.pending, 0, &[0u32])?;
        self.launch(kernel, layout, shape, u64::MAX)?;
        stream.upload(&self.pending, 0, &[self.first_items])
    }

    /// Ends a running kernel, by another stream than its own: warps read the word between firings.
    ///
    /// # Errors
    /// The driver's.
    pub fn stop(&self, stream: &Stream) -> Result<()> {
        stream.upload(&self.record, 0, &[status::STOPPED])
    }

    /// Why the kernel ended.
    ///
    /// # Errors
    /// The driver's.
    pub fn record(&self, stream: &Stream) -> Result<Record> {
        let mut words = [0u32; RECORD];
        stream.download(&self.record, 0, &mut words)?;
        let item = words[4..].iter().flat_map(|word| word.to_ne_bytes()).collect();
        Ok(Record { status: words[0], kernel: words[1] as usize, site: words[2], item })
    }

    /// Moves what the channels of the host hold to the ends of `to`, and gives the device its room back.
    ///
    /// # Errors
    /// The driver's.
    pub fn drain(
        &self,
        stream: &Stream,
        graph: &FlowGraph,
        layout: &Layout,
        to: &mut [Vec<u8>],
    ) -> Result<()> {
        let mut drained = vec![0u32; APART * graph.channels.len()];
        stream.download(&self.drained, 0, &mut drained)?;
        for (channel, host) in self.host.iter().enumerate() {
            let Some(host) = host else { continue };
            let bytes =
                drained[APART * channel] as usize * graph.channels[channel].first.item_bytes();
            let at = to[channel].len();
            to[channel].resize(at + bytes, 0);
            if bytes > 0 {
                stream.download(host, 0, &mut to[channel][at..])?;
            }
            let group = layout.groups[layout.channels[channel].group];
            stream.upload(&self.credits, 4 * APART * group.credits, &[group.capacity as u32])?;
        }
        stream.fill(&self.drained, 0)
    }

    /// Adds to what `watch` knows of: how many of the host's items `kernels` kernels have taken.
    ///
    /// # Errors
    /// The driver's.
    pub fn tell(&self, stream: &Stream, kernels: usize, watch: &Watch<'_>) -> Result<()> {
        let mut taken = vec![0u32; APART * kernels];
        stream.download(&self.taken, 0, &mut taken)?;
        // Warps that find no more have counted on.
        let each = taken.iter().step_by(APART).zip(&self.first);
        let all = each.map(|(&taken, &(_, count))| u64::from(taken).min(count as u64)).sum();
        watch.done().add(all - self.told.replace(all));
        Ok(())
    }

    /// What was counted, and the items that are left.
    ///
    /// # Errors
    /// The driver's.
    pub fn counts(&self, stream: &Stream, kernels: usize) -> Result<(Vec<u64>, u32)> {
        let mut counts = vec![0u64; kernels * COUNTS];
        stream.download(&self.counts, 0, &mut counts)?;
        let mut pending = [0u32; 4];
        stream.download(&self.pending, 0, &mut pending)?;
        Ok((counts, pending[0]))
    }

    /// All cycles of warps, those in functions and those in which nothing fired, where they are measured.
    ///
    /// # Errors
    /// The driver's.
    pub fn cycles(&self, stream: &Stream, kernels: usize) -> Result<[u64; CYCLES]> {
        let mut cycles = [0; CYCLES];
        stream.download(&self.counts, 8 * kernels * COUNTS, &mut cycles)?;
        Ok(cycles)
    }

    /// The recorded firings of so many warps, as `spans.cuh` has them.
    ///
    /// # Errors
    /// The driver's.
    pub fn spans(&self, stream: &Stream, warps: usize) -> Result<Vec<u64>> {
        let mut words = vec![0; spans::WORDS * warps];
        stream.download(&self.spans, 0, &mut words)?;
        Ok(words)
    }

    /// Credits that are left, of all levels of all groups.
    ///
    /// # Errors
    /// The driver's.
    pub fn credits(&self, stream: &Stream, layout: &Layout) -> Result<Vec<u32>> {
        let mut credits = vec![0u32; APART * layout.credits];
        stream.download(&self.credits, 0, &mut credits)?;
        Ok(credits.into_iter().step_by(APART).collect())
    }

    /// The bytes of each buffer of the graph.
    ///
    /// # Errors
    /// The driver's.
    pub fn words(&self, stream: &Stream, graph: &FlowGraph) -> Result<Vec<Vec<u8>>> {
        let each = self.buffers.iter().zip(&graph.buffers).map(|((buffer, _), initial)| {
            let mut bytes = initial.bytes();
            if !bytes.is_empty() {
                stream.download(buffer, 0, &mut bytes)?;
            }
            Ok(bytes)
        });
        each.collect()
    }
}

/// Memory for what the host consumes.
fn host_memory(device: &Device, graph: &FlowGraph, layout: &Layout) -> Result<Vec<Option<Buffer>>> {
    let host = graph.channels.iter().zip(&layout.channels).map(|(node, channel)| {
        let bytes = layout.groups[channel.group].capacity * node.first.item_bytes();
        match node.consumer {
            None => Buffer::new(device, bytes.max(16)).map(Some),
            Some(_) => Ok(None),
        }
    });
    host.collect()
}
