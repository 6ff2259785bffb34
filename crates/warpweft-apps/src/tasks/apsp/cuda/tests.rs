//! The kernels run by the host's compiler, thread for thread: what they compute is checked on machines without a GPU.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use warpweft::prelude::{Packed, Task};

use super::super::graph::{Arc, Graph};
use super::super::paths::{Shape, ShortestPaths};
use super::super::random::{Random, random};
use super::super::search::Search;
use super::super::tentative::Reach;
use super::{batched, edges, planes};
use crate::soup::SplitMix;

/// Distances that the programs count.
const COUNTED: u32 = 512;

/// A program of the kernels in `text`, with those that turn a graph around whose weights are bytes or words; `None`
/// without a C++ compiler.
fn program(text: &str, bytes: bool, folder: &Path, name: &str) -> Option<PathBuf> {
    let (source, program) = (folder.join(format!("{name}.cpp")), folder.join(name));
    let whole = format!(
        "{}namespace turning {{\n{}}}\n#undef WW_WEIGHT\n#undef WW_ARGUMENTS_BYTES\n{text}{}",
        include_str!("host.cuh"),
        edges::text(bytes),
        include_str!("host_main.cuh")
    );
    std::fs::write(&source, whole.replace("#include \"words.cuh\"", include_str!("words.cuh")))
        .unwrap();
    let mut compiler = Command::new("c++");
    compiler.args(["-std=c++17", "-O1", "-Wall", "-Wno-unknown-pragmas", "-Wno-main", "-o"]);
    let output = compiler.arg(&program).arg(&source).output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

/// What a source reaches and its counts.
type Found = Option<(Reach, Vec<u32>)>;

/// What each of `sources` reaches by `program` and its counts up to [`COUNTED`], `None` where it may be beyond 32 bits;
/// and what else it prints.
fn ran(program: &Path, graph: &Graph, sources: &[u32]) -> (Vec<Found>, String) {
    let (begins, edges) = graph.lists();
    let sizes = [graph.vertices(), edges.len() as u32, graph.heaviest(), sources.len() as u32];
    let pairs: Vec<u32> = edges.iter().flat_map(|edge| [edge.to, edge.weight]).collect();
    let words = sizes.iter().chain(begins).chain(&pairs).chain(sources);
    let bytes: Vec<u8> = words.flat_map(|word| word.to_ne_bytes()).collect();
    let mut child =
        Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", output.status);
    let text = String::from_utf8(output.stdout).unwrap();
    let line = |line: &str| {
        let numbers: Vec<u64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
        let reach =
            Reach { reached: numbers[0] as u32, farthest: numbers[1] as u32, total: numbers[2] };
        let counts = numbers[4..].iter().map(|count| *count as u32).collect();
        (numbers[3] == 0).then_some((reach, counts))
    };
    let found = text.lines().take(sources.len()).map(line).collect();
    (found, text.lines().skip(sources.len()).collect())
}

/// Compares `program` with searches on a core.
fn check(program: &Path, name: &str, graph: &Graph, sources: &[u32]) {
    let mut search = Search::new(graph).unwrap();
    let expect = sources.iter().map(|source| {
        let reach = search.run(graph, *source).ok()?;
        let near = search.distances().iter().filter(|distance| **distance < COUNTED);
        let mut counts = vec![0; (reach.farthest + 1).min(COUNTED) as usize];
        near.for_each(|distance| counts[*distance as usize] += 1);
        Some((reach, counts))
    });
    let expect: Vec<_> = expect.collect();
    let (found, rest) = ran(program, graph, sources);
    assert_eq!(found, expect, "{name}, {} sources", sources.len());
    if !rest.is_empty() {
        let rows = packed(&ShortestPaths::distances(graph), sources)
            + &packed(&ShortestPaths::short_distances(graph), sources);
        assert!(rest == rows, "rows of {name}, {} sources", sources.len());
    }
}

/// The outputs of cores as they travel, in hexadecimal digits.
fn packed<O: Packed>(paths: &ShortestPaths<'_, O>, sources: &[u32]) -> String {
    let mut bytes = Vec::new();
    sources.iter().for_each(|source| paths.on_core(*source).unwrap().pack(&mut bytes));
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn graph(vertices: u32, list: impl IntoIterator<Item = (u32, u32, u32)>) -> Graph {
    let arcs: Vec<_> =
        list.into_iter().map(|(from, to, weight)| Arc { from, to, weight }).collect();
    Graph::new(vertices, &arcs, 0).unwrap()
}

fn of(vertices: u32, degree: u32, weight: u32) -> Graph {
    random(Random { vertices, degree, weight, seed: 5 }).unwrap()
}

/// Graphs with weights from 1 to 255, and how many sources.
fn graphs() -> Vec<(&'static str, Graph, usize)> {
    let mut stream = SplitMix::new(3);
    let mut below = |n: u64| (stream.next_u64() % n) as u32;
    let sparse: Vec<_> = (0..150).map(|_| (below(200), below(200), 1 + below(20))).collect();
    let hub: Vec<_> = (1..700).flat_map(|v| [(0, v, 1 + v % 10), (v, 0, 1 + v % 7)]).collect();
    vec![
        ("one vertex", graph(1, []), 3),
        ("a loop", graph(1, [(0, 0, 3)]), 1),
        ("parallel edges", graph(3, [(0, 1, 9), (0, 1, 2), (0, 1, 5), (1, 2, 1), (1, 1, 4)]), 31),
        ("no edges", graph(40, []), 40),
        ("a path", graph(70, (0..69).map(|v| (v, v + 1, 1 + v % 3))), 100),
        ("weights of 1", of(97, 3, 1), 100),
        ("weights to 10", of(130, 7, 10), 100),
        ("weights to 255", of(70, 3, 255), 60),
        ("many that no path leads to", graph(200, sparse), 100),
        ("a hub", graph(720, hub), 60),
    ]
}

fn sources(graph: &Graph, count: usize) -> Vec<u32> {
    let mut stream = SplitMix::new(count as u64);
    (0..count).map(|_| (stream.next_u64() % u64::from(graph.vertices())) as u32).collect()
}

#[test]
fn planes_compute_what_a_core_does() {
    let folder = tempfile::tempdir().unwrap();
    for (words, bits) in [(1, planes::BITS), (2, planes::BITS), (4, 0)] {
        let shape = Shape { words, blocks: 1, reads: [8, 3, 4][words as usize / 2] };
        let text = planes::text(shape, bits, 2);
        let Some(program) = program(&text, true, folder.path(), &format!("planes{words}{bits}"))
        else {
            return println!("skipped: no C++ compiler");
        };
        for (name, graph, count) in graphs().into_iter().filter(|_| words < 4) {
            check(&program, name, &graph, &sources(&graph, count));
        }
        // More than a bit of each word, and where that doesn't take long every slot, has a source.
        let graph = of(50, 4, 10);
        check(&program, "a full batch", &graph, &sources(&graph, 1024));
    }
}

#[test]
fn sweeps_compute_what_a_core_does() {
    let folder = tempfile::tempdir().unwrap();
    for words in [1, 4] {
        for bytes in [true, false] {
            let text = batched::text(words, bytes);
            let Some(program) =
                program(&text, bytes, folder.path(), &format!("batched{words}{bytes}"))
            else {
                return println!("skipped: no C++ compiler");
            };
            let most = 32 * words as usize;
            for (name, graph, count) in graphs() {
                check(&program, name, &graph, &sources(&graph, count.min(most)));
            }
            if !bytes {
                let long = 3_000_000_000;
                let far = graph(4, [(0, 1, long), (1, 2, long), (3, 2, 1)]);
                check(&program, "beyond 32 bits", &far, &[0, 1, 2, 3]);
                let closed = u32::MAX - 1;
                let roads = graph(4, [(0, 1, 10), (0, 3, 20), (1, 2, closed), (3, 2, 5)]);
                check(&program, "closed roads", &roads, &[0, 1, 2, 3]);
                check(&program, "to the brim", &graph(3, [(0, 1, closed - 7), (1, 2, 7)]), &[0, 1]);
            }
            let ring = graph(4, [(0, 1, 0), (1, 2, 0), (2, 0, 0), (2, 3, 1)]);
            check(&program, "weights of zero", &ring, &[0, 1, 2, 3]);
        }
    }
}
