//! `warpweft apsp`: shortest paths from many sources, a farm of tasks.

mod answer;
mod at;
mod check;
mod failures;
mod files;
mod graph;
mod plan;
mod resume;
mod search;
mod sources;
mod statistics;
mod tune;

use std::cell::Cell;
use std::convert::Infallible;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::json;
use warpweft::cluster::agree;
use warpweft::farm::{
    self, ChunkSize, Flush, Journal, KernelTable, Policy, Run, Schedule, Settings,
};
use warpweft::machine::Gpu;
use warpweft::memory::filled;
use warpweft::prelude::*;
use warpweft::report::counted;
use warpweft::run::Target;
use warpweft::trace::Trace;
use warpweft_apps::apsp::{Graph, Reach, fingerprint};

use self::answer::{Found, summary, written};
use self::at::{At, FormChoice};
use self::files::Files;
use self::graph::GraphChoice;
use self::sources::SourceChoice;
use self::statistics::Statistics;
pub use self::tune::Tune;
use crate::arguments::{at_least_one, number, threads, whole};
use crate::farms::workers::workers;
use crate::interrupt;
use crate::output::{complain, fail, note};
use crate::progress::Progress;
use crate::run::check::Check;
use crate::run::outcome::Outcome;
use crate::{place, world};

/// The schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ScheduleChoice {
    /// A worker that requests work gets a chunk, sized by its speed and the remaining tasks.
    Master,
    /// Every node gets the same number, divided evenly among its cores and GPU lanes.
    Eq1,
    /// Every core and lane gets the same number.
    Eq2,
    /// A worker that requests work gets one source.
    Single,
}

/// What happens if a source fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FailureChoice {
    /// Start no further source, and save what is done.
    Stop,
    /// Compute the other sources.
    Skip,
}

/// Shortest paths from many sources of a graph.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "GRAPH is a file, - for standard input, or random:VERTICES[,DEGREE[,WEIGHT[,SEED]]]. In a \
random graph every vertex has DEGREE (7) predecessors, and weights are 1 to WEIGHT (10). Files are DIMACS (.gr) or \
Matrix Market (.mtx), whose vertices count from 1, or lines `from to weight` with vertices from 0; plain or gzip. \
Weights are whole numbers, 0 or more. Edges are directed, except in symmetric matrices.

For each source the result is the number of vertices that can be reached, including the source, and the maximum \
and the sum of their distances. A core uses Dial's buckets, or a radix heap if weights exceed 4096. A GPU computes \
2048 sources at once if weights are 1 to 255, otherwise up to 128. In --distances, 4294967295 means that no path leads to the vertex.

Examples:
  warpweft apsp random:20000 --sources 0..1000
  warpweft apsp roads.gr.gz --sources 1,17,42 --distances rows.npy
  warpweft apsp graph.mtx --output reach.csv --journal kept
  warpweft apsp graph.mtx --output reach.csv --journal kept --resume
  warpweft apsp random:1049088 --sources random:100 --plan"
)]
pub struct Apsp {
    /// The graph.
    graph: GraphChoice,
    /// Sources, by the names of the graph's vertices: all, A..B (without B), random:N, numbers separated by
    /// commas, or a file of numbers.
    #[arg(long, value_name = "SOURCES", default_value = "all")]
    sources: SourceChoice,
    /// How sources are distributed to workers.
    #[arg(long, value_name = "SCHEDULE", value_enum, default_value = "master")]
    schedule: ScheduleChoice,
    /// Number of sources in a chunk [default: by speed, about a quarter of a second].
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZero<u64>>)]
    chunk: Option<NonZero<u64>>,
    /// The former name of `--chunk`.
    #[arg(long = "pack", hide = true, value_parser = renamed_pack)]
    _pack: Option<Infallible>,
    /// Where to run: cpu, gpu, gpu:N, gpu:N,M,.., gpus, cpu+gpu, cpu+gpu:N or auto, which is all GPUs and the cores.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Target,
    /// The algorithm of the search from a source.
    #[arg(long, value_name = "FORM", value_enum, default_value = "auto")]
    form: FormChoice,
    /// Number of chunks that each GPU works on at the same time, 1 to 8 [default: what `tune apsp` found,
    /// else 2].
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    lanes: Option<usize>,
    /// Threads on the CPU [default: one per core].
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZero<usize>>,
    /// What to do if a source fails, e.g. because a distance exceeds 32 bits; the exit status is 1 in both cases.
    #[arg(long, value_name = "WHAT", value_enum, default_value = "stop")]
    on_failure: FailureChoice,
    /// Record finished sources in this folder, so that a failed run can be resumed.
    #[arg(long, value_name = "DIR")]
    journal: Option<PathBuf>,
    /// Continue from the journal.
    #[arg(long, requires = "journal")]
    resume: bool,
    /// Seconds between two flushes of the journal to disk, 0 for one after every chunk. A power failure may lose this
    /// much work.
    #[arg(long, value_name = "S", requires = "journal", default_value = "1", value_parser = number::<f64>)]
    flush: f64,
    /// Check this many sources, evenly spaced, against Dijkstra's algorithm: a number, or full for all of them.
    #[arg(long, value_name = "N", default_value = "3", value_parser = sources_checked)]
    check: u64,
    /// Do not check the result.
    #[arg(long, conflicts_with = "check")]
    no_check: bool,
    /// Do not run: measure a few sources, and print how many sources each worker would get and how long the run would take.
    #[arg(long)]
    plan: bool,
    #[command(flatten)]
    files: Files,
    /// Print one JSON object instead of the report.
    #[arg(long)]
    json: bool,
}

