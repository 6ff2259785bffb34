//! Figures of farms: shortest paths by every form, what scheduling costs, kernels against exhaustive sweeps, and TuCCompi's
//! experiments measured on this machine.

mod ends;
mod experiments;
mod graph;
mod kernels;
mod one_core;
mod rows;

use std::num::NonZero;
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use warpweft::machine::{Machine, Probe};
use warpweft::prelude::*;
use warpweft_apps::apsp::{Graph, Random, random};

use super::Options;
use super::record::Record;
use warpweft_terminal::arguments::at_least_one;
use warpweft_terminal::limits;
use warpweft_terminal::output::{fail, note, say, scaled};

/// Farms.
#[derive(clap::Args)]
pub struct Farms {
    /// Divide vertices and sources by this, for a quick run.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    shrink: u32,
    /// Run only on this number of GPUs, and not on the cores [default: on one GPU, on all, and on the cores].
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZero<usize>>)]
    gpus: Option<NonZero<usize>>,
    /// Measure only these parts, separated by commas.
    #[arg(long, value_name = "PARTS", value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    #[command(flatten)]
    options: Options,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Sources a second by every form.
    Graph,
    /// Rows of distances to a sink, statistics of all vertices, and the cores next to a GPU.
    Rows,
    /// One core next to Dijkstra's algorithm of scipy and of petgraph.
    Core,
    /// What scheduling costs: requests, short tasks, ends.
    Ends,
    /// Blocks and concurrent kernels against exhaustive sweeps.
    Kernels,
    /// The paper's Figures 14 to 16 on this machine.
    Experiments,
}

/// The papers' graph.
const GRAPH: Random = Random { vertices: 1_049_088, degree: 7, weight: 10, seed: 1 };

/// One number.
#[derive(Clone, Debug, Serialize)]
struct Line {
    what: String,
    value: f64,
    unit: &'static str,
    /// The least and the greatest of its measurements, where there were several.
    range: Option<[f64; 2]>,
}

impl Line {
    fn new(what: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { what: what.into(), value, unit, range: None }
    }

    /// The median of several.
    fn median(what: impl Into<String>, mut values: Vec<f64>, unit: &'static str) -> Self {
        values.sort_by(f64::total_cmp);
        let range = [values[0], values[values.len() - 1]];
        Self { range: Some(range), ..Self::new(what, values[values.len() / 2], unit) }
    }

    fn text(&self) -> String {
        let Self { what, value, unit, range } = self;
        let number = |value: f64| match *unit {
            "%" | "times" | "s" | "us" => format!("{value:.2} "),
            _ => scaled(value),
        };
        let range = range.filter(|[least, most]| least < most);
        let range = range.map(|[least, most]| format!(" ({}to {})", number(least), number(most)));
        format!("  {what:<72} {}{unit}{}\n", number(*value), range.unwrap_or_default())
    }
}

/// All results.
#[derive(Default, Serialize)]
struct Found {
    graph: Vec<graph::Figure>,
    lines: Vec<Line>,
    sweeps: Vec<kernels::Sweep>,
    experiments: Vec<experiments::Case>,
}

/// What all parts need.
struct Place<'a> {
    machine: &'a Machine,
    probe: &'a Probe,
    /// The papers' graph, shrunk as asked for.
    graph: &'a Graph,
    repeats: u32,
    shrink: u32,
    /// Where the programs of other systems are.
    peers: &'a Path,
}

impl Place<'_> {
    /// The machine with its first GPU alone.
    fn with_one_gpu(&self) -> Option<Machine> {
        let gpus: Vec<_> = self.machine.gpus.iter().take(1).cloned().collect();
        (!gpus.is_empty()).then(|| Machine { gpus, ..self.machine.clone() })
    }
}

impl Farms {
    /// Measures and prints.
    pub fn execute(&self) -> ExitCode {
        match self.measure() {
            Ok(text) => say(&text),
            Err(error) => fail(&error),
        }
    }

    fn command(&self) -> String {
        let mut command = String::from("warpweft bench farm");
        if self.shrink != 1 {
            command.push_str(&format!(" --shrink {}", self.shrink));
        }
        if let Some(gpus) = self.gpus {
            command.push_str(&format!(" --gpus {gpus}"));
        }
        if !self.only.is_empty() {
            let parts: Vec<_> =
                self.only.iter().map(|part| format!("{part:?}").to_lowercase()).collect();
            command.push_str(&format!(" --only {}", parts.join(",")));
        }
        command + &self.options.command()
    }

    fn wants(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }

    fn measure(&self) -> Result<String> {
        let machine = Machine::detect()?;
        if let Some(gpus) = self.gpus.filter(|gpus| gpus.get() > machine.gpus.len()) {
            let what = format!("--gpus {gpus}, but there are {}", machine.gpus.len());
            return Err(Error::spec(what, "give at most this number"));
        }
        let probe = limits(&machine)?;
        note("making the graph");
        let graph = random(Random { vertices: GRAPH.vertices / self.shrink, ..GRAPH })?;
        let (repeats, shrink) = (self.options.repeats, self.shrink);
        let (machine, probe, graph) = (&machine, &probe, &graph);
        let peers = self.options.peers.as_path();
        let place = Place { machine, probe, graph, repeats, shrink, peers };
        let mut found = Found::default();
        if self.wants(Part::Ends) {
            found.lines.extend(ends::measured(&place)?);
        }
        if self.wants(Part::Graph) {
            found.graph = graph::forms(&place, self.gpus.map(NonZero::get))?;
        }
        if self.wants(Part::Rows) {
            found.lines.extend(rows::measured(&place)?);
        }
        if self.wants(Part::Kernels) {
            found.sweeps = kernels::sweeps(&place)?;
        }
        if self.wants(Part::Experiments) {
            found.experiments = experiments::measured(&place)?;
        }
        if self.wants(Part::Core) {
            found.lines.extend(one_core::measured(&place)?);
        }
        let text = found.text(graph);
        let none: [(); 0] = [];
        let record = Record::new("farm", &self.command(), machine, probe.clone(), &found, &none);
        record.conclude(&self.options, text)
    }
}

impl Found {
    fn text(&self, graph: &Graph) -> String {
        let mut text = String::new();
        if !self.graph.is_empty() {
            text.push_str(&graph::table(&self.graph, graph));
        }
        self.lines.iter().for_each(|line| text.push_str(&line.text()));
        self.sweeps.iter().for_each(|sweep| text.push_str(&sweep.text()));
        text.push_str(&experiments::table(&self.experiments));
        text
    }
}
