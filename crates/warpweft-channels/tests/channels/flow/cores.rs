//! Graphs on the cores, and what is refused.

use std::cell::RefCell;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use warpweft::channels::flow::{
    BufferId, ChannelId, FlowCpuExecutor, FlowCpuPolicy, FlowGraph, FlowPolicy, Out, Run, Shared,
    channel_kernel, reference,
};
use warpweft::prelude::{Device, Error, Machine};
use warpweft::run::Target;
use warpweft_conformance::flow::{
    Walker, fib, fib_failure, fib_graph, random_failure, walk, walkers, walkers_failure,
};

fn machine() -> Machine {
    Machine::detect().unwrap()
}

fn executor(threads: usize, batch: usize) -> FlowCpuExecutor {
    FlowCpuExecutor::new(&machine(), threads, FlowCpuPolicy { batch }).unwrap()
}

#[test]
fn a_recursion_fits_into_the_least_channels() {
    for threads in [1, 2, 5] {
        for (capacity, batch) in [(2, 32), (3, 1), (7, 4), (4096, 32)] {
            let mut executor = executor(threads, batch);
            for _ in 0..5 {
                assert_eq!(fib_failure(&mut executor, capacity, 20), None);
            }
        }
    }
}

#[test]
fn a_cycle_of_channels_never_fills_up() {
    for capacities in [[1, 1], [1, 9], [5, 2], [1000, 1000]] {
        for threads in [1, 3] {
            assert_eq!(walkers_failure(&mut executor(threads, 32), capacities, 700), None);
        }
    }
}

#[test]
fn random_graphs_consume_every_item_once() {
    for (threads, batch) in [(1, 32), (2, 3), (4, 1)] {
        let mut executor = executor(threads, batch);
        for seed in 1..=200 {
            assert_eq!(
                random_failure(&mut executor, seed % 20, seed),
                None,
                "graph {seed}, {threads} threads"
            );
        }
    }
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

fn error_of(graph: &FlowGraph) -> String {
    let mut executor = FlowCpuExecutor::new(&machine(), 2, FlowCpuPolicy::default()).unwrap();
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
    assert!(refused(&graph).contains("the graph has no initial items"));
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
    assert!(error_of(&graph).contains(expect));
    assert!(reference(&graph).map(|_| ()).unwrap_err().to_string().contains(expect));

    let mut graph = FlowGraph::new();
    let on = graph.channel("on", 100);
    let [a, b] = ["a", "b"].map(|name| graph.channel(name, 1));
    graph.connect(on, both(a, b));
    graph.put(on, [2, 3]);
    let expect = "`both` emitted more for one item than it declares: 2 into one output, 3 in all";
    assert!(error_of(&graph).contains(expect), "{}", error_of(&graph));

    let mut graph = FlowGraph::new();
    let items = graph.channel("items", 100);
    let quotients = graph.channel("quotients", 1);
    graph.connect(items, divide(quotients));
    graph.put(items, (0..9).map(|k| Walker { place: 7, steps: 5 - k, tag: 3 }));
    let error = error_of(&graph);
    assert!(error.contains("`divide` for the item Walker{u64(7), u16(0), u8(3)}"), "{error}");
    assert!(error.contains("attempt to divide by zero"), "{error}");

    let mut graph = FlowGraph::new();
    let items = graph.channel("items", 100);
    let words = graph.buffer([1u32, 2]);
    graph.connect(items, outside(words));
    graph.put(items, [1, 2]);
    assert!(error_of(&graph).contains("index out of bounds"), "{}", error_of(&graph));

    let (graph, _) = fib_graph(16, 18, 20);
    assert_eq!(
        error_of(&graph),
        "`fib` emitted below level 18 of its channel stack; help: check that the recursion ends, then give the stack more levels"
    );
    // Without levels nobody can go on once the channel is full of calls that emit.
    let (graph, _) = fib_graph(9, 1, 30);
    let error = error_of(&graph);
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
        policy: Some(FlowPolicy::Cpu(FlowCpuPolicy { batch: 5 })),
        progress: Some(&progress),
        ..Run::default()
    };
    let (graph, ended) = walkers([50, 50], 400);
    let (results, report) = graph.run_with(&machine, &run).unwrap();
    assert_eq!(results.items(ended).len(), 400);
    assert_eq!(report.policy["batch"], 5);
    assert_eq!(report.devices, [machine.cpu.label(2)]);
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
