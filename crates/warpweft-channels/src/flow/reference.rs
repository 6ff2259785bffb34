//! What every run must equal where the order of firings does not matter: the kernels, one item after the other.

use std::any::Any;

use super::buffer::HostBuffers;
use super::graph::{FlowGraph, KernelNode};
use super::handle::{ChannelId, Item};
use super::kernel::{ChannelKernel, Out, PortVisitor};
use super::plan::Plan;
use super::results::Results;
use warpweft_core::error::{Error, Result};

/// Items of all channels, without bounds, as a kernel sees them.
pub(super) struct Queue<'q> {
    /// Of each channel a vector of items with their levels.
    channels: &'q mut [Box<dyn Any>],
    buffers: &'q HostBuffers,
    plan: &'q Plan,
    /// The kernel that fires, and the channel that it consumes.
    kernel: (usize, usize),
    level: usize,
    /// Why the run ends.
    failure: Option<Error>,
}

/// A vector of items with their levels, whatever their type.
pub(super) type Leveled<T> = Vec<(T, usize)>;

/// Runs `graph` on this thread, one item after the other, the newest first.
///
/// # Errors
/// As [`FlowGraph::check`]; more items than a kernel declares; items deeper than the levels.
///
/// # Panics
/// Where a kernel does.
pub fn reference(graph: &FlowGraph) -> Result<Results> {
    let plan = graph.plan()?;
    let buffers = HostBuffers(graph.buffers.iter().map(|buffer| buffer.shared()).collect());
    let mut channels: Vec<Box<dyn Any>> =
        graph.channels.iter().map(|channel| channel.first.leveled()).collect();
    let mut counts = vec![0u64; graph.channels.len()];
    'items: loop {
        for &channel in &plan.order {
            let Some(kernel) = graph.channels[channel].consumer else { continue };
            let KernelNode { node, .. } = &graph.kernels[kernel];
            let mut queue = Queue {
                channels: &mut channels,
                buffers: &buffers,
                plan: &plan,
                kernel: (kernel, channel),
                level: usize::MAX,
                failure: None,
            };
            node.reference(&mut queue);
            if let Some(error) = queue.failure {
                return Err(error);
            }
            if queue.level != usize::MAX {
                counts[channel] += 1;
                continue 'items;
            }
        }
        break;
    }
    let sinks = channels.iter().zip(&graph.channels).map(|(items, channel)| {
        channel.consumer.is_none().then(|| channel.first.without_levels(items.as_ref()))
    });
    Ok(Results::new(graph, sinks.collect(), buffers, &counts))
}

/// Consumes the newest item of the kernel's channel, if there is one.
pub(super) fn consume<K: ChannelKernel>(kernel: &K, queue: &mut Queue<'_>) {
    let input = queue.channels[queue.kernel.1].downcast_mut::<Leveled<K::Item>>();
    let Some((item, level)) = input.and_then(Vec::pop) else { return };
    queue.level = level;
    let mut ports = K::ports();
    kernel.consume(item, &mut ports, &kernel.bind(queue.buffers));
    kernel.visit(&mut ports, &mut Push { queue, name: K::NAME, total: K::TOTAL });
}

struct Push<'p, 'q> {
    queue: &'p mut Queue<'q>,
    name: &'static str,
    total: usize,
}

impl PortVisitor for Push<'_, '_> {
    fn port<T: Item, const N: usize>(&mut self, channel: ChannelId<T>, out: &mut Out<T, N>) {
        let Queue { channels, plan, kernel, level, failure, .. } = &mut *self.queue;
        if out.overflowed() {
            failure.get_or_insert_with(|| too_many(self.name, N, self.total));
        }
        let own = plan.needs[kernel.0].own;
        let level = match plan.group_of[channel.index()] {
            None => Some(0),
            Some(group) => plan.level_after(own, *level, group),
        };
        let Some(level) = level.or(out.items().is_empty().then_some(0)) else {
            failure.get_or_insert_with(|| too_deep(self.name, plan.groups[own].levels));
            return;
        };
        if let Some(items) = channels[channel.index()].downcast_mut::<Leveled<T>>() {
            items.extend(out.items().iter().map(|&item| (item, level)));
        }
    }
}

/// The error of a kernel that emits more than it declares.
pub(super) fn too_many(name: &str, bound: usize, total: usize) -> Error {
    let in_all = match total {
        usize::MAX => String::new(),
        total => format!(", {total} in all"),
    };
    Error::spec(
        format!(
            "`{name}` emitted more for one item than it declares: {bound} into one output{in_all}"
        ),
        "declare as many as it may emit: `&mut Out<T, N>`, `#[channel_kernel(total = N)]`",
    )
}

/// The error of a kernel that emits from the last level.
pub(super) fn too_deep(name: &str, levels: usize) -> Error {
    Error::spec(
        format!("`{name}` emitted below level {levels} of its channel stack"),
        "take more levels, if the recursion comes to an end",
    )
}
