//! Channel-flow graphs on the cores: every item is consumed once, whatever the threads and the capacities.

use std::cell::RefCell;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use warpweft::channels::flow::{
    BufferId, ChannelId, FlowCpuExecutor, FlowCpuPolicy, FlowGraph, FlowPolicy, Out, Results, Run,
    Shared, channel_kernel, reference,
};
use warpweft::prelude::{Device, Error, Machine};
use warpweft::run::Target;

#[channel_kernel]
fn fib(n: u32, calls: &mut Out<u32, 2>, result: &Shared<u64>) {
    if n <= 2 {
        result.add(0, 1);
    } else {
        calls.emit(n - 1);
        calls.emit(n - 2);
    }
}

/// A point that moves until it has no steps left.
#[derive(Clone, Copy, Debug, PartialEq, Device)]
#[repr(C)]
struct Walker {
    place: u64,
    steps: u16,
    tag: u8,
}

/// Walks on, or turns to the other channel of the cycle, or ends.
#[channel_kernel(total = 1)]
fn walk(
    walker: Walker,
    stride: u64,
    on: &mut Out<Walker, 1>,
    turned: &mut Out<Walker, 1>,
    ended: &mut Out<(u64, u64), 1>,
    visits: &Shared<i64>,
) {
    visits.add(0, 1);
    visits.max(1, walker.steps as i64);
    if walker.steps == 0 {
        ended.emit((walker.place, walker.tag as u64));
        return;
    }
    let place = walker.place.wrapping_mul(6364136223846793005).wrapping_add(stride);
    let next = Walker { place, steps: walker.steps - 1, ..walker };
    if (place >> 33) & 1 == 0 {
        on.emit(next);
    } else {
        turned.emit(next);
    }
}

fn machine() -> Machine {
    Machine::detect().unwrap()
}

fn fib_graph(capacity: usize, levels: usize, n: u32) -> (FlowGraph, impl Fn(u64) -> bool) {
    let mut graph = FlowGraph::new();
    let calls = match levels {
        1 => graph.channel("calls", capacity),
        levels => graph.channel_stack("calls", capacity, levels),
    };
    let result = graph.buffer([0u64]);
    graph.connect(calls, fib(calls, result));
    graph.put(calls, [n]);
    let (mut this, mut next) = (0u64, 1u64);
    (0..n).for_each(|_| (this, next) = (next, this + next));
    (graph, move |found| found == this)
}

#[test]
fn a_recursion_fits_into_the_least_channels() {
    let machine = machine();
    for threads in [1, 2, 5] {
        for (capacity, batch) in [(2, 32), (3, 1), (7, 4), (4096, 32)] {
            let (graph, right) = fib_graph(capacity, 20, 20);
            let mut executor =
                FlowCpuExecutor::new(&machine, FlowCpuPolicy { threads, batch }).unwrap();
            for _ in 0..5 {
                let (results, report) = executor.run(&graph).unwrap();
                let calls = &results.channels()[0];
                assert!(right(report.done.div_ceil(2)), "{report}");
                assert_eq!((calls.items, calls.name.as_str()), (report.done, "calls"));
                assert!(calls.most <= capacity as u64 && calls.firings <= calls.items);
            }
        }
    }
}

/// Two channels in a cycle and one to the host.
fn walkers(capacities: [usize; 2], count: u64) -> (FlowGraph, ChannelId<(u64, u64)>) {
    let mut graph = FlowGraph::new();
    let [a, b] = [graph.channel("a", capacities[0]), graph.channel("b", capacities[1])];
    let ended = graph.channel("ended", 1);
    let visits = graph.buffer([0i64, i64::MIN]);
    graph.connect(a, walk(3, a, b, ended, visits));
    graph.connect(b, walk(5, b, a, ended, visits));
    graph.put(a, (0..count).map(|k| Walker { place: k, steps: (k % 50) as u16, tag: k as u8 }));
    (graph, ended)
}