/// A number of sources, `full` for all.
fn sources_checked(text: &str) -> std::result::Result<u64, String> {
    if text == "full" { Ok(u64::MAX) } else { whole(text) }
}

impl Apsp {
    /// Whether several processes share the work.
    pub fn is_of_ranks(&self) -> bool {
        !self.plan
    }

    /// Reads, searches, checks, saves and prints.
    pub fn execute(&self) -> ExitCode {
        if self.plan {
            return self.planned().unwrap_or_else(|error| fail(&error));
        }
        // A rank may be lost before the farm begins, and rank 0 after it, while it checks and saves.
        let failed = || resume::note_after_loss(self.journal.is_some());
        match world::join().and_then(|()| self.run()) {
            Ok(status) => world::leave_or(status, &failed),
            Err(error) => {
                failed();
                world::fail(&error)
            }
        }
    }

    fn policy(&self) -> Result<Policy> {
        let schedule = match self.schedule {
            ScheduleChoice::Master => Schedule::MasterWorker,
            ScheduleChoice::Eq1 => Schedule::Eq1,
            ScheduleChoice::Eq2 => Schedule::Eq2,
            ScheduleChoice::Single => Schedule::Single,
        };
        let chunk = self.chunk.map_or(ChunkSize::Auto, |tasks| ChunkSize::Tasks(tasks.get()));
        let lanes = self.lanes.unwrap_or(Policy::default().lanes);
        let policy = Policy { schedule, chunk, lanes, ..Policy::default() };
        policy.check().map(|()| policy)
    }

    /// `policy` with the tuned lanes and blocks for such graphs on the first kind of GPU, unless options set them: what a plan
    /// goes by. A run asks for each GPU.
    fn tuned(&self, policy: Policy, graph: &Graph, at: &At) -> Policy {
        let of = || tune::of(graph, at.form, self.files.wants_distances());
        let found = (self.lanes.is_none() && at.on_gpus()).then(|| farm::tuned(&of(), &at.machine));
        match found.flatten() {
            Some(Policy { lanes, block, .. }) => Policy { lanes, block, ..policy },
            None => policy,
        }
    }

    /// The graph and the sources in it.
    fn read(&self) -> Result<(Graph, Vec<u32>)> {
        let graph = self.graph.graph()?;
        let sources = self.sources.of(&graph)?;
        Ok((graph, sources))
    }

    /// The journal of the options.
    fn journal(&self, graph: &Graph, sources: &[u32]) -> Option<Journal> {
        self.journal.as_ref().map(|directory| Journal {
            directory: directory.clone(),
            of: match self.files.wants_statistics() && !self.files.wants_distances() {
                // The outputs have the same form as rows of distances.
                true => format!("{}, with counts", description(graph, sources)),
                false => description(graph, sources),
            },
            resume: self.resume,
            flush: match self.flush {
                0.0 => Flush::EveryChunk,
                seconds => Flush::Every(seconds),
            },
        })
    }

