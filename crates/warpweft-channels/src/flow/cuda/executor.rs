//! Runs a graph on one GPU: items and buffers in, launches until all items are consumed, results out.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::failure::{failed, held};
use super::launch::{COUNTS, Memory, status};
use super::layout::{Layout, WARPS};
use super::private::Budget;
use super::spans::spans;
use super::text::{Form, options, source};
use crate::flow::buffer::HostBuffers;
use crate::flow::graph::FlowGraph;
use crate::flow::plan::Plan;
use crate::flow::policy::{FlowGpuPolicy, FlowPolicy};
use crate::flow::report::report;
use crate::flow::results::{ChannelCounts, Results};
use crate::report::TimeShares;
use warpweft_core::cuda::{Device, Event, Kernel, Module, Stream, Watchdog, compile};
use warpweft_core::element::Unit;
use warpweft_core::error::Result;
use warpweft_core::report::Report;
use warpweft_core::run::{Ending, Watch};
use warpweft_core::trace::Trace;

/// How long nothing may fire before the run counts as stuck.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long a launch may take.
const LIMIT: Duration = Duration::from_secs(24 * 3600);

/// How often the timeline gets how many items channels hold.
const SAMPLES: Duration = Duration::from_millis(1);
/// How often progress gets how many of the host's items are consumed.
const PROGRESS: Duration = Duration::from_millis(50);

/// Graphs on one GPU.
pub struct FlowGpuExecutor {
    device: Device,
    stream: Stream,
    watchdog: Watchdog,
    policy: FlowGpuPolicy,
}

/// A compiled kernel, which later runs of the same graph use again, whatever executor they have.
struct Loaded {
    device: String,
    text: String,
    unit: Unit,
    kernel: Kernel,
}

/// What a run needs of a kernel.
struct Prepared {
    loaded: Arc<Loaded>,
    /// Blocks of a launch.
    blocks: u32,
    /// Whether it has not been launched yet.
    is_new: bool,
}

/// Compiled kernels, the last used at the end, and how many there are at most.
static KEPT: Mutex<Vec<Arc<Loaded>>> = Mutex::new(Vec::new());
const KEPT_MOST: usize = 16;

impl FlowGpuExecutor {
    /// On `device`.
    ///
    /// # Errors
    /// As [`FlowGpuPolicy::check`]; the driver's.
    pub fn new(device: &Device, policy: FlowGpuPolicy) -> Result<Self> {
        policy.check()?;
        Ok(Self {
            device: *device,
            stream: Stream::new(device)?,
            watchdog: Watchdog::new(device, PATIENCE)?,
            policy,
        })
    }

    /// Runs `graph` until all items are consumed.
    ///
    /// # Errors
    /// As [`FlowGraph::check`]; more items than a kernel declares; items deeper than the levels; what a kernel faults
    /// for; channels in which nothing can fire; too little memory; the compiler's and the driver's.
    pub fn run(&mut self, graph: &FlowGraph) -> Result<(Results, Report)> {
        self.run_watched(graph, &Watch::default(), None)
    }

    /// Compiles and loads the kernel of `graph`, so that its first run finds it.
    ///
    /// # Errors
    /// As [`FlowGraph::check`]; the compiler's and the driver's.
    pub fn compile(&self, graph: &FlowGraph) -> Result<()> {
        let plan = graph.plan()?;
        let layout = Layout::of(graph, &plan, &self.policy)?;
        self.prepare(graph, (&plan, &layout), false).map(drop)
    }

