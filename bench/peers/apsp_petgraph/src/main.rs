//! Shortest paths from the first sources of a graph by petgraph's Dijkstra, on one core.
//!
//! `apsp_petgraph FILE SOURCES` reads lines `from to weight` and prints one JSON object, as `apsp_scipy.py` does.

use std::time::Instant;

use petgraph::algo::dijkstra;
use petgraph::graph::{DiGraph, NodeIndex};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, path, sources] = &arguments[..] else { panic!("apsp_petgraph FILE SOURCES") };
    let sources: u32 = sources.parse().expect("a number of sources");
    let text = std::fs::read_to_string(path).expect("the file");
    let edges = text.lines().map(|line| {
        let mut numbers = line.split_ascii_whitespace().map(|word| word.parse::<u32>().expect("a number"));
        let mut next = || numbers.next().expect("three numbers a line");
        (next(), next(), next())
    });
    let graph = DiGraph::<(), u32, u32>::from_edges(edges);
    let begin = Instant::now();
    let mut total = 0u64;
    for source in 0..sources {
        let found = dijkstra(&graph, NodeIndex::new(source as usize), None, |edge| *edge.weight());
        total += found.values().map(|&distance| u64::from(distance)).sum::<u64>();
    }
    let rate = f64::from(sources) / begin.elapsed().as_secs_f64();
    println!(
        "{{\"peer\": \"petgraph\", \"vertices\": {}, \"sources\": {sources}, \"sources_per_second\": {rate}, \"total\": {total}}}",
        graph.node_count()
    );
}
