//! The experiments of "Fine-grain task aggregation and coordination on GPUs" (Orr et al., ISCA 2014) on channel-flow
//! graphs: figures 6, 15, 17, 18 and 19, on the first GPU or on the cores.

use clap::ValueEnum;
use serde::Serialize;
use warpweft::channels::flow::cpu::FlowCpuExecutor;
use warpweft::channels::flow::cuda::FlowGpuExecutor;
use warpweft::channels::flow::{
    ChannelCounts, FlowCpuPolicy, FlowGpuPolicy, FlowGraph, Out, Shared, channel_kernel,
};
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft_apps::fib;
use warpweft_apps::knapsack::Knapsack;
use warpweft_apps::paths::Paths;
use warpweft_terminal::output::{note, scaled, time};

use super::Kind;
use crate::bench::Options;

/// Which experiment.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Figure {
    /// The program of figure 6 as a graph, a single item that goes round, and a tree of far more items than its channels hold.
    #[value(name = "6")]
    Program,
    /// Speed-up over the number of SMs or cores, tasks of some microseconds each.
    #[value(name = "15")]
    Scaling,
    /// One atomic operation a firing, with elements next to one another or each on cache lines of its own, against one an item: what aggregation
    /// saves.
    #[value(name = "17")]
    Aggregation,
    /// Time and yields over the width of channels.
    #[value(name = "18")]
    Width,
    /// Active lanes a firing, a channel: how much of a warp is at work.
    #[value(name = "19")]
    Lanes,
}

impl Figure {
    /// As the command calls it.
    pub fn number(self) -> u32 {
        match self {
            Self::Program => 6,
            Self::Scaling => 15,
            Self::Aggregation => 17,
            Self::Width => 18,
            Self::Lanes => 19,
        }
    }
}

/// One line of an experiment.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    what: String,
    device: String,
    /// The median, the fastest and the slowest.
    seconds: f64,
    range: [f64; 2],
    items: u64,
    firings: u64,
    yields: u64,
    /// Items a firing: active lanes, of 32 on a GPU.
    lanes: f64,
    /// Of scaling: how many times as fast as the first line, over how many times as many units.
    #[serde(skip_serializing_if = "Option::is_none")]
    efficiency: Option<f64>,
}

/// An item of 16 bytes that goes round in its channel.
#[derive(Clone, Copy, Debug, PartialEq, Device)]
#[repr(C)]
struct Traveller {
    place: u64,
    hops: u32,
    tag: u32,
}

#[channel_kernel]
fn hop(at: Traveller, on: &mut Out<Traveller, 1>, ended: &Shared<u64>) {
    if at.hops == 0 {
        ended.add(0, at.tag as u64);
        return;
    }
    on.emit(Traveller { place: at.place + 1, hops: at.hops - 1, ..at });
}

/// Some microseconds of arithmetic.
#[channel_kernel]
fn work(seed: u32, steps: u32, sum: &Shared<u64>) {
    let mut x = seed as u64;
    for _ in 0..steps {
        x = x.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1442695040888963407);
    }
    sum.add(0, x >> 60);
}

#[channel_kernel]
fn leaves(n: u32, calls: &mut Out<u32, 2>, result: &Shared<u64>) {
    if n <= 2 {
        result.add(0, 1);
    } else {
        calls.emit(n - 1);
        calls.emit(n - 2);
    }
}

/// `count` channels, in each of which `width` travellers go round, with room for as many more.
fn rounds(count: usize, width: u32, hops: u32) -> FlowGraph {
    let mut graph = FlowGraph::new();
    let ended = graph.buffer([0u64]);
    for k in 0..count {
        let channel = graph.channel(&format!("round {k}"), 2 * width as usize);
        graph.connect(channel, hop(channel, ended));
        graph.put(channel, (0..width).map(|tag| Traveller { place: 0, hops, tag }));
    }
    graph
}