    /// The kernel of `graph`, compiled unless an earlier run was of the same.
    fn prepare(
        &self,
        graph: &FlowGraph,
        (plan, layout): (&Plan, &Layout),
        traced: bool,
    ) -> Result<Prepared> {
        let shape = (WARPS, (self.policy.warps / WARPS).max(1));
        let FlowGpuPolicy { aggregated, timed, private, .. } = self.policy;
        let private = private.then(|| Budget::of(self.policy.warps as usize));
        let form = Form { aggregated, timed, traced, private };
        let (text, unit) = source(graph, plan, layout, shape, form);
        let device = self.device.label();
        // The same text of another file faults elsewhere.
        let known = |loaded: &Arc<Loaded>| {
            loaded.device == device && loaded.text == text && loaded.unit.sites() == unit.sites()
        };
        let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let found = {
            let mut kept = kept();
            let at = kept.iter().position(known);
            at.map(|at| {
                let loaded = kept.remove(at);
                kept.push(loaded.clone());
                loaded
            })
        };
        let (loaded, is_new) = match found {
            Some(loaded) => (loaded, false),
            None => {
                let cubin = compile(&text, "channels_flow", &self.device.arch()?, &options())?;
                let kernel = Module::load(&self.device, &cubin)?.kernel("channels_flow")?;
                let loaded = Arc::new(Loaded { device: device.into(), text, unit, kernel });
                let oldest = {
                    let mut kept = kept();
                    kept.push(loaded.clone());
                    (kept.len() > KEPT_MOST).then(|| kept.remove(0))
                };
                // Unloaded without the lock.
                drop(oldest);
                (loaded, true)
            }
        };
        let fitting = loaded.kernel.blocks_per_sm(32 * WARPS, 0)?.max(1);
        let all = fitting.min(self.policy.warps / WARPS).max(1) * self.device.sms()?;
        let blocks = if self.policy.blocks == 0 { all } else { all.min(self.policy.blocks) };
        Ok(Prepared { loaded, blocks, is_new })
    }

    /// As [`FlowGpuExecutor::run`], until `watch` says to end: the host then sets a word that warps read between firings.
    pub(in crate::flow) fn run_watched(
        &mut self,
        graph: &FlowGraph,
        watch: &Watch<'_>,
        trace: Option<&Trace>,
    ) -> Result<(Results, Report)> {
        let begin = Instant::now();
        let plan = graph.plan()?;
        let layout = Layout::of(graph, &plan, &self.policy)?;
        let Prepared { loaded, blocks, is_new } =
            self.prepare(graph, (&plan, &layout), trace.is_some())?;
        let Loaded { unit, kernel, .. } = &*loaded;
        let warps = (blocks * WARPS) as usize;
        let shape = (warps, trace.is_some());
        let memory = Memory::new(&self.device, &self.stream, graph, &layout, shape)?;
        if is_new {
            memory.launch_idle((kernel, &self.stream), &layout, (blocks, 32 * WARPS))?;
        }
        self.stream.synchronize()?;
        let setup = begin.elapsed().as_secs_f64();
        let mut sinks = vec![Vec::new(); graph.channels.len()];
        let (mut seconds, launched) = (0.0, Instant::now());
        loop {
            // Short launches end before anything is checked while they run.
            if watch.is_needed() && watch.look() {
                return Err(watch.interrupted());
            }
            let from = Instant::now();
            let of = (graph, &plan, &layout);
            seconds += self.launch(&memory, (kernel, blocks), of, (watch, trace))?;
            if let Some(trace) = trace {
                trace.add(self.device.label(), "channels_flow", from);
            }
            if watch.is_needed() {
                memory.tell(&self.stream, graph.kernels.len(), watch)?;
            }
            let record = memory.record(&self.stream)?;
            match record.status {
                status::RUNNING | status::DRAIN => {}
                status::STOPPED => return Err(watch.interrupted()),
                _ => {
                    return Err({
                        let at = (&self.device, &self.stream);
                        failed(&record, (graph, &plan), (&layout, &memory), (unit, at))?
                    });
                }
            }
            memory.drain(&self.stream, graph, &layout, &mut sinks)?;
            if record.status == status::RUNNING {
                break;
            }
        }
        if let Some(trace) = trace {
            let words = memory.spans(&self.stream, warps)?;
            let names: Vec<_> = graph.kernels.iter().map(|kernel| kernel.node.name()).collect();
            trace.add_all(spans(&words, &names, self.device.label(), trace.at(launched)));
        }
        let policy = FlowGpuPolicy { blocks, ..self.policy };
        self.ended(graph, (&plan, &layout, &memory), (&sinks, policy), [seconds, setup])
    }

