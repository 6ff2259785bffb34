//! The translation unit of a graph: its kernels' functions, its structure as types, and the scheduler.

use std::fmt::Write as _;

use super::layout::{ChannelLayout, Layout};
use crate::flow::graph::FlowGraph;
use crate::flow::plan::Plan;
use warpweft_core::cuda::{Cubin, Options, compile};
use warpweft_core::element::Unit;
use warpweft_core::error::Result;

/// Warps of a block.
pub(super) const WARPS: u32 = 4;

/// CUDA C++ of the kernel for `graph` with blocks of so many warps, of which registers are to suffice for `resident` an SM; and where it
/// may fault. `aggregated`: with one atomic operation a firing; `timed`: with clocks.
pub(super) fn source(
    graph: &FlowGraph,
    plan: &Plan,
    layout: &Layout,
    (warps, resident): (u32, u32),
    (aggregated, timed): (bool, bool),
) -> (String, Unit) {
    let mut unit = Unit::new();
    // Graphs of kernels without outputs and buffers use these as well.
    crate::flow::define_ports(&mut unit);
    let names: Vec<_> = graph.kernels.iter().map(|kernel| kernel.node.cuda(&mut unit)).collect();
    let served = layout.served.iter().map(|(kernel, level)| (kernel << 16 | level).to_string());
    let cases: Vec<_> = (0..names.len()).map(|kernel| format!("F({kernel})")).collect();
    let text = format!(
        "#define WW_WARPS {warps}
#define WW_RESIDENT {resident}
#define WW_AGGREGATED {}
#define WW_TIMED {}
{FAULTS}{}
#define WW_KERNELS {}
#define WW_CHANNELS {}
#define WW_BUFFERS {}
#define WW_NODE_BYTES {}
#define WW_ARGUMENTS_BYTES {}
#define WW_QUEUES {}
#define WW_EACH_KERNEL(F) {}
WW_CONST ww::u32 WW_SERVED[] = {{{}}};
{}#include \"flow.cuh\"
",
        u32::from(aggregated),
        u32::from(timed),
        unit.source(),
        graph.kernels.len(),
        graph.channels.len(),
        graph.buffers.len().max(1),
        layout.node_bytes,
        layout.arguments,
        layout.served.len(),
        cases.join(" "),
        served.collect::<Vec<_>>().join(", "),
        structure(graph, plan, layout, &names),
    );
    (text, unit)
}

/// A fault is its own thread's.
const FAULTS: &str = "#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
__shared__ unsigned int ww_thread_fault[32 * WW_WARPS];
#define WW_THREAD_FAULT ww_thread_fault[threadIdx.x]
#endif
#define WW_FAULTED (WW_THREAD_FAULT != 0u)
#define WW_FAIL(site) (void)(WW_FAULTED ? 0u : WW_THREAD_FAULT = (site))
";

/// Channels, groups and nodes as types.
fn structure(graph: &FlowGraph, plan: &Plan, layout: &Layout, names: &[String]) -> String {
    let mut text = String::from(
        "template<ww::u32 C> struct ww_channel;
template<ww::u32 G> struct ww_group;
template<ww::u32 K> struct ww_node;
WW_FN void ww_begin_faults() { WW_THREAD_FAULT = 0; }
WW_FN ww::u32 ww_fetch_fault() { return WW_THREAD_FAULT; }
",
    );
    for (number, (channel, node)) in layout.channels.iter().zip(&graph.channels).enumerate() {
        let ChannelLayout { group, queue, stride, levels, shift, words, states, items } = *channel;
        let host = node.consumer.is_none();
        let _ = writeln!(
            text,
            "template<> struct ww_channel<{number}> {{
  static constexpr bool HOST = {host};
  static constexpr ww::u32 GROUP = {group}, QUEUE = {queue}, STRIDE = {stride}, LEVELS = {levels}, SHIFT = {}, WORDS = {};
  static constexpr ww::u64 STATES = {states}ull, ITEMS = {items}ull;
}};",
            shift.max(5),
            words.max(1),
        );
    }
    for (number, group) in layout.groups.iter().enumerate() {
        let _ = writeln!(
            text,
            "template<> struct ww_group<{number}> {{ static constexpr ww::u32 CREDITS = {}, LEVELS = {}; }};",
            group.credits, group.levels
        );
    }
    for (number, name) in names.iter().enumerate() {
        text.push_str(&node(graph, plan, layout, number, name));
    }
    text
}

