//! How runs of graphs begin and end: as said, early when asked, with a timeline of what was waited for.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use warpweft::channels::flow::{
    FlowCpuExecutor, FlowCpuPolicy, FlowGpuPolicy, FlowGraph, FlowPolicy, Out, Run, Shared,
    channel_kernel,
};
use warpweft::prelude::{Error, Machine};
use warpweft::run::Target;
use warpweft::trace::Trace;
use warpweft_conformance::flow::{fib_graph, walkers};

/// An interrupt ends a run within this, on a machine where a thread that is to run does so within some milliseconds.
const SOON: Duration = Duration::from_millis(100);

fn machine() -> Machine {
    Machine::detect().unwrap()
}

fn executor(threads: usize, batch: usize) -> FlowCpuExecutor {
    FlowCpuExecutor::new(&machine(), threads, FlowCpuPolicy { batch }).unwrap()
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

/// Takes a while for every item.
#[channel_kernel]
fn slowly(turns: u64, sums: &Shared<u64>) {
    let mut bits = turns;
    for k in 0..turns {
        bits = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7) ^ k;
    }
    sums.add(0, bits | 1);
}

#[test]
fn an_interrupt_does_not_wait_for_a_batch_of_slow_items() {
    let mut graph = FlowGraph::new();
    let items = graph.channel("items", 1 << 10);
    let sums = graph.buffer([0u64]);
    graph.connect(items, slowly(sums));
    // About 5 ms each.
    graph.put(items, std::iter::repeat_n(2_000_000, 4096));
    let run = Run { target: Target::Cpu, threads: Some(2), ..Run::default() };
    interrupted(&graph, &run, Duration::from_millis(60));
}

/// Interrupts runs of `graph` after `wait`. On a machine that is busy otherwise a thread may wait as long for a core: the least of five
/// tries counts.
fn interrupted(graph: &FlowGraph, run: &Run<'_>, wait: Duration) {
    let machine = machine();
    let once = || {
        let flag = AtomicBool::new(false);
        let run = Run { interrupt: Some(&flag), ..run.clone() };
        std::thread::scope(|scope| {
            let interrupter = scope.spawn(|| {
                std::thread::sleep(wait);
                flag.store(true, Ordering::Relaxed);
                Instant::now()
            });
            let error = graph.run_with(&machine, &run).map(|_| ()).unwrap_err();
            let ended = Instant::now();
            assert!(matches!(error, Error::Interrupted { .. }), "{error}");
            ended.saturating_duration_since(interrupter.join().unwrap())
        })
    };
    let took = (0..5).map(|_| once()).min().unwrap();
    println!("{}: ended {took:.2?} after the interrupt", run.target);
    assert!(took < SOON, "{took:?}");
}

/// Goes on for ever, and tells the host each time.
#[channel_kernel]
fn for_ever(item: u64, on: &mut Out<u64, 1>, told: &mut Out<u64, 1>) {
    on.emit(item + 1);
    told.emit(item);
}

/// Goes on for ever, slowly.
#[channel_kernel]
fn slowly_on(item: u64, on: &mut Out<u64, 1>, turns: u64) {
    let mut bits = item;
    for k in 0..turns {
        bits = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7) ^ k;
    }
    on.emit(bits);
}

#[test]
fn a_gpu_ends_launches_chains_and_slow_items_soon() {
    if machine().gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    // Launches of some microseconds: the host drains a small buffer after each.
    let mut short = FlowGraph::new();
    let [on, told] = [short.channel("on", 64), short.channel("told", 1)];
    short.connect(on, for_ever(on, told));
    short.put(on, 0..32);
    // Chains of calls that last about 20 us, and items that last about 3 ms each, in whole warps and several a lane.
    let chained = |turns, count| {
        let mut graph = FlowGraph::new();
        let on = graph.channel("on", 1 << 16);
        graph.connect(on, slowly_on(on, turns));
        graph.put(on, 0..count);
        graph
    };
    let mut slow = FlowGraph::new();
    let items = slow.channel("items", 1 << 16);
    let sums = slow.buffer([0u64]);
    slow.connect(items, slowly(sums));
    slow.put(items, std::iter::repeat_n(100_000, 1 << 22));
    let policy = FlowGpuPolicy { collected: 64, ..FlowGpuPolicy::default() };
    let run =
        Run { target: Target::AnyGpu, policy: Some(FlowPolicy::Gpu(policy)), ..Run::default() };
    for graph in
        [&short, &chained(700, 100_000), &chained(700, 7), &chained(100_000, 20_000), &slow]
    {
        // Compiled before, unless it takes longer than a deadline that is kept too.
        let deadline = Some(Instant::now() + Duration::from_secs(1));
        let error =
            graph.run_with(&machine(), &Run { deadline, ..run.clone() }).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Interrupted { .. }), "{error}");
        interrupted(graph, &run, Duration::from_millis(200));
    }
}

