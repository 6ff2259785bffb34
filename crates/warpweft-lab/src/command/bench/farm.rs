//! Sources a second of shortest paths in the graph of TuCCompi's section 6.3, by every form that the machine has.

use std::num::NonZero;
use std::process::ExitCode;

use serde::Serialize;
use warpweft::farm::{Inputs, Policy, Run, Share, Target};
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft::report::counted;
use warpweft_apps::apsp::{
    Form, Graph, Random, Reach, Search, ShortestPaths, by_landmarks, dijkstra, predict, random,
};
use warpweft_apps::soup::SplitMix;

use super::Options;
use super::record::Record;
use warpweft_terminal::arguments::at_least_one;
use warpweft_terminal::limits;
use warpweft_terminal::output::{fail, note, say, scaled};

/// Shortest paths as a farm.
#[derive(clap::Args)]
pub struct Farms {
    /// Divide vertices and sources by this, for a quick run.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    shrink: u32,
    /// Run only on this number of GPUs, and not on the cores [default: on one GPU, on all, and on the cores].
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZero<usize>>)]
    gpus: Option<NonZero<usize>>,
    #[command(flatten)]
    options: Options,
}

/// The papers' graph.
const GRAPH: Random = Random { vertices: 1_049_088, degree: 7, weight: 10, seed: 1 };
/// Sources a GPU by planes, by sweeps, and a core.
const SOURCES: [u32; 3] = [128 * 2048, 128 * 128, 16];
/// Sources at once of the roofline for planes.
const BATCH: f64 = 2048.0;
const LANDMARKS: u32 = 12;

/// One form on some workers.
#[derive(Clone, Debug, Serialize)]
struct Figure {
    form: &'static str,
    order: &'static str,
    gpus: usize,
    sources: u64,
    /// Sources a second of the farm, its lanes' opening counted: the median, the slowest and the fastest.
    rate: f64,
    range: [f64; 2],
    /// Of its workers while they work, in the median.
    working: f64,
    /// What the memory of the GPUs allows to planes of as many independent sources at once.
    roofline: Option<f64>,
}

struct Case<'g> {
    graph: &'g Graph,
    form: Form,
    target: Target,
    sources: Vec<u32>,
}

