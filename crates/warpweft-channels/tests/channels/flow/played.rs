//! The scheduler of `flow/cuda/flow.cuh` itself, on warps that the host plays: every interleaving that a seed draws must
//! end, with the words and items of the reference and all credits back.

use std::ops::Range;
use std::process::Command;

use warpweft::channels::flow::cuda::played;
use warpweft::channels::flow::{FlowGpuPolicy, FlowGraph, Out, Shared, channel_kernel, reference};
use warpweft_conformance::flow::{Random, fib_graph, forest, random, walkers};

use crate::translation_support::host::{compiler, scratch};

/// A list in C++.
fn list<T: ToString>(values: impl IntoIterator<Item = T>) -> String {
    let values: Vec<_> = values.into_iter().map(|value| value.to_string()).collect();
    format!("{{{}}}", values.join(", "))
}

/// The program that plays `graph` with each number of warps once for each seed: a line each.
fn program(
    graph: &FlowGraph,
    warps: (u32, usize),
    seeds: &Range<u32>,
    policy: &FlowGpuPolicy,
) -> String {
    let played = played(graph, warps, policy).unwrap();
    let private = include_str!("../../../src/flow/cuda/private.cuh");
    let flow = include_str!("../../../src/flow/cuda/flow.cuh")
        .replace("#include \"private.cuh\"\n", private);
    let skeleton = [
        include_str!("../../../src/cuda/clocks.cuh"),
        include_str!("../../../src/flow/cuda/queue.cuh"),
        include_str!("../../../src/flow/cuda/spans.cuh"),
        &flow,
    ];
    let included = |line: &&str| !line.starts_with("#include") && !line.starts_with("#pragma once");
    let skeleton: String =
        skeleton.concat().lines().filter(included).map(|line| format!("{line}\n")).collect();
    // The scheduler's lanes first: kernels' functions name the word of a lane's fault.
    let mut text = String::from(include_str!("../warps.cuh"));
    text.push_str("#include <new>\n");
    text.push_str(include_str!("played.cuh"));
    text.push_str(&played.text.replace("#include \"flow.cuh\"", &skeleton));
    text.push_str(include_str!("played_main.cuh"));
    let bytes = |all: &[(Vec<u8>, usize)]| list(all.iter().map(|(bytes, _)| list(bytes)));
    let counts = |all: &[(Vec<u8>, usize)]| list(all.iter().map(|(_, count)| count));
    text.push_str(&format!(
        "int main() {{
  bool right = true;
  for (u64 seed = {}; right && seed < {}; ++seed)
    right = play(seed, {}, {}, {}, {}, {}, {}, {}, {}, {});
  return !right;
}}
",
        seeds.start,
        seeds.end,
        list(&played.credits),
        bytes(&played.first),
        counts(&played.first),
        list(played.host.iter().map(|bytes| bytes.unwrap_or(0))),
        bytes(&played.buffers),
        counts(&played.buffers),
        list(&played.nodes),
        played.words[0],
        played.words[1],
    ));
    text
}

/// What a run printed: its status, items left and consumed, and the rest as hexadecimal bytes.
struct Played {
    ended: [u64; 3],
    bytes: Vec<Vec<u8>>,
}

/// Plays `graph`; nothing without a compiler.
fn play(
    name: &str,
    graph: &FlowGraph,
    warps: u32,
    seeds: Range<u32>,
    collected: usize,
) -> Vec<Played> {
    // One graph with an atomic operation an item, one with a cache line an element, and one without private items.
    let warps = (warps, if name == "fib5_2" { 0 } else { 64 });
    let (aggregated, padded) = (name != "walkers3_3", name == "walkers64_4");
    let policy = FlowGpuPolicy { collected, aggregated, padded, ..FlowGpuPolicy::default() };
    let compiler = match compiler() {
        Ok(compiler) => compiler,
        Err(reason) => {
            println!("skipped: {reason}");
            return Vec::new();
        }
    };
    let folder = scratch("played flow");
    std::fs::create_dir_all(&folder).unwrap();
    let (source, binary) = (folder.join(format!("{name}.cpp")), folder.join(name));
    std::fs::write(&source, program(graph, warps, &seeds, &policy)).unwrap();
    let mut command = Command::new(compiler);
    // Jumps to another stack are no mistake here.
    command.args(["-std=c++17", "-O1", "-ffp-contract=off", "-w", "-U_FORTIFY_SOURCE"]);
    let output = command.arg(&source).arg("-o").arg(&binary).output().unwrap();
    let log: String = String::from_utf8_lossy(&output.stderr).chars().take(6000).collect();
    assert!(output.status.success(), "{log}");
    let ran = Command::new(&binary).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{name}: {said}{:?}", ran.status);
    let runs: Vec<_> = said.lines().map(parsed).collect();
    assert_eq!(runs.len(), seeds.len(), "{said}");
    runs
}

