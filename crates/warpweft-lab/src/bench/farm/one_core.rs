//! Shortest paths on one core, next to Dijkstra's algorithm of scipy and of petgraph in the same graph.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use warpweft::farm::{Policy, Target};
use warpweft::machine::{Cpu, Machine};
use warpweft::prelude::*;
use warpweft_apps::apsp::{Form, Graph, dijkstra};

use super::graph::{Case, Wants};
use super::{Line, Place};
use crate::bench::peers;
use warpweft_terminal::output::note;

/// Sources of ours and of the others, which are slower.
const SOURCES: u32 = 24;
const OTHERS: u32 = 3;

/// What another program says.
#[derive(Deserialize)]
struct Peer {
    peer: String,
    sources_per_second: f64,
    /// The sum of all distances.
    total: u64,
}

/// Sources a second of each, in turns, and the ratios of the medians.
pub fn measured(place: &Place<'_>) -> Result<Vec<Line>> {
    note("one core next to scipy and petgraph");
    let edges = std::env::temp_dir().join(format!("warpweft-bench-{}.txt", std::process::id()));
    let lines = write(place.graph, &edges).and_then(|()| compared(place, &edges));
    // A file in the temporary folder: no harm if it stays.
    let _ = std::fs::remove_file(edges);
    lines
}

/// The same, with the graph's edges in a file.
fn compared(place: &Place<'_>, edges: &Path) -> Result<Vec<Line>> {
    let one = one_core(place.machine);
    let ours = Case {
        graph: place.graph,
        form: Form::Dial,
        target: Target::Cpu,
        policy: Policy::default(),
        sources: (0..SOURCES.min(place.graph.vertices())).collect(),
    };
    let checked = ours.expected(3);
    let total: u64 = (0..OTHERS).flat_map(|source| dijkstra(place.graph, source)).flatten().sum();
    let mut rates: Vec<(String, Vec<f64>)> = vec![("dial".into(), Vec::new())];
    for _ in 0..place.repeats {
        rates[0].1.push(ours.run(&one, Wants::Reach, &checked)?[0]);
        for mut program in others(place.peers) {
            let path = program.get_program().to_owned();
            let path = Path::new(&path);
            program.arg(edges).arg(OTHERS.to_string());
            for Peer { peer, sources_per_second, total: sum } in peers::run(&mut program, path)? {
                if sum != total {
                    let what = format!("{peer}: distances add up to {sum}, not to {total}");
                    return Err(Error::file(path, what, "check that program"));
                }
                match rates.iter_mut().find(|(name, _)| *name == peer) {
                    Some((_, rates)) => rates.push(sources_per_second),
                    None => rates.push((peer, vec![sources_per_second])),
                }
            }
        }
    }
    let name = |name: &str| format!("{name} on one core");
    let mut lines: Vec<_> = rates
        .into_iter()
        .map(|(peer, rates)| (Line::median(name(&peer), rates, "sources/s"), peer))
        .collect();
    let ours = lines[0].0.value;
    let over = |(line, peer): &(Line, String)| {
        Line::new(format!("dial over {peer}"), ours / line.value, "times")
    };
    let ratios: Vec<_> = lines[1..].iter().map(over).collect();
    Ok(lines.drain(..).map(|(line, _)| line).chain(ratios).collect())
}

/// The machine with its first core alone.
fn one_core(machine: &Machine) -> Machine {
    let cores = machine.cpu.cores[..1].to_vec();
    Machine { cpu: Cpu { cores, ..machine.cpu.clone() }, gpus: Vec::new(), ..machine.clone() }
}

/// The other programs that are there.
fn others(folder: &Path) -> Vec<Command> {
    let mut found = Vec::new();
    let scipy = folder.join("apsp_scipy.py");
    if scipy.exists() {
        let mut python = Command::new("python3");
        python.arg(&scipy);
        found.push(python);
    }
    let petgraph = folder.join("apsp_petgraph");
    let program = petgraph.join("target/release/apsp_petgraph");
    if program.exists() || peers::built(&petgraph) {
        found.push(Command::new(program));
    }
    if found.is_empty() {
        note(&format!("no peers: {} has no programs that run here", folder.display()));
    }
    found
}

/// A line `from to weight` for each edge.
fn write(graph: &Graph, path: &Path) -> Result<()> {
    let written = std::fs::File::create(path).and_then(|file| {
        let mut to = std::io::BufWriter::new(file);
        for from in 0..graph.vertices() {
            for edge in graph.edges(from) {
                writeln!(to, "{from} {} {}", edge.to, edge.weight)?;
            }
        }
        to.flush()
    });
    written.map_err(|error| Error::file(path, error, "make room for the graph"))
}
