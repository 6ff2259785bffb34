//! Shortest paths in the graph of TuCCompi's section 6.3: sources a second of every form.

use std::num::NonZero;

use serde::Serialize;
use warpweft::farm::{Inputs, Policy, Run, Share, Target, Task};
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft::report::counted;
use warpweft_apps::apsp::{
    Form, Graph, Reach, Search, ShortestPaths, by_landmarks, dijkstra, predict,
};
use warpweft_apps::soup::SplitMix;

use super::Place;
use warpweft_terminal::output::{note, scaled};

/// Sources a GPU by planes, by sweeps, and a core.
pub const SOURCES: [u32; 3] = [128 * 2048, 128 * 128, 16];
/// Sources at once of the roofline for planes.
const BATCH: f64 = 2048.0;
const LANDMARKS: u32 = 12;

/// One form on some workers.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
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

/// Sources in a graph, a form and its workers.
pub struct Case<'g> {
    pub graph: &'g Graph,
    pub form: Form,
    pub target: Target,
    pub policy: Policy,
    pub sources: Vec<u32>,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wants {
    Reach,
    Statistics,
}

impl Case<'_> {
    /// Of some of the sources: which, and what their distances add up to by Dijkstra's algorithm.
    pub fn expected(&self, count: usize) -> Vec<(usize, u64)> {
        let (sources, count) = (&self.sources, count.min(self.sources.len()));
        let which: Vec<_> = (0..count).map(|k| k * (sources.len() - 1) / count.max(2)).collect();
        let total = |k: usize| dijkstra(self.graph, sources[k]).into_iter().flatten().sum();
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        std::thread::scope(|scope| {
            let parts = which.chunks(which.len().div_ceil(threads).max(1));
            let all: Vec<_> = parts
                .map(|part| scope.spawn(move || part.iter().map(|&k| (k, total(k))).collect()))
                .collect();
            let joined = all.into_iter().map(|thread| {
                let found: Vec<_> =
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                found
            });
            joined.flatten().collect()
        })
    }

    /// Rates of the farm and of its workers while they work; its answers are those `expected`.
    pub fn run(
        &self,
        machine: &Machine,
        wants: Wants,
        expected: &[(usize, u64)],
    ) -> Result<[f64; 2]> {
        let by_count =
            |counts: &[u32]| (0u64..).zip(counts).map(|(d, &count)| d * u64::from(count)).sum();
        let (graph, form) = (self.graph, self.form);
        match wants {
            Wants::Reach => {
                let total = |reach: &Reach| reach.total;
                self.of(ShortestPaths::reach(graph).by(form), &total, machine, expected)
            }
            Wants::Statistics => {
                let total = |(_, counts): &(Reach, Vec<u32>)| by_count(counts);
                self.of(ShortestPaths::spread(graph).by(form), &total, machine, expected)
            }
        }
    }

    fn of<T: Task<Input = u32>>(
        &self,
        task: T,
        total: &dyn Fn(&T::Output) -> u64,
        machine: &Machine,
        expected: &[(usize, u64)],
    ) -> Result<[f64; 2]> {
        let mut checked = 0;
        let mut sink = |k: u64, output: T::Output| {
            let place = expected.binary_search_by_key(&(k as usize), |(k, _)| *k);
            let Ok(place) = place else { return Ok(()) };
            checked += 1;
            let (k, expect) = expected[place];
            match total(&output) == expect {
                true => Ok(()),
                false => {
                    let what = format!("source {}: distances add up to {expect}", self.sources[k]);
                    Err(Error::spec(what, "report this as a bug"))
                }
            }
        };
        let run = Run { target: self.target, policy: Some(self.policy), ..Run::default() };
        let outcome =
            Farm::of(task).run_into(Inputs::from(&self.sources), machine, &run, &mut sink)?;
        if checked != expected.len() {
            let what = format!("{checked} of {} sources were compared", expected.len());
            return Err(Error::spec(what, "report this as a bug"));
        }
        let working = |share: &Share| match share.busy > 0.0 {
            true => share.tasks as f64 / share.busy,
            false => 0.0,
        };
        let seconds = outcome.report.seconds;
        Ok([self.sources.len() as f64 / seconds, outcome.shares.iter().map(working).sum()])
    }

    /// Rates of the farm and of its workers, `repeats` times after one that pays for compiled kernels on GPUs.
    pub fn repeated(&self, machine: &Machine, wants: Wants, repeats: u32) -> Result<Vec<[f64; 2]>> {
        let expected = self.expected(3);
        let run = || self.run(machine, wants, &expected);
        if self.target != Target::Cpu {
            run()?;
        }
        (0..repeats).map(|_| run()).collect()
    }
}

/// Sources by number, drawn by chance.
pub fn any(graph: &Graph, seed: u64, count: u32) -> Vec<u32> {
    let mut stream = SplitMix::new(seed);
    (0..count).map(|_| (stream.next_u64() % u64::from(graph.vertices())) as u32).collect()
}

/// Every form, on one GPU, on all, and on the cores.
pub fn forms(place: &Place<'_>, gpus: Option<usize>) -> Result<Vec<Figure>> {
    let (graph, machine) = (place.graph, place.machine);
    let failed = |why: Failure| Error::spec(why.to_string(), "report this as a bug");
    let order = by_landmarks(graph, LANDMARKS).map_err(failed)?;
    let levels = levels(graph).map_err(failed)?;
    let [planes, batched, dial] = SOURCES;
    let [planes, batched] = [planes, batched].map(|sources| sources / place.shrink);
    let mut figures = Vec::new();
    let mut counts = gpus.map_or(vec![1, machine.gpus.len()], |gpus| vec![gpus]);
    counts.dedup();
    for gpus in counts.into_iter().filter(|_| !machine.gpus.is_empty()) {
        let few = Machine { gpus: machine.gpus[..gpus].to_vec(), ..machine.clone() };
        let bandwidth = |gpu: usize| {
            place.probe.gpus.iter().find(|it| it.ordinal == gpu).and_then(|gpu| gpu.bandwidth())
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
            (Form::Planes, "random", any(graph, 7, planes * several)),
            (Form::Planes, "by landmarks", alike),
            (Form::Batched, "random", any(graph, 8, batched * several)),
        ] {
            let (name, roofline) = match form {
                Form::Planes => ("planes", roofline),
                _ => ("batched", None),
            };
            let (target, policy) = (Target::AllGpus, Policy::default());
            let case = Case { graph, form, target, policy, sources };
            figures.push(figure((name, order, gpus), roofline, &case, &few, place.repeats)?);
        }
    }
    let sources = any(graph, 9, dial * machine.cpu.threads() as u32);
    let (form, target) = (Form::Dial, Target::Cpu);
    let case = Case { graph, form, target, policy: Policy::default(), sources };
    if gpus.is_none() {
        figures.push(figure(("dial", "random", 0), None, &case, machine, place.repeats)?);
    }
    Ok(figures)
}

/// The median of the repeats.
fn figure(
    (form, order, gpus): (&'static str, &'static str, usize),
    roofline: Option<f64>,
    case: &Case<'_>,
    machine: &Machine,
    repeats: u32,
) -> Result<Figure> {
    note(&format!("{form}, {order} sources, {}", workers(gpus)));
    let mut rates = case.repeated(machine, Wants::Reach, repeats)?;
    rates.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let [rate, working] = rates[rates.len() / 2];
    let range = [rates[0][0], rates[rates.len() - 1][0]];
    let sources = case.sources.len() as u64;
    Ok(Figure { form, order, gpus, sources, rate, range, working, roofline })
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
pub fn table(figures: &[Figure], graph: &Graph) -> String {
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