/// One kernel.
fn node(graph: &FlowGraph, plan: &Plan, layout: &Layout, number: usize, name: &str) -> String {
    let kernel = &graph.kernels[number];
    let needs = &plan.needs[number];
    let mut others: Vec<(usize, usize, bool)> = needs
        .others
        .iter()
        .map(|need| (layout.groups[need.group].credits, need.bound, false))
        .collect();
    let total = kernel.node.total();
    let edges = kernel.node.edges();
    for edge in edges.iter().filter(|edge| graph.channels[edge.channel].consumer.is_none()) {
        let credits = layout.groups[layout.channels[edge.channel].group].credits;
        match others.iter_mut().find(|other| other.0 == credits) {
            Some(other) => other.1 = (other.1 + edge.bound).min(total),
            None => others.push((credits, edge.bound.min(total), true)),
        }
    }
    others.sort_unstable();
    let others: String = others
        .iter()
        .map(|(credits, bound, host)| format!(" f({credits}u, {bound}u, {host});"))
        .collect();
    let mut targets = String::from("0u");
    for (j, edge) in edges.iter().enumerate() {
        targets = format!("j == {j} ? {}u : {targets}", edge.channel);
    }
    format!(
        "template<> struct ww_node<{number}> {{
  using Kernel = {name};
  static constexpr ww::u32 INPUT = {}, OWN = {}, OWN_BOUND = {}, OFFSET = {}, TOTAL = {};
  static constexpr ww::u32 target(ww::u32 j) {{ return {targets}; }}
  template<class F> WW_FN static void others(F&& f) {{{others} }}
}};
",
        kernel.input,
        needs.own,
        needs.own_bound,
        layout.nodes[number],
        u32::try_from(total).unwrap_or(u32::MAX),
    )
}

/// What the text includes.
pub(super) fn options() -> Options {
    Options::including(&[
        ("flow.cuh", include_str!("flow.cuh")),
        ("queue.cuh", include_str!("queue.cuh")),
        ("words.cuh", include_str!("../../cuda/words.cuh")),
        ("clocks.cuh", include_str!("../../cuda/clocks.cuh")),
    ])
}

/// Compiles the kernel of a graph for `arch` without a device.
///
/// # Errors
/// As [`FlowGraph::check`]; more constants than a kernel takes; the compiler's.
pub fn compile_check(graph: &FlowGraph, arch: &str) -> Result<Cubin> {
    let plan = graph.plan()?;
    let layout = Layout::of(graph, &plan, 1 << 10)?;
    compile(
        &source(graph, &plan, &layout, (WARPS, 1), (true, false)).0,
        "channels_flow",
        arch,
        &options(),
    )
}

/// What a test needs to play the scheduler on the host.
#[doc(hidden)]
pub struct Played {
    /// The whole text, which includes `flow.cuh`.
    pub text: String,
    /// Capacities of the levels of all groups.
    pub credits: Vec<usize>,
    /// Words of state, and of items.
    pub words: [usize; 2],
    /// Of each kernel: its first items, and how many.
    pub first: Vec<(Vec<u8>, usize)>,
    /// Of each channel: bytes of an item, if the host consumes it.
    pub host: Vec<Option<usize>>,
    /// Of each buffer: its words, and how many.
    pub buffers: Vec<(Vec<u8>, usize)>,
    /// The kernels' constants.
    pub nodes: Vec<u8>,
}

/// The text of a graph for so many warps of one block, aggregated or not, with all that the kernel is given.
///
/// # Errors
/// As [`compile_check`].
#[doc(hidden)]
pub fn played(
    graph: &FlowGraph,
    (warps, aggregated): (u32, bool),
    collected: usize,
) -> Result<Played> {
    let plan = graph.plan()?;
    let layout = Layout::of(graph, &plan, collected)?;
    let (text, _) = source(graph, &plan, &layout, (warps, 1), (aggregated, false));
    let groups = layout.groups.iter();
    let first = graph.kernels.iter().map(|kernel| &graph.channels[kernel.input].first);
    let host = |channel: &crate::flow::graph::ChannelNode| {
        channel.consumer.is_none().then(|| channel.first.item_bytes())
    };
    Ok(Played {
        text,
        credits: groups.flat_map(|group| vec![group.capacity; group.levels]).collect(),
        words: [layout.states, layout.items],
        first: first.map(|first| (first.bytes().to_vec(), first.len())).collect(),
        host: graph.channels.iter().map(host).collect(),
        buffers: graph.buffers.iter().map(|buffer| (buffer.bytes(), buffer.len())).collect(),
        nodes: layout.node_memory(graph),
    })
}