#[test]
fn progress_on_a_gpu_counts_the_items_of_the_host() {
    if machine().gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    let mut graph = FlowGraph::new();
    let items = graph.channel("items", 1 << 10);
    let sums = graph.buffer([0u64]);
    graph.connect(items, slowly(sums));
    graph.put(items, std::iter::repeat_n(200_000, 1 << 20));
    let told = RefCell::new(Vec::new());
    let progress = |done: u64, total: u64| told.borrow_mut().push((done, total));
    let run = Run { target: Target::AnyGpu, progress: Some(&progress), ..Run::default() };
    graph.run_with(&machine(), &run).unwrap();
    let told = told.borrow();
    assert!(
        told.iter().all(|&(_, total)| total == 1 << 20) && told.last() == Some(&(1 << 20, 1 << 20))
    );
    // How often in between depends on how long the run takes.
    assert!(told.is_sorted(), "{told:?}");
}

#[test]
fn a_firing_is_put_off_once_however_often_a_worker_looks() {
    // One item in the channel at a time, of which each takes long: the feeder is put off at most once a firing.
    let mut graph = FlowGraph::new();
    let [items, narrow] = [graph.channel("items", 9), graph.channel("narrow", 1)];
    let sums = graph.buffer([0u64]);
    graph.connect(items, pass_on(narrow));
    graph.connect(narrow, slowly(sums));
    graph.put(items, std::iter::repeat_n(20_000, 300));
    let (results, report) = executor(2, 32).run(&graph).unwrap();
    let [feeder, slow] = results.channels() else { panic!("two channels") };
    assert_eq!((feeder.items, slow.items), (300, 300));
    // Each of two workers.
    assert!(feeder.yields <= 2 * (feeder.firings + 1), "{report}");
}

#[channel_kernel]
fn pass_on(item: u64, to: &mut Out<u64, 1>) {
    to.emit(item);
}

#[test]
fn a_timeline_shows_waits_and_what_was_put_off() {
    let mut graph = FlowGraph::new();
    let [items, narrow] = [graph.channel("items", 9), graph.channel("narrow", 1)];
    let sums = graph.buffer([0u64]);
    graph.connect(items, pass_on(narrow));
    graph.connect(narrow, slowly(sums));
    graph.put(items, std::iter::repeat_n(50_000, 1000));
    let waited = || {
        let trace = Arc::new(Trace::new());
        let run = Run {
            target: Target::Cpu,
            threads: Some(2),
            trace: Some(trace.clone()),
            ..Run::default()
        };
        let (results, _) = graph.run_with(&machine(), &run).unwrap();
        let yields: u64 = results.channels().iter().map(|channel| channel.yields).sum();
        let spans = trace.spans();
        let waits = spans.iter().filter_map(|span| span.name.strip_prefix("waits"));
        let shown = waits.map(|what| match what.strip_prefix(", ") {
            Some(what) => what.split(' ').next().unwrap().parse().unwrap(),
            None => 0,
        });
        let shown: Vec<u64> = shown.collect();
        // Those after a worker's last wait are not shown.
        assert!(shown.iter().sum::<u64>() <= yields, "{shown:?}, {yields} yields");
        shown.iter().any(|&shown| shown > 0)
    };
    // A machine that is busy otherwise may run one worker after the other.
    assert!((0..5).any(|_| waited()));
}