#[test]
fn a_cycle_of_channels_never_fills_up() {
    let machine = machine();
    for capacities in [[1, 1], [1, 9], [5, 2], [1000, 1000]] {
        let (graph, ended) = walkers(capacities, 700);
        let expect = reference(&graph).unwrap();
        let sorted = |items: &[(u64, u64)]| {
            let mut items = items.to_vec();
            items.sort_unstable();
            items
        };
        for threads in [1, 3] {
            let mut executor = FlowCpuExecutor::new(&machine, FlowCpuPolicy::of(threads)).unwrap();
            let (results, _) = executor.run(&graph).unwrap();
            assert_eq!(sorted(results.items(ended)), sorted(expect.items(ended)));
            assert_eq!(results.items(ended).len(), 700);
            for (found, expect) in results.channels().iter().zip(expect.channels()) {
                assert_eq!(found.items, expect.items, "{}", found.name);
            }
        }
    }
}

/// How a random graph's kernels go on: by the item's own bits.
#[channel_kernel]
fn scatter(
    item: u64,
    most: u64,
    near: &mut Out<u64, 3>,
    far: &mut Out<u64, 2>,
    host: &mut Out<u64, 1>,
    sums: &Shared<u64>,
    words: &Shared<u32>,
) {
    let depth = item & 15;
    let mut bits = item.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits ^= bits >> 29;
    sums.add((bits % sums.len() as u64) as usize, item);
    words.min(0, bits as u32);
    if words.compare_exchange(1, 0, 7) != 0 {
        words.exchange(2, 9);
    }
    if depth >= most {
        host.emit(item);
        return;
    }
    for k in 0..(bits >> 8) % 4 {
        near.emit((bits.wrapping_add(k) & !15) | (depth + 1));
    }
    for k in 0..(bits >> 16) % 3 {
        far.emit((bits.rotate_left(9).wrapping_add(k) & !15) | (depth + 1));
    }
}

/// Its buffers, and the channel that the host consumes.
struct Random {
    graph: FlowGraph,
    host: ChannelId<u64>,
    sums: BufferId<u64>,
    words: BufferId<u32>,
}

/// A graph of `count` channels, from each of which a kernel leads to two later ones, or, in a stack, back to itself.
fn random(seed: u64, count: usize) -> Random {
    let mut seed = seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1;
    let mut draw = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    let mut graph = FlowGraph::new();
    let mut channels: Vec<(ChannelId<u64>, bool)> = Vec::new();
    for k in 0..count {
        let (capacity, is_stack) = (5 + draw(40), draw(2) == 0);
        let name = format!("channel {k}");
        channels.push(match is_stack {
            true => (graph.channel_stack(&name, capacity, 17), true),
            false => (graph.channel(&name, capacity), false),
        });
    }
    let host = graph.channel("host", 1);
    let sums = graph.buffer(vec![0u64; 1 + draw(9)]);
    let words = graph.buffer([u32::MAX, 0, 0]);
    for (k, &(channel, is_stack)) in channels.iter().enumerate() {
        // Back to itself from a stack only: others could fill up.
        let mut target = || match is_stack && draw(2) == 0 {
            true => channel,
            false => channels.get(k + 1 + draw(count - k)).map_or(host, |later| later.0),
        };
        let (near, far) = (target(), target());
        let most = 6 + (k % 4) as u64;
        graph.connect(channel, scatter(most, near, far, host, sums, words));
    }
    let first = 1 + draw(60) as u64;
    graph.put(channels[0].0, (0..first).map(|k| k << 20));
    graph.put(channels[draw(count)].0, [77 << 9]);
    Random { graph, host, sums, words }
}