/// So many tasks of so many steps, each some nanoseconds, through one channel.
pub fn tasks(count: u32, steps: u32) -> FlowGraph {
    let mut graph = FlowGraph::new();
    let sum = graph.buffer([0u64]);
    let seeds = graph.channel("seeds", 1024);
    graph.connect(seeds, work(steps, sum));
    graph.put(seeds, 0..count);
    graph
}

/// The leaves of a recursion, by a stack of channels of so many items each.
pub fn fibonacci(n: u32, width: usize) -> FlowGraph {
    let mut graph = FlowGraph::new();
    let calls = graph.channel_stack("calls", width, n as usize);
    let result = graph.buffer([0u64]);
    graph.connect(calls, leaves(calls, result));
    graph.put(calls, [n]);
    graph
}

/// Nodes of a binary tree, so many levels below the root.
#[channel_kernel]
fn node(below: u32, nodes: &mut Out<u32, 2>, leaves: &Shared<u64>) {
    if below == 0 {
        leaves.add(0, 1);
    } else {
        nodes.emit(below - 1);
        nodes.emit(below - 1);
    }
}

/// A whole binary tree with a channel of so many items for each level.
fn whole_tree(below: u32, width: usize) -> FlowGraph {
    let mut graph = FlowGraph::new();
    let nodes = graph.channel_stack("nodes", width, below as usize + 1);
    let leaves = graph.buffer([0u64]);
    graph.connect(nodes, node(nodes, leaves));
    graph.put(nodes, [below]);
    graph
}

/// Where an experiment runs, and how often.
struct Bench<'b> {
    machine: &'b Machine,
    on_gpu: bool,
    options: &'b Options,
}

/// Runs `figure`: its rows, and what the table says above them.
///
/// # Errors
/// As a run; a GPU that is not there.
pub fn measure(
    figure: Figure,
    machine: &Machine,
    (only, options): (Option<Kind>, &Options),
) -> Result<(Vec<Row>, &'static str)> {
    let on_gpu = only != Some(Kind::Cpu) && !machine.gpus.is_empty();
    if only == Some(Kind::Gpu) && !on_gpu {
        return Err(Error::spec("--only gpu where there is no GPU", "see `warpweft info`"));
    }
    let bench = Bench { machine, on_gpu, options };
    Ok(match figure {
        Figure::Program => {
            (bench.program()?, "Figure 6: a hop, Fibonacci numbers, and a tree in narrow channels")
        }
        Figure::Scaling => (bench.scaling()?, "Figure 15: scaling over SMs or cores"),
        Figure::Aggregation => {
            (bench.aggregation()?, "Figure 17: atomic operations per firing or per item")
        }
        Figure::Width => (bench.width()?, "Figure 18: width of channels and yields"),
        Figure::Lanes => (bench.lanes()?, "Figure 19: active lanes per firing"),
    })
}

/// How a run differs from the usual.
#[derive(Clone, Copy)]
struct Setting {
    /// SMs with a block of four warps each, or threads; all if 0.
    units: u32,
    aggregated: bool,
    /// Whether each element has cache lines of its own.
    padded: bool,
    /// Warps of an SM.
    warps: u32,
    /// Whether warps may keep what they emit.
    private: bool,
}

const USUAL: Setting =
    Setting { units: 0, aggregated: true, padded: false, warps: 8, private: true };
/// All items go through their channel.
const SHARED: Setting = Setting { private: false, ..USUAL };

