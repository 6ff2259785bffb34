//! What every run must equal where the order of firings does not matter: the kernels, one item after the other.

pub(super) mod queue;

use std::any::Any;

use self::queue::Queue;
use super::buffer::HostBuffers;
use super::graph::{FlowGraph, KernelNode};
use super::results::{ChannelCounts, Results};
use warpweft_core::error::Result;

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
    let counts = graph.channels.iter().zip(counts).map(|(channel, items)| ChannelCounts {
        name: channel.name.clone(),
        items,
        ..ChannelCounts::default()
    });
    Ok(Results::new(graph.number, sinks.collect(), buffers, counts.collect()))
}