#[test]
fn random_graphs_consume_every_item_once() {
    let machine = machine();
    let mut executors: Vec<_> = [(1, 32), (2, 3), (4, 1)]
        .map(|(threads, batch)| {
            FlowCpuExecutor::new(&machine, FlowCpuPolicy { threads, batch }).unwrap()
        })
        .into();
    let mut items = 0;
    for seed in 1..=200 {
        let Random { graph, host, sums, words } = random(seed, 1 + seed as usize % 6);
        let expect = reference(&graph).unwrap();
        let sorted = |results: &Results| {
            let mut items = results.items(host).to_vec();
            items.sort_unstable();
            items
        };
        for executor in &mut executors {
            let (results, report) = executor.run(&graph).unwrap();
            items += report.done;
            for (found, expect) in results.channels().iter().zip(expect.channels()) {
                assert!(found.name == "host" || found.items == expect.items, "{seed}: {found:?}");
            }
            assert_eq!(results.buffer(sums), expect.buffer(sums), "graph {seed}");
            assert_eq!(results.buffer(words), expect.buffer(words), "graph {seed}");
            assert!(sorted(&results) == sorted(&expect), "graph {seed} gave other items");
        }
    }
    assert!(items > 100_000, "only {items} items");
}

/// Emits what the item says into an output for two.
#[channel_kernel]
fn liar(count: u32, on: &mut Out<u32, 2>) {
    for _ in 0..count {
        on.emit(0);
    }
}

/// As many into each of two outputs, of which one may take two and both together three.
#[channel_kernel(total = 3)]
fn both(count: u32, a: &mut Out<u32, 2>, b: &mut Out<u32, 2>) {
    for k in 0..count {
        a.emit(k);
        b.emit(k);
    }
}

#[channel_kernel]
fn divide(item: Walker, quotients: &mut Out<u64, 1>) {
    quotients.emit(item.place / item.steps as u64);
}

#[channel_kernel]
fn outside(index: u32, words: &Shared<u32>) {
    words.add(index as usize, 1);
}

#[derive(Clone, Copy, Device)]
#[repr(C)]
struct Large {
    words: [u64; 200],
}

fn told(graph: &FlowGraph) -> String {
    let mut executor = FlowCpuExecutor::new(&machine(), FlowCpuPolicy::of(2)).unwrap();
    executor.run(graph).map(|(_, report)| report.to_string()).unwrap_err().to_string()
}

#[test]
fn graphs_that_can_not_run_are_refused_with_what_to_do() {
    let refused = |graph: &FlowGraph| graph.check().unwrap_err().to_string();
    let mut graph = FlowGraph::new();
    assert!(refused(&graph).contains("a graph without kernels"));
    let calls = graph.channel("calls", 1);
    let result = graph.buffer([0u64]);
    graph.connect(calls, fib(calls, result));
    assert!(refused(&graph).contains("no first items"));
    graph.put(calls, [3]);
    assert_eq!(
        refused(&graph),
        "channel `calls` holds 1 items, but one item of `fib` may emit 2 into it; help: take a capacity of at least 2"
    );
    graph.connect(calls, fib(calls, result));
    assert!(refused(&graph).contains("channel `calls` is connected to two kernels"));
    let mut other = FlowGraph::new();
    let near = other.channel("near", 9);
    other.connect(near, fib(calls, other_buffer(&mut graph)));
    other.put(near, [9]);
    assert!(
        refused(&other).contains("`fib` uses buffer 1 of another graph"),
        "{}",
        refused(&other)
    );
    let mut uneven = FlowGraph::new();
    let [a, b] = [uneven.channel("a", 9), uneven.channel_stack("b", 9, 4)];
    let ended = uneven.channel("ended", 1);
    let visits = uneven.buffer([0i64; 2]);
    uneven.connect(a, walk(3, a, b, ended, visits));
    uneven.connect(b, walk(3, b, a, ended, visits));
    uneven.put(a, [Walker { place: 0, steps: 1, tag: 0 }]);
    assert!(refused(&uneven).contains("channels `a` and `b` of one cycle have 1 and 4 levels"));
    let mut large = FlowGraph::new();
    let _: ChannelId<Large> = large.channel("large", 9);
    assert!(refused(&large).contains("items of channel `large` have 1600 bytes, more than 1024"));
    for (capacity, levels) in [(0, 2), (1 << 29, 2), (9, 1), (9, 5000)] {
        let mut graph = FlowGraph::new();
        let _: ChannelId<u32> = graph.channel_stack("odd", capacity, levels);
        assert!(refused(&graph).contains("`odd`"));
    }
}