impl Bench<'_> {
    /// The median of the repeats, after one that compiles; what was counted in it.
    fn run(
        &self,
        what: String,
        graph: &FlowGraph,
        setting: Setting,
    ) -> Result<(Row, Vec<ChannelCounts>)> {
        let Setting { units, aggregated, padded, warps, private } = setting;
        note(&what);
        let mut runs = vec![];
        let device = if self.on_gpu {
            let gpu = &self.machine.gpus[0];
            let usual =
                FlowGpuPolicy { aggregated, padded, warps, private, ..FlowGpuPolicy::default() };
            let policy = match units {
                0 => usual,
                // Blocks go to SMs that have none first.
                blocks => FlowGpuPolicy { warps: 4, blocks, ..usual },
            };
            let mut executor = FlowGpuExecutor::new(&gpu.device()?, policy)?;
            for _ in 0..=self.options.repeats {
                runs.push(executor.run(graph)?);
            }
            gpu.label()
        } else {
            let threads = if units == 0 { self.machine.cpu.threads() } else { units as usize };
            let batch = if aggregated { 32 } else { 1 };
            let policy = FlowCpuPolicy { batch };
            let mut executor = FlowCpuExecutor::new(self.machine, threads, policy)?;
            for _ in 0..=self.options.repeats {
                runs.push(executor.run(graph)?);
            }
            super::cores(threads)
        };
        runs.remove(0);
        runs.sort_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds));
        let range = [runs[0].1.seconds, runs[runs.len() - 1].1.seconds];
        let (results, report) = runs.swap_remove(runs.len() / 2);
        let counts = results.channels().to_vec();
        let sum = |of: fn(&ChannelCounts) -> u64| counts.iter().map(of).sum::<u64>();
        let [items, firings, yields] = [sum(|c| c.items), sum(|c| c.firings), sum(|c| c.yields)];
        let lanes = items as f64 / firings.max(1) as f64;
        let seconds = report.seconds;
        let row =
            Row { what, device, seconds, range, items, firings, yields, lanes, efficiency: None };
        Ok((row, counts))
    }

    fn program(&self) -> Result<Vec<Row>> {
        let hops = if self.on_gpu { 20_000 } else { 2000 };
        let (n, below) = if self.on_gpu { (40, 25) } else { (27, 18) };
        // Of all items, the last level is half.
        let items = (2u64 << below) - 1;
        let mut rows = vec![];
        for (what, graph, expect) in [
            (format!("one item, {hops} hops"), rounds(1, 1, hops), u64::from(hops) + 1),
            (format!("fib({n})"), fibonacci(n, 65536), 2 * fib::plain(n) - 1),
            (format!("a tree of {items} items"), whole_tree(below, 8192), items),
        ] {
            // Cores have no private items.
            let settings: &[(&str, Setting)] = match self.on_gpu {
                true => &[
                    ("", USUAL),
                    (", 16 warps", Setting { warps: 16, ..USUAL }),
                    (", all through the channel", SHARED),
                ],
                false => &[("", USUAL)],
            };
            for &(how, setting) in settings {
                let (row, _) = self.run(format!("{what}{how}"), &graph, setting)?;
                if row.items != expect {
                    let what = format!("{}: {} items instead of {expect}", row.what, row.items);
                    return Err(Error::spec(what, "report this as a bug"));
                }
                rows.push(row);
            }
        }
        Ok(rows)
    }

    fn scaling(&self) -> Result<Vec<Row>> {
        let (all, unit) = match self.on_gpu {
            true => (self.machine.gpus[0].sms, "SMs"),
            false => (self.machine.cpu.threads() as u32, "threads"),
        };
        let least = if self.on_gpu { 8 } else { 1 };
        let mut units: Vec<u32> = std::iter::successors(Some(least), |units| Some(2 * units))
            .take_while(|&units| units < all)
            .collect();
        units.push(all);
        let (count, steps) = if self.on_gpu { (1 << 19, 1000) } else { (1 << 14, 5000) };
        let graph = tasks(count, steps);
        let mut rows: Vec<Row> = vec![];
        for &number in &units {
            let setting = Setting { units: number, ..USUAL };
            let (mut row, _) = self.run(format!("tasks on {number} {unit}"), &graph, setting)?;
            let first = rows.first().unwrap_or(&row).seconds;
            let more = f64::from(number) / f64::from(units[0]);
            row.efficiency = Some(first / row.seconds / more);
            rows.push(row);
        }
        Ok(rows)
    }

    fn aggregation(&self) -> Result<Vec<Row>> {
        let (width, hops) = if self.on_gpu { (1 << 17, 128) } else { (1 << 12, 16) };
        // More warps hide more of the latency of atomics, until the channel's words are busy.
        let warps: &[u32] = if self.on_gpu { &[8, 16, 32] } else { &[8] };
        let mut rows = vec![];
        for channels in [1, 8] {
            let graph = rounds(channels, width, hops);
            // Rings on cores have no padded form.
            let forms: &[(&str, bool, bool)] = match self.on_gpu {
                true => &[
                    ("firing", true, false),
                    ("firing, padded", true, true),
                    ("item", false, false),
                ],
                false => &[("firing", true, false), ("item", false, false)],
            };
            for &(each, aggregated, padded) in forms {
                for &warps in warps {
                    let on = if self.on_gpu { format!(", {warps} warps") } else { String::new() };
                    let what = format!("{channels} channels, atomics per {each}{on}");
                    let setting = Setting { aggregated, padded, warps, ..SHARED };
                    rows.push(self.run(what, &graph, setting)?.0);
                }
            }
        }
        Ok(rows)
    }

    fn width(&self) -> Result<Vec<Row>> {
        let n = if self.on_gpu { 34 } else { 24 };
        let widths = [64, 256, 1024, 4096, 16384, 65536];
        let each = widths.into_iter().map(|width| {
            let what = format!("fib({n}), {width} items a level");
            Ok(self.run(what, &fibonacci(n, width), SHARED)?.0)
        });
        each.collect()
    }

    fn lanes(&self) -> Result<Vec<Row>> {
        let n = if self.on_gpu { 34 } else { 24 };
        let paths = Paths {
            size: [480, 270],
            samples: if self.on_gpu { 64 } else { 1 },
            bounces: 24,
            capacity: 65536,
            furnace: false,
        };
        let graphs = [
            ("fib", fibonacci(n, 16384)),
            ("knapsack", Knapsack::new(100, 1)?.graph().0),
            ("paths", paths.graph()?.0),
        ];
        let mut rows = vec![];
        for (name, graph) in graphs {
            let (row, counts) = self.run(name.to_string(), &graph, USUAL)?;
            rows.extend(counts.into_iter().filter(|count| count.firings > 0).map(|count| Row {
                what: format!("{name}: {}", count.name),
                items: count.items,
                firings: count.firings,
                yields: count.yields,
                lanes: count.items as f64 / count.firings as f64,
                ..row.clone()
            }));
        }
        Ok(rows)
    }
}

