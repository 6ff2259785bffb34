//! Where everything of a graph lies in device memory.

use crate::flow::graph::FlowGraph;
use crate::flow::plan::Plan;
use crate::flow::policy::FlowGpuPolicy;
use warpweft_core::error::{Error, Result};

/// Warps of a block.
pub(super) const WARPS: u32 = 4;
/// Words between two that different warps add to, as in `queue.cuh`.
pub(super) const APART: usize = 1056;
/// Words of a cache line, as in `queue.cuh`.
const LINE: usize = 32;
/// The most bytes that a kernel takes as arguments, on every device.
const ARGUMENTS: usize = 4000;

/// A channel in device memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChannelLayout {
    /// The group of its credits: one of the plan's, or after those one of its own.
    pub group: usize,
    /// The number of its deepest level's queue, and how many numbers lie between two levels.
    pub queue: usize,
    pub stride: usize,
    pub levels: usize,
    /// log2 of the elements of a level.
    pub shift: u32,
    /// Words of an item.
    pub words: usize,
    /// Words of state, and words of items, before its own.
    pub states: usize,
    pub items: usize,
}

/// Credits of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupLayout {
    /// The number of its first level's.
    pub credits: usize,
    pub levels: usize,
    pub capacity: usize,
}

/// A graph in device memory.
#[derive(Debug)]
pub(super) struct Layout {
    /// Words between two elements' states: more than 1 where each has cache lines of its own.
    pub line: usize,
    pub channels: Vec<ChannelLayout>,
    /// The plan's, then one for each channel of the host.
    pub groups: Vec<GroupLayout>,
    /// Of each queue, in service order: kernel and level.
    pub served: Vec<(usize, usize)>,
    /// Of each kernel: where its constants begin.
    pub nodes: Vec<usize>,
    pub node_bytes: usize,
    /// Words of state and of items of all queues.
    pub states: usize,
    pub items: usize,
    /// Levels of all groups.
    pub credits: usize,
    /// Bytes of the kernel's arguments.
    pub arguments: usize,
}

/// The most items that one call of a kernel may emit into `channel`.
fn most_of_a_call(graph: &FlowGraph, channel: usize) -> usize {
    let each = graph.kernels.iter().map(|kernel| {
        let edges = kernel.node.edges();
        let bounds = edges.iter().filter(|edge| edge.channel == channel).map(|edge| edge.bound);
        bounds.sum::<usize>().min(kernel.node.total())
    });
    each.max().unwrap_or(0)
}

impl Layout {
    /// Of a graph, with room for as many items in each channel of the host as the policy says.
    ///
    /// # Errors
    /// More tables and constants than a kernel takes.
    pub fn of(graph: &FlowGraph, plan: &Plan, policy: &FlowGpuPolicy) -> Result<Self> {
        let FlowGpuPolicy { collected, padded, .. } = *policy;
        let mut layout = Self {
            line: if padded { LINE } else { 1 },
            channels: vec![ChannelLayout::default(); graph.channels.len()],
            groups: Vec::new(),
            served: Vec::new(),
            nodes: Vec::new(),
            node_bytes: 0,
            states: 0,
            items: 0,
            credits: 0,
            arguments: 0,
        };
        for group in 0..plan.groups.len() {
            layout.add_group(graph, plan, group);
        }
        for (channel, node) in graph.channels.iter().enumerate() {
            if node.consumer.is_none() {
                layout.channels[channel].group = layout.groups.len();
                layout.channels[channel].levels = 1;
                // With less room than one call may need, nothing would ever fire.
                let capacity = collected.max(node.capacity).max(most_of_a_call(graph, channel));
                layout.groups.push(GroupLayout { credits: layout.credits, levels: 1, capacity });
                layout.credits += 1;
            }
        }
        for kernel in &graph.kernels {
            layout.nodes.push(layout.node_bytes);
            layout.node_bytes += kernel.node.bytes().len().next_multiple_of(16);
        }
        layout.node_bytes = layout.node_bytes.max(16);
        let (kernels, channels) = (graph.kernels.len(), graph.channels.len());
        let tables = 12 * 8 + 16 * kernels + 8 * channels + 16 * graph.buffers.len().max(1);
        layout.arguments = tables.next_multiple_of(16) + layout.node_bytes;
        if layout.arguments > ARGUMENTS {
            return Err(Error::spec(
                format!(
                    "the constants of {kernels} kernels, with {channels} channels and {} buffers, have {} bytes on a GPU",
                    graph.buffers.len(),
                    layout.arguments
                ),
                format!("take at most {ARGUMENTS}: put large constants into buffers"),
            ));
        }
        Ok(layout)
    }

    /// The constants of all kernels, as the kernel's arguments hold them.
    pub fn node_memory(&self, graph: &FlowGraph) -> Vec<u8> {
        let mut nodes = vec![0u8; self.node_bytes];
        for (kernel, &at) in graph.kernels.iter().zip(&self.nodes) {
            let bytes = kernel.node.bytes();
            nodes[at..at + bytes.len()].copy_from_slice(bytes);
        }
        nodes
    }

    /// The queues of a group, its deepest level first.
    fn add_group(&mut self, graph: &FlowGraph, plan: &Plan, group: usize) {
        let levels = plan.groups[group].levels;
        let capacity = plan.groups[group].capacity;
        let members: Vec<usize> = (0..graph.channels.len())
            .filter(|&channel| plan.group_of[channel] == Some(group))
            .collect();
        let first = self.served.len();
        // A warp's 32 accesses are to one chunk at best.
        let elements = capacity.next_power_of_two().max(32);
        for (at, &channel) in members.iter().enumerate() {
            let words = graph.channels[channel].first.item_bytes().div_ceil(4).max(1);
            self.channels[channel] = ChannelLayout {
                group,
                queue: first + at,
                stride: members.len(),
                levels,
                shift: elements.trailing_zeros(),
                words,
                states: self.states,
                items: self.items,
            };
            self.states += levels * elements * self.line;
            self.items += levels * elements * words.next_multiple_of(self.line);
        }
        for level in (0..levels).rev() {
            let kernels = members.iter().filter_map(|&member| graph.channels[member].consumer);
            self.served.extend(kernels.map(|kernel| (kernel, level)));
        }
        self.groups.push(GroupLayout { credits: self.credits, levels, capacity });
        self.credits += levels;
    }
}
