//! Graphs on a GPU: kernels compile without one; with one every graph gives what the reference gives.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use warpweft::channels::flow::cuda::{compile_check, compile_check_traced};
use warpweft::channels::flow::{
    FlowGpuExecutor, FlowGpuPolicy, FlowGraph, Out, Results, Run, Shared, channel_kernel,
};
use warpweft::cuda::{Device, compiler};
use warpweft::prelude::{Error, Machine};
use warpweft::report::Report;
use warpweft::run::Target;
use warpweft::trace::Trace;
use warpweft_conformance::flow::{
    Subject, Walker, fib_failure, fib_graph, forest, random, random_failure, suite, walkers,
    walkers_failure,
};

#[test]
fn kernels_compile_for_ampere_and_hopper() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    for arch in ["sm_80", "sm_90"] {
        compile_check(&fib_graph(4096, 24, 24).0, arch).unwrap();
    }
    compile_check(&walkers([10, 20], 9).0, "sm_90").unwrap();
    compile_check(&random(5, 1).graph, "sm_90").unwrap();
    compile_check_traced(&forest(1, 1).graph, "sm_90").unwrap();
}

fn device() -> Option<Device> {
    match Device::open(0) {
        Ok(device) => Some(device),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

/// From all warps down to one block, and a buffer for the host that is often full.
fn policies() -> [FlowGpuPolicy; 8] {
    let usual = FlowGpuPolicy::default();
    [
        usual,
        FlowGpuPolicy { blocks: 1, ..usual },
        FlowGpuPolicy { warps: 32, ..usual },
        FlowGpuPolicy { warps: 4, blocks: 3, collected: 100, ..usual },
        FlowGpuPolicy { aggregated: false, ..usual },
        FlowGpuPolicy { timed: true, ..usual },
        FlowGpuPolicy { private: false, ..usual },
        FlowGpuPolicy { padded: true, ..usual },
    ]
}

/// Compiles the graphs that nobody has compiled before, and runs none.
struct Compiles<'c> {
    executor: FlowGpuExecutor,
    /// Whether somebody has, or is about to.
    begun: &'c [AtomicBool],
    met: usize,
}

impl Subject for Compiles<'_> {
    fn run(&mut self, graph: &FlowGraph) -> warpweft::Result<(Results, Report)> {
        self.met += 1;
        // Whichever thread comes first. More graphs than there are marks are left to the run.
        if self.begun.get(self.met - 1).is_some_and(|begun| !begun.swap(true, Ordering::Relaxed)) {
            self.executor.compile(graph)?;
        }
        Err(Error::spec("a graph that is only compiled", "run it"))
    }
}

/// The suite and some random graphs more, which are long to compile: of the policies that differ most. What is wrong.
fn failures(subject: &mut impl Subject, policy: usize) -> Vec<String> {
    let suite =
        suite(subject).into_iter().filter_map(|case| Some((case.name.into(), case.failure?)));
    let mut failed: Vec<(String, String)> = suite.collect();
    let end = if policy < 4 { 24 } else { 20 };
    let random = (20..end).filter_map(|seed| Some((seed, random_failure(subject, seed, 1)?)));
    failed.extend(random.map(|(seed, failure)| (format!("graph {seed}"), failure)));
    failed.into_iter().map(|(name, failure)| format!("{name}: {failure}")).collect()
}

/// Compiles all that [`failures`] runs by any policy, on all cores: one after the other takes minutes.
fn compile_ahead(device: &Device) {
    let begun: Vec<Vec<AtomicBool>> =
        policies().iter().map(|_| (0..64).map(|_| AtomicBool::new(false)).collect()).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let begun = &begun;
            scope.spawn(move || {
                // Each begins with another policy.
                for k in 0..begun.len() {
                    let number = (thread + k) % begun.len();
                    let executor = FlowGpuExecutor::new(device, policies()[number]).unwrap();
                    failures(&mut Compiles { executor, begun: &begun[number], met: 0 }, number);
                }
            });
        }
    });
}

#[test]
fn graphs_give_what_the_reference_gives() {
    let Some(device) = device() else { return };
    let begin = Instant::now();
    compile_ahead(&device);
    println!("compiled: {:.2?}", begin.elapsed());
    for (number, policy) in policies().into_iter().enumerate() {
        let mut executor = FlowGpuExecutor::new(&device, policy).unwrap();
        let failed = failures(&mut executor, number);
        assert!(failed.is_empty(), "{policy:?}: {failed:#?}");
        println!("{policy:?}: {:.2?}", begin.elapsed());
    }
}