/// A second buffer of a graph.
fn other_buffer(graph: &mut FlowGraph) -> BufferId<u64> {
    graph.buffer([0u64])
}

#[test]
fn what_goes_wrong_in_a_run_is_an_error() {
    let mut graph = FlowGraph::new();
    let on = graph.channel("on", 100);
    let next = graph.channel("next", 100);
    graph.connect(on, liar(next));
    graph.put(on, [2, 3]);
    let expect = "`liar` emitted more for one item than it declares: 2 into one output; help";
    assert!(told(&graph).contains(expect));
    assert!(reference(&graph).map(|_| ()).unwrap_err().to_string().contains(expect));

    let mut graph = FlowGraph::new();
    let on = graph.channel("on", 100);
    let [a, b] = ["a", "b"].map(|name| graph.channel(name, 1));
    graph.connect(on, both(a, b));
    graph.put(on, [2, 3]);
    let expect = "`both` emitted more for one item than it declares: 2 into one output, 3 in all";
    assert!(told(&graph).contains(expect), "{}", told(&graph));

    let mut graph = FlowGraph::new();
    let items = graph.channel("items", 100);
    let quotients = graph.channel("quotients", 1);
    graph.connect(items, divide(quotients));
    graph.put(items, (0..9).map(|k| Walker { place: 7, steps: 5 - k, tag: 3 }));
    let error = told(&graph);
    assert!(error.contains("`divide` for the item Walker{u64(7), u16(0), u8(3)}"), "{error}");
    assert!(error.contains("attempt to divide by zero"), "{error}");

    let mut graph = FlowGraph::new();
    let items = graph.channel("items", 100);
    let words = graph.buffer([1u32, 2]);
    graph.connect(items, outside(words));
    graph.put(items, [1, 2]);
    assert!(told(&graph).contains("index out of bounds"), "{}", told(&graph));

    let (graph, _) = fib_graph(16, 18, 20);
    assert_eq!(
        told(&graph),
        "`fib` emitted below level 18 of its channel stack; help: take more levels, if the recursion comes to an end"
    );
    // Without levels nobody can go on once the channel is full of calls that emit.
    let (graph, _) = fib_graph(9, 1, 30);
    let error = told(&graph);
    assert!(error.contains("no kernel can fire") && error.contains("`calls` holds"), "{error}");
    assert!(error.contains("make the channels of the cycle a `channel_stack`"), "{error}");
}

#[test]
fn a_run_is_as_said_and_ends_early_when_asked() {
    let machine = machine();
    let told = RefCell::new(Vec::new());
    let progress = |done: u64, total: u64| told.borrow_mut().push((done, total));
    let run = Run {
        target: Target::Cpu,
        threads: Some(2),
        policy: Some(FlowPolicy::Cpu(FlowCpuPolicy { threads: 9, batch: 5 })),
        progress: Some(&progress),
        ..Run::default()
    };
    let (graph, ended) = walkers([50, 50], 400);
    let (results, report) = graph.run_with(&machine, &run).unwrap();
    assert_eq!(results.items(ended).len(), 400);
    assert_eq!((&report.policy["threads"], &report.policy["batch"]), (&2.into(), &5.into()));
    assert_eq!(told.borrow().last(), Some(&(400, 400)));

    let (endless, _) = fib_graph(1000, 80, 80);
    let flag = AtomicBool::new(true);
    let run = Run { target: Target::Cpu, interrupt: Some(&flag), ..Run::default() };
    let error = endless.run_with(&machine, &run).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Interrupted { unit: "first items", .. }), "{error}");
    let begin = Instant::now();
    let deadline = Some(begin + Duration::from_millis(100));
    let run = Run { target: Target::Cpu, deadline, ..Run::default() };
    let error = endless.run_with(&machine, &run).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Interrupted { .. }), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(5));
}