    /// Checks that files can be written, before a large graph is read.
    fn check(&self) -> Result<()> {
        // Only one process writes.
        if !place::speaks() {
            return Ok(());
        }
        // Cores have no use for it, but a wrong one is an error everywhere.
        KernelTable::of_user()?;
        self.files.check(self.graph.file(), self.sources.file())?;
        self.journal.as_ref().map_or(Ok(()), |folder| Journal::check(folder, self.resume))
    }

    fn planned(&self) -> Result<ExitCode> {
        let policy = self.policy()?;
        self.check()?;
        if self.files.any() {
            note("--plan computes no distances, so no output file is written");
        }
        let at = At::of(self.device, self.form, self.threads)?;
        let (graph, mut sources) = self.read()?;
        at.form.check(&graph)?;
        let mut kept = 0;
        if let Some(journal) = self.journal(&graph, &sources) {
            let count = sources.len() as u64;
            let done = match self.files.wants_distances() || self.files.wants_statistics() {
                true => journal.done::<(Reach, Vec<u32>)>(count)?,
                false => journal.done::<Reach>(count)?,
            };
            kept = done.count();
            let mut k = 0..;
            sources.retain(|_| !k.next().is_some_and(|k| done.holds(&(k..k + 1))));
        }
        let policy = self.tuned(policy, &graph, &at);
        plan::plan(&graph, &sources, kept, &policy, &at, self.json)
    }

    /// Runs the farm; one process reports.
    fn run(&self) -> Result<ExitCode> {
        let policy = self.policy()?;
        self.check()?;
        if world::net().is_some() && self.graph.file().is_some_and(|path| path == Path::new("-")) {
            let hint = "name a file that every process can read";
            return Err(Error::spec("standard input in one of several processes", hint));
        }
        let at = At::of(self.device, self.form, self.threads)?;
        let (graph, sources) = self.read()?;
        if let Some(net) = world::net() {
            agree(net, "as task", &description(&graph, &sources))?;
        }
        let wants_distances = self.files.wants_distances();
        at.form.check(&graph)?;
        let policy = self.tuned(policy, &graph, &at);
        let speaks = place::speaks();
        let trace = self.files.trace.as_ref().filter(|_| speaks).map(|_| Arc::new(Trace::new()));
        // One process has the results of all.
        let room = || self.room_for((&graph, &sources), at.at_once(policy.lanes));
        let mut found = if speaks { room()? } else { Found::default() };
        let progress = Progress::over("apsp", sources.len() as u64, ["sources", "sources/s"]);
        // Sources from the journal took no time in this run.
        let resumed = Cell::new(self.resume);
        let begun = Cell::new(false);
        let told = |done: u64, _| {
            if !begun.replace(true) {
                resume::note_in_time(self.journal.is_some());
            }
            match resumed.take() {
                true => progress.from(done),
                false => progress.at(done),
            }
        };
        interrupt::listen();
        let journal = self.journal(&graph, &sources);
        let of = tune::of(&graph, at.form, wants_distances);
        // GPUs of several kinds each have their own.
        let by_gpu = |gpu: &Gpu| self.lanes.map_or_else(|| farm::tuned_on(&of, gpu), |_| None);
        let orphaned = || resume::note_for_rank_0(self.journal.is_some());
        let settings =
            Settings { by_gpu: Some(&by_gpu), orphaned: Some(&orphaned), ..Settings::default() };
        let run = Run {
            checkpoint: journal.as_ref(),
            progress: Some(&told),
            settings,
            ..self.run_of(&at, policy, &trace)
        };
        let farmed = self.search((&graph, &sources), &at, &run, &mut found);
        progress.clear();
        if speaks && resume::goes_on(&farmed, begun.get(), self.resume) {
            match &farmed {
                Err(Error::Task { .. }) => resume::note_without_failures(self.journal.is_some()),
                _ => resume::note_how(self.journal.is_some()),
            }
        }
        match speaks {
            true => self.concluded((&graph, &sources), &policy, &found, farmed, trace.as_deref()),
            false => failures::elsewhere(farmed),
        }
    }

