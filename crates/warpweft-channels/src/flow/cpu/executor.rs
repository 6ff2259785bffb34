//! Runs a graph on the cores: each worker fires the deepest channel that it can, in batches.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::consumer::{Source, Step};
use super::flow::{Flow, SMALLER};
use crate::flow::buffer::HostBuffers;
use crate::flow::graph::FlowGraph;
use crate::flow::plan::Plan;
use crate::flow::policy::{FlowCpuPolicy, FlowPolicy};
use crate::flow::report::report;
use crate::flow::results::{ChannelCounts, Results};
use warpweft_core::cpu::Pool;
use warpweft_core::error::{Error, Result};
use warpweft_core::machine::Machine;
use warpweft_core::memory::check_room;
use warpweft_core::report::Report;
use warpweft_core::run::{Done, Watch};
use warpweft_core::trace::Trace;

/// Graphs on the cores of this process.
pub struct FlowCpuExecutor {
    pool: Pool,
    policy: FlowCpuPolicy,
    label: String,
    setup_seconds: f64,
}

impl FlowCpuExecutor {
    /// On `threads` threads of the cores of `machine`.
    ///
    /// # Errors
    /// As [`FlowCpuPolicy::check`]; as [`Pool::over`].
    pub fn new(machine: &Machine, threads: usize, policy: FlowCpuPolicy) -> Result<Self> {
        let begin = Instant::now();
        policy.check()?;
        let pool = Pool::over(&machine.cpu.cores, threads)?;
        let label = machine.cpu.label(threads);
        Ok(Self { pool, policy, label, setup_seconds: begin.elapsed().as_secs_f64() })
    }

    /// Runs `graph` until all items are consumed.
    ///
    /// # Errors
    /// As [`FlowGraph::check`]; more items than a kernel declares; items deeper than the levels; what a kernel panics
    /// for; channels in which nothing can fire.
    pub fn run(&mut self, graph: &FlowGraph) -> Result<(Results, Report)> {
        self.run_watched(graph, &Watch::default(), None)
    }

    /// As [`FlowCpuExecutor::run`], until `watch` says to end: workers see that between two firings.
    pub(in crate::flow) fn run_watched(
        &mut self,
        graph: &FlowGraph,
        watch: &Watch<'_>,
        trace: Option<&Trace>,
    ) -> Result<(Results, Report)> {
        let begin = Instant::now();
        let plan = graph.plan()?;
        let (threads, batch) = (self.pool.len(), self.policy.batch);
        let flow = begun(graph, &plan, (threads, batch), watch.done())?;
        let counts = Mutex::new(vec![ChannelCounts::default(); graph.channels.len()]);
        let setup = self.setup_seconds + begin.elapsed().as_secs_f64();
        let start = Instant::now();
        let each = |thread: &warpweft_core::cpu::Worker<'_>| {
            let mut worker = Worker::new(graph, &flow, thread.index, trace);
            worker.work();
            worker.add_counts(&mut counts.lock().unwrap_or_else(PoisonError::into_inner));
            Ok(())
        };
        let look = || {
            if watch.look() {
                flow.fail(watch.interrupted());
            }
            false
        };
        let run = match watch.is_needed() {
            true => self.pool.run_watched(Watch::EVERY, &look, each),
            false => self.pool.run(each),
        };
        run.map_err(|panic| bug(&panic.message))?;
        let seconds = start.elapsed().as_secs_f64();
        flow.outcome()?;
        let counts = counts.into_inner().unwrap_or_else(PoisonError::into_inner);
        let Flow { channels, buffers, .. } = flow;
        let (mut sinks, mut all) = (Vec::new(), Vec::new());
        for ((node, queues), mut count) in graph.channels.iter().zip(channels).zip(counts) {
            let sink = node.consumer.is_none().then(|| node.first.sink(queues));
            count.name = node.name.clone();
            sinks.push(sink);
            all.push(count);
        }
        let report = report(
            &all,
            vec![self.label.clone()],
            [seconds, setup],
            FlowPolicy::Cpu(self.policy).to_json(),
        );
        Ok((Results::new(graph.number, sinks, buffers, all), report))
    }
}