impl Case<'_> {
    /// Of three of the sources: which, and what their distances add up to by Dijkstra's algorithm.
    fn expected(&self) -> [(usize, u64); 3] {
        let which = [0, self.sources.len() / 2, self.sources.len() - 1];
        let total = |k: usize| dijkstra(self.graph, self.sources[k]).into_iter().flatten().sum();
        std::thread::scope(|scope| {
            let each = which.map(|k| (k, scope.spawn(move || total(k))));
            each.map(|(k, total)| {
                (k, total.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            })
        })
    }

    /// Rates of the farm and of its workers while they work; its answers are those `expected`.
    fn run(&self, machine: &Machine, expected: &[(usize, u64)]) -> Result<[f64; 2]> {
        let mut found = vec![Reach::default(); self.sources.len()];
        let mut sink = |k: u64, reach| {
            found[k as usize] = reach;
            Ok(())
        };
        let run = Run { target: self.target, policy: Some(Policy::default()), ..Run::default() };
        let farm = Farm::of(ShortestPaths::reach(self.graph).by(self.form));
        let inputs = Inputs::from(&self.sources);
        let outcome = farm.run_into(inputs, machine, &run, &mut sink)?;
        for &(k, total) in expected {
            if total != found[k].total {
                let what = format!("source {}: distances add up to {total}", self.sources[k]);
                return Err(Error::spec(what, "report this as a bug"));
            }
        }
        let working = |share: &Share| match share.busy > 0.0 {
            true => share.tasks as f64 / share.busy,
            false => 0.0,
        };
        let seconds = outcome.report.seconds;
        Ok([self.sources.len() as f64 / seconds, outcome.shares.iter().map(working).sum()])
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
        command + &self.options.command()
    }

    fn measure(&self) -> Result<String> {
        let machine = Machine::detect()?;
        let probe = limits(&machine)?;
        note("making the graph, and an order of its vertices");
        let graph = random(Random { vertices: GRAPH.vertices / self.shrink, ..GRAPH })?;
        let failed = |why: Failure| Error::spec(why.to_string(), "report this as a bug");
        let order = by_landmarks(&graph, LANDMARKS).map_err(failed)?;
        let levels = levels(&graph).map_err(failed)?;
        let mut stream = SplitMix::new(7);
        let mut any = |count: u32| -> Vec<u32> {
            (0..count).map(|_| (stream.next_u64() % u64::from(graph.vertices())) as u32).collect()
        };
        let [planes, batched, dial] = SOURCES;
        let [planes, batched] = [planes, batched].map(|sources| sources / self.shrink);
        let mut figures = Vec::new();
        let none: [(); 0] = [];
        let mut counts = vec![1, machine.gpus.len()];
        if let Some(gpus) = self.gpus.map(NonZero::get) {
            if gpus > machine.gpus.len() {
                let what = format!("--gpus {gpus}, but there are {}", machine.gpus.len());
                return Err(Error::spec(what, "give at most this number"));
            }
            counts = vec![gpus];
        }
        counts.dedup();
        for gpus in counts.into_iter().filter(|_| !machine.gpus.is_empty()) {
            let few = Machine { gpus: machine.gpus[..gpus].to_vec(), ..machine.clone() };
            let bandwidth = |gpu: usize| {
                probe.gpus.iter().find(|it| it.ordinal == gpu).and_then(|gpu| gpu.bandwidth())
            };
            let bandwidth: Option<f64> = few.gpus.iter().map(|gpu| bandwidth(gpu.ordinal)).sum();
            let (n, m) = (f64::from(graph.vertices()), graph.edge_count() as f64);
            let roofline = bandwidth.map(|b| BATCH / predict(&levels, n, m, BATCH, b));
            let several = gpus as u32;
            // From the middle of the order, where sources are as far from the landmarks as most.
            let count = (planes * several).min(graph.vertices());
            let first = ((graph.vertices() - count) / 2) as usize;
            let alike = order[first..first + count as usize].to_vec();
            for (form, order, sources) in [
                (Form::Planes, "random", any(planes * several)),
                (Form::Planes, "by landmarks", alike),
                (Form::Batched, "random", any(batched * several)),
            ] {
                let (name, roofline) = match form {
                    Form::Planes => ("planes", roofline),
                    _ => ("batched", None),
                };
                let case = Case { graph: &graph, form, target: Target::AllGpus, sources };
                figures.push(self.figure(name, order, gpus, roofline, &case, &few)?);
            }
        }
        let cores = machine.cpu.threads() as u32;
        let (form, target) = (Form::Dial, Target::Cpu);
        let case = Case { graph: &graph, form, target, sources: any(dial * cores) };
        if self.gpus.is_none() {
            figures.push(self.figure("dial", "random", 0, None, &case, &machine)?);
        }
        let record = Record::new("farm", &self.command(), &machine, probe, &figures, &none);
        record.conclude(&self.options, table(&figures, &graph))
    }

    /// The median of the repeats, after one that pays for compiled kernels.
    fn figure(
        &self,
        form: &'static str,
        order: &'static str,
        gpus: usize,
        roofline: Option<f64>,
        case: &Case<'_>,
        machine: &Machine,
    ) -> Result<Figure> {
        note(&format!("{form}, {order} sources, {}", workers(gpus)));
        let expected = case.expected();
        let run = || case.run(machine, &expected);
        if gpus > 0 {
            run()?;
        }
        let mut rates = (0..self.options.repeats).map(|_| run()).collect::<Result<Vec<_>>>()?;
        rates.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let [rate, working] = rates[rates.len() / 2];
        let range = [rates[0][0], rates[rates.len() - 1][0]];
        let sources = case.sources.len() as u64;
        Ok(Figure { form, order, gpus, sources, rate, range, working, roofline })
    }
}

/// Vertices at each distance from a source, on average over a few sources.
fn levels(graph: &Graph) -> Result<Vec<f64>, Failure> {
    let sources = [1, 2, 3].map(|k| (u64::from(graph.vertices()) * k / 4) as u32);
    let mut search = Search::new(graph)?;
    let mut levels: Vec<f64> = Vec::new();
    for source in sources {
        search.run(graph, source)?;
        for distance in search.distances().iter().filter(|d| **d < u32::MAX) {
            let level = *distance as usize;
            levels.resize(levels.len().max(level + 1), 0.0);
            levels[level] += 1.0 / sources.len() as f64;
        }
    }
    Ok(levels)
}

/// The workers of a figure.
fn workers(gpus: usize) -> String {
    match gpus {
        0 => "cores".into(),
        gpus => counted(gpus as u64, "GPU"),
    }
}

/// A line a form.
fn table(figures: &[Figure], graph: &Graph) -> String {
    let mut text = format!(
        "Shortest paths from many sources, {} vertices and {} edges\n",
        graph.vertices(),
        graph.edge_count()
    );
    for figure in figures {
        let workers = workers(figure.gpus);
        text.push_str(&format!(
            "  {:<8} {:<13} {workers:<6} {}sources/s ({} to {}) of {}, {}sources/s while workers work",
            figure.form,
            figure.order,
            scaled(figure.rate),
            scaled(figure.range[0]),
            scaled(figure.range[1]),
            figure.sources,
            scaled(figure.working),
        ));
        if let Some(roofline) = figure.roofline {
            text.push_str(&format!(
                ", {:.2} of {}sources/s that memory allows to independent ones",
                figure.working / roofline,
                scaled(roofline)
            ));
        }
        text.push('\n');
    }
    text
}