    /// How the farm ended, on the process that has the results; it saves them before it leaves the others.
    fn concluded(
        &self,
        (graph, sources): (&Graph, &[u32]),
        policy: &Policy,
        found: &Found,
        farmed: Result<farm::Outcome>,
        trace: Option<&Trace>,
    ) -> Result<ExitCode> {
        match farmed {
            Ok(farmed) => Ok(self.outcome(graph, sources, policy, found, farmed, trace).report()),
            Err(error @ Error::Task { .. }) => {
                self.save_rest((graph, sources), found, trace);
                Ok(fail(&failures::stopped(error, graph, sources)))
            }
            Err(error) => {
                // Before the first source is done, files of an earlier run stay.
                if found.reaches.iter().any(Option::is_some) {
                    self.save_rest((graph, sources), found, trace);
                }
                Err(error)
            }
        }
    }

    /// Room for the results of all `sources`, for a process that computes so many at once.
    fn room_for(&self, (graph, sources): (&Graph, &[u32]), at_once: usize) -> Result<Found> {
        let at_once = at_once * world::net().map_or(1, |net| net.ranks());
        let statistics = || Statistics::new(graph, sources.len());
        Ok(Found {
            reaches: filled(std::iter::repeat_n(None, sources.len()), "take fewer sources")?,
            distances: self.files.rows(graph, sources, at_once)?,
            statistics: self.files.wants_statistics().then(statistics).transpose()?,
        })
    }

    /// Saves what was found before the farm failed, and says so.
    fn save_rest(&self, (graph, sources): (&Graph, &[u32]), found: &Found, trace: Option<&Trace>) {
        let saved = self.files.save(graph, sources, found, trace);
        saved.failures.iter().for_each(|failure| complain(&failure.to_string()));
        if !saved.written.is_empty() {
            let done = counted(found.reaches.iter().flatten().count() as u64, "source");
            note(&format!("wrote {}, of {done} done", saved.written.join(", ")));
        }
    }

    /// How the farm runs, but for what is told of it.
    fn run_of<'a>(&'a self, at: &At, policy: Policy, trace: &Option<Arc<Trace>>) -> Run<'a> {
        Run {
            target: at.target,
            policy: Some(policy),
            threads: self.threads.map(NonZero::get),
            interrupt: Some(interrupt::flag()),
            trace: trace.clone(),
            net: world::net(),
            ..Run::default()
        }
    }

    /// The outcome, checked and saved.
    fn outcome(
        &self,
        graph: &Graph,
        sources: &[u32],
        policy: &Policy,
        found: &Found,
        mut farmed: farm::Outcome,
        trace: Option<&Trace>,
    ) -> Outcome {
        farmed.report.notes.iter().for_each(|what| note(what));
        farmed.report.policy = written(farmed.report.policy, policy);
        let mut saved = self.files.save(graph, sources, found, trace);
        saved.failures.extend(failures::skipped((farmed.failures, &farmed.failed), graph, sources));
        let interrupted = farmed.report.interrupted;
        let check = match interrupted {
            true => Check::none("interrupted"),
            false if self.no_check => Check::none("--no-check"),
            false => check::check(graph, sources, found, &farmed, self.check),
        };
        let done = farmed.report.done;
        let title = format!(
            "{}, {} and {}, {}",
            self.graph,
            match graph.vertices() {
                1 => "1 vertex".into(),
                vertices => format!("{vertices} vertices"),
            },
            counted(graph.edge_count() as u64, "edge"),
            counted(sources.len() as u64, "source")
        );
        Outcome {
            app: "apsp",
            title,
            settings: vec![
                ("graph", json!(self.graph.to_string())),
                ("vertices", json!(graph.vertices())),
                ("edges", json!(graph.edge_count())),
                ("sources", json!(sources.len())),
            ],
            answer: summary(&farmed, found, failures::list(&farmed.failed, graph, sources)),
            lines: vec![("workers", workers(&farmed, "source"))],
            report: farmed.report,
            check,
            saved,
            json: self.json,
            interrupted: interrupted
                .then(|| format!("{done} of {}", counted(sources.len() as u64, "source"))),
        }
    }
}

/// The search in words: equal texts mean the same graph and sources.
fn description(graph: &Graph, sources: &[u32]) -> String {
    let sources = fingerprint(sources.iter().map(|source| u64::from(*source)));
    format!("shortest paths in graph {:016x} from sources {sources:016x}", graph.fingerprint())
}

/// Refuses the former name of `--chunk`.
fn renamed_pack(_: &str) -> Result<Infallible, String> {
    Err("`--pack` is now `--chunk`".into())
}