/// The state of a run before its first firing.
fn begun<'f>(
    graph: &FlowGraph,
    plan: &'f Plan,
    threads_and_batch: (usize, usize),
    done: &'f Done,
) -> Result<Flow<'f>> {
    let sizes = plan.group_of.iter().map(|group| {
        let group = group.map(|group| &plan.groups[group]);
        group.map_or((0, 0), |group| (group.capacity, group.levels))
    });
    let channels = || graph.channels.iter().map(|channel| &channel.first).zip(sizes.clone());
    // All at once: each alone might still fit.
    let bytes = channels().map(|(first, (capacity, levels))| first.queue_bytes(capacity, levels));
    check_room(bytes.fold(0, u64::saturating_add), SMALLER)?;
    let channels = channels().map(|(first, (capacity, levels))| first.queues(capacity, levels));
    let channels = channels.collect::<Result<Vec<_>>>()?;
    let buffers = HostBuffers(graph.buffers.iter().map(|buffer| buffer.shared()).collect());
    let consumed = graph.channels.iter().filter(|channel| channel.consumer.is_some());
    let pending = consumed.map(|channel| channel.first.len()).sum();
    Ok(Flow::new(plan, channels, (buffers, pending), threads_and_batch, done))
}

/// One thread.
struct Worker<'f> {
    flow: &'f Flow<'f>,
    me: usize,
    /// Of each channel that a kernel consumes, in the order in which they are served: its number, levels and kernel.
    steps: Vec<(usize, usize, Box<dyn Step + 'f>)>,
    trace: Option<(&'f Trace, String)>,
    /// Firings that were put off before the last wait that the timeline has.
    yields: u64,
}

/// Waits that a timeline does not show.
const BRIEF: Duration = Duration::from_micros(5);

impl<'f> Worker<'f> {
    fn new(graph: &'f FlowGraph, flow: &'f Flow<'f>, me: usize, trace: Option<&'f Trace>) -> Self {
        let steps = flow.plan.order.iter().filter_map(|&channel| {
            let kernel = graph.channels[channel].consumer?;
            let group = flow.plan.group_of[channel]?;
            let step = graph.kernels[kernel].node.consumer(flow, kernel);
            Some((channel, flow.plan.groups[group].levels, step))
        });
        let trace = trace.map(|trace| (trace, format!("worker {me}")));
        Self { flow, me, steps: steps.collect(), trace, yields: 0 }
    }

    fn work(&mut self) {
        let mut alone = false;
        while !self.flow.ended() {
            let seen = self.flow.activity();
            match self.step() {
                true => alone = false,
                false => self.wait(seen, &mut alone),
            }
        }
    }

    /// As [`Flow::wait`]; a timeline gets how long, and how many firings were put off since the last wait.
    fn wait(&mut self, seen: usize, alone: &mut bool) {
        let Some((trace, lane)) = &self.trace else {
            return self.flow.wait(self.me, seen, alone);
        };
        let from = Instant::now();
        self.flow.wait(self.me, seen, alone);
        let yields: u64 = self.steps.iter().map(|(_, _, step)| step.counts().yields).sum();
        let name = match yields - std::mem::replace(&mut self.yields, yields) {
            0 if from.elapsed() < BRIEF => return,
            0 => "waits".into(),
            yields => format!("waits, {yields} firings put off"),
        };
        trace.add(lane.clone(), name, from);
    }

    /// Fires once, if anything can: whole batches first, then any; the deepest first, and what the host holds last.
    fn step(&mut self) -> bool {
        let begin = self.trace.is_some().then(Instant::now);
        for least in [self.flow.batch, 1] {
            for (channel, levels, step) in &mut self.steps {
                if (0..*levels).rev().any(|level| step.fire(Source::Level(level), least)) {
                    return traced(&self.trace, self.flow, *channel, begin);
                }
            }
            for (channel, _, step) in &mut self.steps {
                if step.fire(Source::Host, least) {
                    return traced(&self.trace, self.flow, *channel, begin);
                }
            }
        }
        false
    }

    fn add_counts(&self, counts: &mut [ChannelCounts]) {
        for (channel, _, step) in &self.steps {
            counts[*channel].add(&step.counts());
        }
    }
}

/// Records the firing of a channel, and what the channel holds after it.
fn traced(
    trace: &Option<(&Trace, String)>,
    flow: &Flow<'_>,
    channel: usize,
    begin: Option<Instant>,
) -> bool {
    if let (Some((trace, lane)), Some(begin)) = (trace, begin) {
        let name = &flow.plan.names[channel];
        trace.add(lane.clone(), name.clone(), begin);
        trace.level(format!("items in {name}"), flow.items(channel) as f64);
    }
    true
}

/// Panics of kernels are caught; any other is a defect of this crate.
fn bug(message: &str) -> Error {
    Error::Device {
        stage: "running a channel-flow graph".into(),
        device: "the cores".into(),
        what: format!("a worker panicked: {message}"),
        hint: "please report this".into(),
    }
}
