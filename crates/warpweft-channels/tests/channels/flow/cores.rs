//! Graphs on the cores, and what is refused.

use warpweft::channels::flow::{
    BufferId, ChannelId, FlowCpuExecutor, FlowCpuPolicy, FlowGraph, Out, Shared, channel_kernel,
    reference,
};
use warpweft::prelude::{Device, Error, Machine};
use warpweft_conformance::flow::{
    Walker, fib, fib_failure, fib_graph, random_failure, walk, walkers_failure,
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

/// Declares no items.
#[channel_kernel]
fn for_none(_item: u32, _to: &mut Out<u32, 0>) {}

#[channel_kernel(total = 0)]
fn none_in_all(_item: u32, _to: &mut Out<u32, 1>) {}

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
    let mut none = FlowGraph::new();
    let a = none.channel_stack("a", 9, 3);
    none.connect(a, for_none(a));
    none.put(a, [1]);
    assert!(refused(&none).contains("an output of `for_none` is for 0 items"));
    let mut none = FlowGraph::new();
    let a = none.channel_stack("a", 9, 3);
    none.connect(a, none_in_all(a));
    none.put(a, [1]);
    assert!(refused(&none).contains("`none_in_all` may emit 0 items in all"));
    for (capacity, levels) in [(0, 2), (1 << 29, 2), (9, 1), (9, 5000)] {
        let mut graph = FlowGraph::new();
        let _: ChannelId<u32> = graph.channel_stack("odd", capacity, levels);
        assert!(refused(&graph).contains("`odd`"));
    }
}

#[test]
fn handles_of_another_graph_are_refused() {
    let refused = |graph: &FlowGraph| graph.check().unwrap_err().to_string();
    let mut graph = FlowGraph::new();
    let calls = graph.channel("calls", 2);
    graph.buffer([0u64]);
    let mut other = FlowGraph::new();
    let near = other.channel("near", 9);
    let own = other.buffer([0u64]);
    other.connect(near, fib(near, other_buffer(&mut graph)));
    other.put(near, [9]);
    assert!(
        refused(&other).contains("`fib` uses buffer 1 of another graph"),
        "{}",
        refused(&other)
    );
    // As many, of the same types: the handle says whose it is.
    let mut other = FlowGraph::new();
    let near = other.channel("near", 9);
    let words = other.buffer([0u64]);
    other.connect(near, fib(near, own));
    other.put(near, [9]);
    assert!(refused(&other).contains("`fib` uses buffer 0 of another graph"));
    let mut other = FlowGraph::new();
    let near = other.channel("near", 9);
    let its_words = other.buffer([0u64]);
    other.connect(near, fib(calls, its_words));
    other.put(near, [9]);
    assert!(refused(&other).contains("`fib` uses channel 0 of another graph"));
    for wrong in [0, 1] {
        let mut other = FlowGraph::new();
        let near = other.channel("near", 9);
        let its_words = other.buffer([0u64]);
        other.connect(if wrong == 0 { calls } else { near }, fib(near, its_words));
        other.put(if wrong == 1 { calls } else { near }, [9]);
        let whose =
            ["`fib` got channel 0 of another graph", "`put` got channel 0 of another graph"];
        assert!(refused(&other).contains(whose[wrong]), "{}", refused(&other));
    }
    let (small, its) = fib_graph(10, 12, 12);
    let (results, _) = executor(1, 4).run(&small).unwrap();
    assert_eq!((results.buffer(its), results.buffer(words)), (vec![144], vec![]));
    assert!(results.items(calls).is_empty());
}

/// A second buffer of a graph.
fn other_buffer(graph: &mut FlowGraph) -> BufferId<u64> {
    graph.buffer([0u64])
}

#[test]
fn more_memory_than_there_is_is_an_error() {
    // 2^28 items in each of 4096 levels: more than any machine has.
    let (graph, _) = fib_graph(1 << 28, 4096, 30);
    let error = executor(2, 32).run(&graph).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Memory { .. }), "{error}");
    assert!(error.to_string().contains("use smaller channels, or fewer levels"), "{error}");
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
