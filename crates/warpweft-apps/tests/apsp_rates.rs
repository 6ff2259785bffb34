//! Sources a second of the forms of shortest paths on a GPU, in the papers' graph.
//!
//! `cargo test --release -p warpweft-apps --test apsp_rates -- --ignored --nocapture`

use warpweft::cuda::folder;
use warpweft::farm::{Policy, Run, Target, reference};
use warpweft::machine::probed;
use warpweft::prelude::*;
use warpweft_apps::apsp::{
    Form, Graph, Random, Reach, Search, Shape, ShortestPaths, by_landmarks, predict, random,
};
use warpweft_apps::soup::SplitMix;

/// How far all vertices are from `source`.
fn distances(graph: &Graph, source: u32) -> Vec<u32> {
    let mut search = Search::new(graph).unwrap();
    search.run(graph, source).unwrap();
    search.distances().to_vec()
}

/// Vertices at each distance, on average over a few sources.
fn levels(graph: &Graph) -> Vec<f64> {
    let mut levels = vec![0.0; 64];
    for source in [1, 2].map(|k| k * graph.vertices() / 3) {
        for distance in distances(graph, source).into_iter().filter(|d| *d < 64) {
            levels[distance as usize] += 0.5;
        }
    }
    levels
}

/// Measures `sources` by `form`, and checks three of the answers.
fn rate(
    machine: &Machine,
    graph: &Graph,
    sources: &[u32],
    form: Form,
    shape: Option<Shape>,
    lanes: usize,
) {
    let policy = Policy { lanes, ..Policy::default() };
    let run = Run { target: Target::Gpus, policy, ..Run::default() };
    let mut found = vec![Reach::default(); sources.len()];
    let mut sink = |k: u64, reach| {
        found[k as usize] = reach;
        Ok(())
    };
    let paths = ShortestPaths::reach(graph).by(form);
    let farm = Farm::of(match shape {
        Some(shape) => paths.shaped(shape),
        None => paths,
    });
    let outcome = farm.run_into(sources, machine, &run, &mut sink).unwrap();
    let some = [0, sources.len() / 2, sources.len() - 1];
    let expect = reference(&ShortestPaths::reach(graph), &some.map(|k| sources[k]).into());
    for (k, expect) in some.into_iter().zip(expect) {
        assert_eq!(found[k], expect.unwrap(), "source {}", sources[k]);
    }
    // Of a lane while it works: opening it, the graph's copy and the kernels' compiling are not the rate's.
    let busy = |share: &warpweft::farm::Share| share.tasks as f64 / share.busy.max(1e-9);
    let rate = outcome.shares.iter().map(busy).sum::<f64>();
    println!(
        "{form:?} {shape:?}, {lanes} lanes, {} sources: {rate:.0} sources/s while lanes work; {:.3} s in all, {:.0} sources/s",
        sources.len(),
        outcome.report.seconds,
        sources.len() as f64 / outcome.report.seconds,
    );
}

#[test]
#[ignore = "takes a minute of a GPU"]
fn sources_a_second_in_the_papers_graph() {
    let mut machine = Machine::detect().unwrap();
    if machine.gpus.is_empty() {
        return println!("skipped: {}", machine.notes.join("; "));
    }
    machine.gpus.truncate(1);
    let graph = random(Random { vertices: 1_049_088, degree: 7, weight: 10, seed: 1 }).unwrap();
    let limits = probed(&machine, folder().as_deref(), &|_| ()).unwrap();
    let bandwidth = limits.gpus.first().and_then(|gpu| gpu.bandwidth()).unwrap_or(f64::NAN);
    let (n, m) = (f64::from(graph.vertices()), graph.edge_count() as f64);
    let levels = levels(&graph);
    println!("{}: {:.2} TB/s measured", machine.gpus[0].label(), bandwidth / 1e12);
    for sources in [1024.0, 2048.0] {
        let seconds = predict(&levels, n, m, sources, bandwidth);
        println!("bound of planes of {sources} random sources: {:.0} sources/s", sources / seconds);
    }
    let mut stream = SplitMix::new(5);
    let mut random =
        |count| -> Vec<u32> { (0..count).map(|_| (stream.next_u64() % n as u64) as u32).collect() };
    let many = random(64 * 2048);
    let order = by_landmarks(&graph, 12).unwrap();
    let alike = &order[200 * 2048..264 * 2048];
    let shape = |words, blocks, reads| Some(Shape { words, blocks, reads });
    let shapes = [
        shape(2, 4, 8),
        shape(2, 4, 6),
        shape(2, 4, 4),
        shape(2, 5, 4),
        shape(2, 5, 8),
        shape(1, 5, 8),
        shape(1, 6, 4),
        shape(4, 2, 8),
        shape(4, 3, 4),
    ];
    for shape in shapes {
        // The first run compiles, beside others that work already.
        rate(&machine, &graph, &many[..2 * 4096], Form::Planes, shape, 2);
        rate(&machine, &graph, &many, Form::Planes, shape, 2);
        rate(&machine, &graph, alike, Form::Planes, shape, 2);
    }
    for lanes in [1, 2, 3] {
        rate(&machine, &graph, &many, Form::Planes, None, lanes);
    }
    for first in [0, 448] {
        rate(&machine, &graph, &order[first * 2048..(first + 64) * 2048], Form::Planes, None, 2);
    }
    for lanes in [1, 2] {
        rate(&machine, &graph, &random(64 * 128), Form::Batched, None, lanes);
    }
    for few in [1, 31, 100, 2048] {
        rate(&machine, &graph, &random(few), Form::Planes, None, 1);
    }
}
