//! The translation unit of a graph: its kernels' functions, its structure as types, and the scheduler.

use std::fmt::Write as _;

use super::layout::{ChannelLayout, Layout, WARPS};
use super::private::{Budget, Private, private, sums};
use super::spans::SPANS;
use crate::flow::graph::FlowGraph;
use crate::flow::plan::Plan;
use crate::flow::policy::FlowGpuPolicy;
use warpweft_core::cuda::{Cubin, Options, compile};
use warpweft_core::element::Unit;
use warpweft_core::error::Result;

/// What a kernel is compiled with.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// One atomic operation a firing.
    pub aggregated: bool,
    /// Clocks.
    pub timed: bool,
    /// Records of firings for a timeline.
    pub traced: bool,
    /// Private items.
    pub private: Option<Budget>,
}

impl Form {
    /// The usual one, without private items.
    pub const SHARED: Self = Self { aggregated: true, timed: false, traced: false, private: None };
}

/// CUDA C++ of the kernel for `graph` with blocks of so many warps, of which registers are to suffice for `resident` an SM; and where it
/// may fault.
pub(super) fn source(
    graph: &FlowGraph,
    plan: &Plan,
    layout: &Layout,
    (warps, resident): (u32, u32),
    form: Form,
) -> (String, Unit) {
    let Form { aggregated, timed, traced, private: budget } = form;
    let (own, words) = match budget {
        Some(budget) if aggregated => private(graph, plan, budget),
        _ => (vec![Private::default(); graph.kernels.len()], 0),
    };
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
#define WW_PADDED {}
#define WW_TIMED {}
#define WW_TRACED {}
#define WW_SPANS {SPANS}
{FAULTS}{}
#define WW_KERNELS {}
#define WW_CHANNELS {}
#define WW_BUFFERS {}
#define WW_NODE_BYTES {}
#define WW_ARGUMENTS_BYTES {}
#define WW_QUEUES {}
#define WW_PRIVATE_WORDS {}
#define WW_EACH_KERNEL(F) {}
WW_CONST ww::u32 WW_SERVED[] = {{{}}};
{}#include \"flow.cuh\"
",
        u32::from(aggregated),
        u32::from(layout.line > 1),
        u32::from(timed),
        u32::from(traced),
        unit.source(),
        graph.kernels.len(),
        graph.channels.len(),
        graph.buffers.len().max(1),
        layout.node_bytes,
        layout.arguments,
        layout.served.len(),
        words.max(1),
        cases.join(" "),
        served.collect::<Vec<_>>().join(", "),
        structure(graph, plan, layout, (&names, &own)),
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
fn structure(
    graph: &FlowGraph,
    plan: &Plan,
    layout: &Layout,
    (names, own): (&[String], &[Private]),
) -> String {
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
        text.push_str(&node(graph, plan, layout, number, (name, own[number])));
    }
    text
}

/// One kernel.
fn node(
    graph: &FlowGraph,
    plan: &Plan,
    layout: &Layout,
    number: usize,
    (name, own): (&str, Private),
) -> String {
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
    let Private { entries, at, chained } = own;
    let (sums, wide) = sums(graph, number);
    let buffers = kernel.node.uses().len().max(1);
    let mut targets = String::from("0u");
    for (j, edge) in edges.iter().enumerate() {
        targets = format!("j == {j} ? {}u : {targets}", edge.channel);
    }
    format!(
        "template<> struct ww_node<{number}> {{
  using Kernel = {name};
  static constexpr ww::u32 INPUT = {}, OWN = {}, OWN_BOUND = {}, OFFSET = {}, TOTAL = {};
  static constexpr ww::u32 ENTRIES = {entries}, PRIVATE_AT = {at}, SUMS = {sums}u, WIDE = {wide}u, BUFFERS = {buffers};
  static constexpr bool CHAINED = {chained};
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
        ("private.cuh", include_str!("private.cuh")),
        ("queue.cuh", include_str!("queue.cuh")),
        ("spans.cuh", include_str!("spans.cuh")),
        ("words.cuh", include_str!("../../cuda/words.cuh")),
        ("clocks.cuh", include_str!("../../cuda/clocks.cuh")),
    ])
}

/// Compiles the kernel of a graph for `arch` without a device.
///
/// # Errors
/// As [`FlowGraph::check`]; more constants than a kernel takes; the compiler's.
pub fn compile_check(graph: &FlowGraph, arch: &str) -> Result<Cubin> {
    compile_form(graph, arch, Form { private: Some(Budget::of(8)), ..Form::SHARED })
}

/// As [`compile_check`], with clocks, and with records for a timeline.
///
/// # Errors
/// The same.
#[doc(hidden)]
pub fn compile_check_traced(graph: &FlowGraph, arch: &str) -> Result<Cubin> {
    let private = Some(Budget::of(8));
    compile_form(graph, arch, Form { aggregated: true, timed: true, traced: true, private })
}

fn compile_form(graph: &FlowGraph, arch: &str, form: Form) -> Result<Cubin> {
    let plan = graph.plan()?;
    let layout = Layout::of(
        graph,
        &plan,
        &FlowGpuPolicy { collected: 1 << 10, ..FlowGpuPolicy::default() },
    )?;
    let (text, _) = source(graph, &plan, &layout, (WARPS, 1), form);
    compile(&text, "channels_flow", arch, &options())
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

/// The text of a graph for so many warps of one block, with at most so many private items of a warp, and all that the
/// kernel is given.
///
/// # Errors
/// As [`compile_check`].
#[doc(hidden)]
pub fn played(
    graph: &FlowGraph,
    (warps, entries): (u32, usize),
    policy: &FlowGpuPolicy,
) -> Result<Played> {
    let plan = graph.plan()?;
    let layout = Layout::of(graph, &plan, policy)?;
    let aggregated = policy.aggregated;
    let private = (entries > 0).then_some(Budget { warps: 1, entries });
    let form = Form { aggregated, private, ..Form::SHARED };
    let (text, _) = source(graph, &plan, &layout, (warps, 1), form);
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