/// A number that the environment sets.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// `WARPWEFT_SHAPES` says how many kernels are compiled, `WARPWEFT_GRAPHS` how many graphs each runs, with other capacities, delays
/// and items; `WARPWEFT_RANDOM_SEED` is the first shape.
#[test]
fn random_graphs_on_many_numbers_of_warps() {
    let Some(device) = device() else { return };
    let days = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() / 86_400);
    let (shapes, graphs) = (number("WARPWEFT_SHAPES", 2), number("WARPWEFT_GRAPHS", 40));
    // Others every day; the seed is printed to have the same again.
    let first = number("WARPWEFT_RANDOM_SEED", 1000 * days);
    println!("WARPWEFT_RANDOM_SEED={first}");
    let (blocks, collected) = ([1, 2, 7, 33, 132, 0], [100, 1 << 16, 64, 700]);
    let mut runs = 0;
    for shape in first..first + shapes {
        let policy = FlowGpuPolicy {
            warps: [4, 8, 16, 32][shape as usize % 4],
            aggregated: shape % 8 != 5,
            ..FlowGpuPolicy::default()
        };
        for (k, blocks) in blocks.into_iter().enumerate() {
            let collected = collected[(k + shape as usize / 4) % 4];
            let policy = FlowGpuPolicy { blocks, collected, ..policy };
            let mut executor = FlowGpuExecutor::new(&device, policy).unwrap();
            for variant in (k as u64..graphs).step_by(6) {
                let failure = random_failure(&mut executor, shape, variant);
                assert_eq!(failure, None, "shape {shape}, graph {variant}: {policy:?}");
                runs += 1;
            }
        }
    }
    println!("{runs} graphs of {shapes} shapes");
}

#[test]
fn narrow_channels_and_large_recursions() {
    let Some(device) = device() else { return };
    let mut executor = FlowGpuExecutor::new(&device, FlowGpuPolicy::default()).unwrap();
    for (capacity, n) in [(2, 15), (33, 22), (1000, 27), (32_768, 32)] {
        let begin = Instant::now();
        assert_eq!(fib_failure(&mut executor, capacity, n), None, "{capacity} for {n}");
        println!("fib({n}) in channels of {capacity}: {:.2?}", begin.elapsed());
    }
    assert_eq!(walkers_failure(&mut executor, [3000, 100_000], 200_000), None);
}

#[channel_kernel]
fn liar(count: u32, on: &mut Out<u32, 2>) {
    for _ in 0..count {
        on.emit(0);
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

#[test]
fn what_goes_wrong_is_an_error_and_the_gpu_lives_on() {
    let Some(device) = device() else { return };
    let mut executor = FlowGpuExecutor::new(&device, FlowGpuPolicy::default()).unwrap();
    let mut error_of = |graph: &FlowGraph| executor.run(graph).map(|_| ()).unwrap_err().to_string();
    let mut graph = FlowGraph::new();
    let [on, next] = [graph.channel("on", 100), graph.channel("next", 100)];
    graph.connect(on, liar(next));
    graph.put(on, [2, 3]);
    assert!(error_of(&graph).contains("`liar` emitted more for one item than it declares"));

    let mut graph = FlowGraph::new();
    let items = graph.channel("items", 100);
    let quotients = graph.channel("quotients", 1);
    graph.connect(items, divide(quotients));
    graph.put(items, (0..9).map(|k| Walker { place: 7, steps: 5u16.saturating_sub(k), tag: 3 }));
    let error = error_of(&graph);
    assert!(error.contains("`divide` for the item Walker{u64(7), u16(0), u8(3)} at"), "{error}");
    assert!(error.contains("gpu.rs") && error.contains("attempt to divide by zero"), "{error}");

    let mut graph = FlowGraph::new();
    let items = graph.channel("items", 100);
    let words = graph.buffer([1u32, 2]);
    graph.connect(items, outside(words));
    graph.put(items, [1, 2]);
    assert!(error_of(&graph).contains("index out of bounds of a buffer"));

    assert!(error_of(&fib_graph(16, 18, 20).0).contains("`fib` emitted below level 18"));
    let error = error_of(&fib_graph(9, 1, 30).0);
    assert!(error.contains("no kernel can fire") && error.contains("`calls` holds"), "{error}");
    assert_eq!(fib_failure(&mut executor, 100, 20), None);
}

#[test]
fn a_run_ends_early_when_asked() {
    let machine = Machine::detect().unwrap();
    if machine.gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    let (endless, _) = fib_graph(10_000, 80, 80);
    // Compiled before.
    let run = |deadline| Run { target: Target::AnyGpu, deadline, ..Run::default() };
    let once = Instant::now() + Duration::from_secs(10);
    assert!(endless.run_with(&machine, &run(Some(once))).is_err());
    let begin = Instant::now();
    let deadline = Some(begin + Duration::from_millis(300));
    let error = endless.run_with(&machine, &run(deadline)).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Interrupted { .. }), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
}

#[test]
fn a_timeline_shows_single_firings() {
    let machine = Machine::detect().unwrap();
    if machine.gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    for (graph, channel) in [(fib_graph(1000, 12, 12).0, "fib"), (walkers([40, 50], 300).0, "walk")]
    {
        let trace = Arc::new(Trace::new());
        let run = Run { target: Target::AnyGpu, trace: Some(trace.clone()), ..Run::default() };
        let (results, _) = graph.run_with(&machine, &run).unwrap();
        let consumed: u64 = results.channels().iter().map(|channel| channel.items).sum();
        let spans = trace.spans();
        let of_warps = spans.iter().filter(|span| span.lane.contains(", warp "));
        let items: Vec<u64> = of_warps
            .filter_map(|span| span.name.strip_prefix(channel)?.split(' ').nth(1)?.parse().ok())
            .collect();
        let recorded = items.iter().sum::<u64>();
        // All firings of a warp up to half of its records are there.
        let all = spans.len() < 32;
        assert!(recorded > 0 && recorded <= consumed, "{channel}: {items:?}");
        assert!(!all || recorded == consumed, "{channel}: {items:?}");
    }
}
