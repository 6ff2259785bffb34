//! Which items stay with their warp on a GPU (ADR 130): those that a kernel emits into the channel that it consumes.

use super::layout::WARPS;
use crate::flow::graph::FlowGraph;
use crate::flow::plan::Plan;

/// Bytes of static shared memory of a block, and what the scheduler itself has of them for a kernel and for a thread.
const SHARED: usize = 48 << 10;
const COUNTS: usize = WARPS as usize * 4 * 8;
const FAULTS: usize = WARPS as usize * 32 * 4;
/// Bytes that all blocks of an SM may take.
const OF_SM: usize = 200 << 10;
/// Entries of a ring at most.
const ENTRIES: usize = 1024;

/// What a warp keeps of a kernel's items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Private {
    /// Entries of the ring in shared memory; 0 without one.
    pub entries: usize,
    /// Words of the warp's shared memory before the ring.
    pub at: usize,
    /// Whether what is emitted may be consumed at once, from registers.
    pub chained: bool,
}

/// How much shared memory rings may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// Warps of an SM.
    pub warps: usize,
    /// Entries of a ring at most.
    pub entries: usize,
}

impl Budget {
    /// Where an SM is to hold so many warps.
    pub fn of(warps: usize) -> Self {
        Self { warps: warps.max(1), entries: ENTRIES }
    }
}

/// Of each kernel of a graph, and the words of a warp.
pub(super) fn private(graph: &FlowGraph, plan: &Plan, budget: Budget) -> (Vec<Private>, usize) {
    let block = SHARED - FAULTS - (COUNTS * graph.kernels.len()).min(SHARED / 2);
    let most = (block / WARPS as usize).min(OF_SM / budget.warps) / 4;
    // The kernel ends while warps hold items when a buffer of the host is full.
    let drains = graph.channels.iter().any(|channel| channel.consumer.is_none());
    let mut words = 0;
    let each = (0..graph.kernels.len()).map(|kernel| {
        let needs = &plan.needs[kernel];
        let group = &plan.groups[needs.own];
        let node = &graph.kernels[kernel];
        let edges = node.node.edges();
        let alone = !edges.is_empty() && edges.iter().all(|edge| edge.channel == node.input);
        if !alone {
            return Private::default();
        }
        if group.levels == 1 {
            let chained = edges.len() == 1 && edges[0].bound == 1;
            return Private { chained, ..Private::default() };
        }
        let each = graph.channels[node.input].first.item_bytes().div_ceil(4).max(1) + 1;
        let fitting = ((most - words) / each).min(budget.entries);
        let entries = if fitting == 0 { 0 } else { 1 << fitting.ilog2() };
        // `static_assert` of private.cuh.
        let least =
            (group.levels * needs.own_bound.saturating_sub(1)).saturating_add(31 + needs.own_bound);
        if drains || entries < least {
            return Private::default();
        }
        let at = words;
        words += entries * each;
        Private { entries, at, chained: false }
    });
    (each.collect(), words)
}

/// Of each buffer that a kernel uses, in the order of its parameters: bits of those to which all kernels only add integers, and of
/// those with words of 64 bits.
pub(super) fn sums(graph: &FlowGraph, kernel: usize) -> (u32, u32) {
    let only_added = |buffer: usize| {
        let mut uses = graph.kernels.iter().flat_map(|kernel| kernel.node.uses());
        uses.all(|used| used.buffer != buffer || used.only_added)
    };
    let (mut sums, mut wide) = (0, 0);
    for (j, used) in graph.kernels[kernel].node.uses().iter().enumerate().take(32) {
        let bytes = match used.word.1 {
            "u32" | "i32" => 4,
            "u64" | "i64" => 8,
            _ => continue,
        };
        if only_added(used.buffer) {
            sums |= 1 << j;
            wide |= u32::from(bytes == 8) << j;
        }
    }
    (sums, wide)
}