/// A line a row.
pub fn table(title: &str, rows: &[Row]) -> String {
    let mut text = format!("{title}\n");
    for row in rows {
        let Row { what, device, seconds, range, items, firings, yields, lanes, efficiency } = row;
        let efficiency =
            efficiency.map_or_else(String::new, |value| format!(", efficiency {value:.2}"));
        text.push_str(&format!(
            "  {what:<44} {device:<24} {:>9} ({} to {}), {}items/s, {firings} firings of {lanes:.1}, {yields} yields{efficiency}\n",
            time(*seconds),
            time(range[0]),
            time(range[1]),
            scaled(*items as f64 / seconds),
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpweft::channels::flow::cuda::compile_check;
    use warpweft::channels::flow::reference;

    #[test]
    fn travellers_hop_as_often_as_they_should() {
        let results = reference(&rounds(2, 9, 5)).unwrap();
        let items: Vec<_> = results.channels().iter().map(|channel| channel.items).collect();
        assert_eq!(items, [9 * 6, 9 * 6]);
        let graphs = [rounds(8, 64, 1), tasks(9, 9), fibonacci(9, 64), whole_tree(3, 64)];
        if let Err(error) = warpweft::cuda::compiler() {
            return println!("skipped: {error}");
        }
        graphs.iter().for_each(|graph| drop(compile_check(graph, "sm_90").unwrap()));
    }
}