fn parsed(line: &str) -> Played {
    let mut words = line.split(' ');
    let ended = [(); 3].map(|()| words.next().unwrap().parse().unwrap());
    let bytes = words.map(|word| {
        let digits = word.as_bytes().chunks_exact(2);
        digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    });
    Played { ended, bytes: bytes.collect() }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn a_recursion_fits_into_the_least_channels() {
    for (capacity, warps) in [(2, 1), (2, 3), (5, 2), (40, 4)] {
        let (graph, _) = fib_graph(capacity, 12, 12);
        for run in play(&format!("fib{capacity}_{warps}"), &graph, warps, 1..4, 1) {
            assert_eq!((run.ended, words(&run.bytes[0])), ([0, 0, 2 * 144 - 1], vec![144]));
        }
    }
}

#[test]
fn walkers_go_round_and_come_to_the_host_one_by_one() {
    // In the last, so many items are ready that lanes take several at once.
    for (capacities, warps, collected, count) in [
        ([1, 1], 2, 1, 60),
        ([3, 40], 3, 5, 60),
        ([64, 64], 4, 100, 60),
        ([900, 700], 2, 300, 1200),
    ] {
        let (graph, ended) = walkers(capacities, count);
        let expect = reference(&graph).unwrap();
        let mut items = expect.items(ended).to_vec();
        items.sort_unstable();
        let name = format!("walkers{}_{warps}", capacities[0]);
        for run in play(&name, &graph, warps, 1..3, collected) {
            let consumed = expect.channels().iter().map(|channel| channel.items).sum();
            assert_eq!(run.ended, [0, 0, consumed]);
            let found = words(&run.bytes[1]);
            let mut found: Vec<_> = found.chunks(2).map(|pair| (pair[0], pair[1])).collect();
            found.sort_unstable();
            assert!(found == items);
        }
    }
}

#[test]
fn random_graphs_consume_every_item_once() {
    for seed in 1..=6 {
        let Random { graph, host, sums, words: exchanged } = random(seed, 1);
        let expect = reference(&graph).unwrap();
        let mut items = expect.items(host).to_vec();
        items.sort_unstable();
        for run in play(&format!("random{seed}"), &graph, 1 + seed as u32 % 4, 1..3, 30) {
            let consumed = expect.channels().iter().map(|channel| channel.items).sum();
            assert_eq!(run.ended, [0, 0, consumed], "graph {seed}");
            assert_eq!(words(&run.bytes[0]), expect.buffer(sums), "graph {seed}");
            let bytes: Vec<u8> =
                expect.buffer(exchanged).into_iter().flat_map(u32::to_ne_bytes).collect();
            assert_eq!(run.bytes[1], bytes, "graph {seed}");
            let mut found = words(&run.bytes[2]);
            found.sort_unstable();
            assert!(found == items, "graph {seed}");
        }
    }
}

#[test]
fn warps_keep_what_they_emit_and_hand_it_over() {
    for shape in 1..=5 {
        for seed in 0..2 {
            let forest = forest(shape, seed);
            let expect = reference(&forest.graph).unwrap();
            let consumed = expect.channels().iter().map(|channel| channel.items).sum();
            let (sums, signs, words) = forest.left(&expect);
            let bytes = [
                sums.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<_>>(),
                signs.to_ne_bytes().to_vec(),
                words.iter().flat_map(|word| word.to_ne_bytes()).collect(),
            ];
            let name = format!("forest{shape}_{seed}");
            for run in play(&name, &forest.graph, 1 + (shape + seed) as u32 % 4, 1..3, 1) {
                assert_eq!(run.ended, [0, 0, consumed], "{name}");
                assert_eq!(run.bytes.concat(), bytes.concat(), "{name}");
            }
        }
    }
}

#[test]
fn channels_in_which_nothing_can_fire_end_the_run() {
    // Status 3: nothing fires; 5: deeper than the levels.
    for (graph, status) in [(fib_graph(9, 1, 30).0, 3), (fib_graph(16, 9, 12).0, 5)] {
        for run in play(&format!("status{status}"), &graph, 2, 1..2, 1) {
            assert_eq!(run.ended[0], status);
        }
    }
}

/// Emits the two halves of its item.
#[channel_kernel]
fn halves(item: u32, to: &mut Out<u32, 2>) {
    to.emit(item / 2);
    to.emit(item - item / 2);
}

#[test]
fn a_channel_of_the_host_has_room_for_what_one_call_may_emit() {
    let mut graph = FlowGraph::new();
    let [items, found] = [graph.channel("items", 9), graph.channel("found", 1)];
    graph.connect(items, halves(found));
    graph.put(items, 0..100);
    for run in play("halves", &graph, 2, 1..3, 1) {
        assert_eq!(run.ended, [0, 0, 100]);
        let found = run.bytes[0].chunks_exact(4).map(|word| word.try_into().unwrap());
        assert_eq!(found.map(u32::from_ne_bytes).sum::<u32>(), 99 * 100 / 2);
        assert_eq!(run.bytes[0].len(), 4 * 200);
    }
}

/// Takes its time for some items, and faults for one.
#[channel_kernel]
fn outside_once(item: u32, words: &Shared<u32>) {
    let turns = if item & 15 == 0 { 300 } else { 0 };
    for _ in 0..turns {
        words.add(0, 1);
    }
    words.add(if item == 100 { 1 } else { 0 }, 1);
}

#[test]
fn a_fault_ends_the_warps_that_wait_for_an_item() {
    // Elements are used again while some of their items are slow: warps wait for elements, and others for what those are to write.
    let mut graph = FlowGraph::new();
    let [items, narrow] = [graph.channel("items", 32), graph.channel("narrow", 32)];
    let words = graph.buffer([0u32]);
    graph.connect(items, halves(narrow));
    graph.connect(narrow, outside_once(words));
    graph.put(items, (0..300).map(|k| 2 * k));
    for run in play("outside_once", &graph, 12, 300..400, 1) {
        assert_eq!(run.ended[0], 6);
    }
}