    /// The results and the report of a run whose items are all consumed, of which those in `sinks` came to the host.
    fn ended(
        &self,
        graph: &FlowGraph,
        (plan, layout, memory): (&Plan, &Layout, &Memory),
        (sinks, policy): (&[Vec<u8>], FlowGpuPolicy),
        seconds: [f64; 2],
    ) -> Result<(Results, Report)> {
        let channels = self.counted(graph, (plan, layout), memory)?;
        let words = memory.words(&self.stream, graph)?;
        let buffers =
            graph.buffers.iter().zip(&words).map(|(buffer, words)| buffer.restored(words));
        let sinks = graph.channels.iter().zip(sinks).map(|(channel, bytes)| {
            channel.consumer.is_none().then(|| channel.first.with_bytes(bytes))
        });
        let devices = vec![self.device.label().to_string()];
        let mut report = report(&channels, devices, seconds, FlowPolicy::Gpu(policy).to_json());
        let cycles = memory.cycles(&self.stream, graph.kernels.len())?;
        report.notes.extend(TimeShares::of(cycles).map(|shares| shares.to_string()));
        let buffers = HostBuffers(buffers.collect());
        Ok((Results::new(graph.number, sinks.collect(), buffers, channels), report))
    }

    /// One launch; its seconds.
    fn launch(
        &self,
        memory: &Memory,
        (kernel, blocks): (&Kernel, u32),
        (graph, plan, layout): (&FlowGraph, &Plan, &Layout),
        (watch, trace): (&Watch<'_>, Option<&Trace>),
    ) -> Result<f64> {
        let (device, stream) = (&self.device, &self.stream);
        let (start, end) = (Event::new(device)?, Event::new(device)?);
        self.watchdog.reset();
        stream.record(&start)?;
        let patience = PATIENCE.as_nanos() as u64;
        memory.launch((kernel, stream), layout, (blocks, 32 * WARPS), patience)?;
        stream.record(&end)?;
        let (second, mut ending) = (Stream::new(device)?, Ending::default());
        let (mut sampled, mut told) = (Instant::now(), Instant::now());
        let mut look = || {
            if watch.is_needed() && told.elapsed() >= PROGRESS {
                told = Instant::now();
                memory.tell(&second, graph.kernels.len(), watch)?;
            }
            if let Some(trace) = trace
                && sampled.elapsed() >= SAMPLES
            {
                sampled = Instant::now();
                for (channel, held) in held(plan, layout, &memory.credits(&second, layout)?) {
                    trace.level(format!("items in {}", graph.channels[channel].name), held as f64);
                }
            }
            match ending.look(watch, || memory.stop(&second))? {
                None => Ok(()),
                Some(since) => {
                    let credits = memory.credits(&second, layout)?;
                    let states = plan.states(held(plan, layout, &credits));
                    let stage = "ending a channel-flow graph";
                    Err(Ending::overdue(stage, self.device.label(), since, &states))
                }
            }
        };
        self.watchdog.wait_while(stream, LIMIT, &mut look)?;
        start.seconds_until(&end)
    }

    /// What was counted at each channel.
    fn counted(
        &self,
        graph: &FlowGraph,
        (plan, layout): (&Plan, &Layout),
        memory: &Memory,
    ) -> Result<Vec<ChannelCounts>> {
        let (counts, _) = memory.counts(&self.stream, graph.kernels.len())?;
        let each = graph.channels.iter().map(|node| {
            let name = node.name.clone();
            let Some(kernel) = node.consumer else {
                return ChannelCounts { name, ..ChannelCounts::default() };
            };
            let counts = &counts[kernel * COUNTS..][..COUNTS];
            let capacity = layout.groups[plan.needs[kernel].own].capacity as u64;
            let most = capacity.saturating_sub(counts[3]);
            ChannelCounts { name, items: counts[0], firings: counts[1], yields: counts[2], most }
        });
        Ok(each.collect())
    }
}
