//! `warpweft apsp`: shortest paths from many sources, a farm of tasks.

mod answer;
mod at;
mod check;
mod failures;
mod files;
mod graph;
mod plan;
mod sources;
mod tune;

use std::cell::Cell;
use std::convert::Infallible;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::json;
use warpweft::cluster::agree;
use warpweft::farm::{self, ChunkSize, Flush, Journal, OnFailure, Policy, Run, Schedule};
use warpweft::memory::filled;
use warpweft::prelude::*;
use warpweft::report::counted;
use warpweft::run::Target;
use warpweft::trace::Trace;
use warpweft_apps::apsp::{Graph, Reach, ShortestPaths, fingerprint};

use self::answer::{summary, workers, written};
use self::at::{At, FormChoice};
use self::files::Files;
use self::graph::GraphChoice;
use self::sources::SourceChoice;
pub use self::tune::Tune;
use crate::arguments::{at_least_one, number, threads, whole};
use crate::interrupt;
use crate::output::{complain, fail, note};
use crate::progress::Progress;
use crate::run::check::Check;
use crate::run::outcome::Outcome;
use crate::{place, world};

/// Who gets which sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ScheduleChoice {
    /// A worker that requests work gets the next chunk, sized by its speed and by the tasks that are left.
    Master,
    /// The same number for every node, shared evenly among its cores and lanes of GPUs.
    Eq1,
    /// The same number for every core and lane.
    Eq2,
    /// The next worker that requests work gets one source.
    Single,
}

/// What is done about a source that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FailureChoice {
    /// No more begin; what is done is saved.
    Stop,
    /// The others are done.
    Skip,
}

/// Shortest paths from many sources of a graph.
#[derive(clap::Args)]
#[command(
    arg_required_else_help = true,
    after_help = "GRAPH is a file, - for standard input, or random:VERTICES[,DEGREE[,WEIGHT[,SEED]]]: so many \
predecessors for every vertex (7), weights from 1 to WEIGHT (10). Files are DIMACS (.gr) or Matrix Market \
(.mtx), whose vertices count from 1, or lines `from to weight` with vertices from 0; plain or gzip. Weights are \
whole numbers, 0 or more; edges lead one way, but for those of symmetric matrices.

For each source it tells how many vertices a path leads to, itself among them, and the largest and the sum \
of their distances. A core takes Dial's buckets, or a radix heap where weights are above 4096; a GPU takes 2048 \
sources at once where weights are 1 to 255 and no distances are asked for, else up to 128. In --distances \
4294967295 means that no path leads there.

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
    /// Sources, as the graph calls its vertices: all, A..B (without B), random:N, numbers with commas between
    /// them, or a file of numbers.
    #[arg(long, value_name = "SOURCES", default_value = "all")]
    sources: SourceChoice,
    /// Who gets which sources.
    #[arg(long, value_name = "SCHEDULE", value_enum, default_value = "master")]
    schedule: ScheduleChoice,
    /// Sources of a chunk [default: by speed, about a quarter of a second].
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZero<u64>>)]
    chunk: Option<NonZero<u64>>,
    /// The former name of `--chunk`.
    #[arg(long = "pack", hide = true, value_parser = renamed_pack)]
    _pack: Option<Infallible>,
    /// Where to run: cpu, gpu, gpu:N, gpu:N,M,.., gpus, cpu+gpu, cpu+gpu:N or auto, which is all GPUs and the cores.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Target,
    /// How sources are searched from.
    #[arg(long, value_name = "FORM", value_enum, default_value = "auto")]
    form: FormChoice,
    /// Chunks that each GPU has at the same time, 1 to 8 [default: what `tune apsp` found, else 2].
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    lanes: Option<usize>,
    /// Threads on the CPU [default: one a core].
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZero<usize>>,
    /// What to do about a source that fails, as by a distance beyond 32 bits; the status is 1 either way.
    #[arg(long, value_name = "WHAT", value_enum, default_value = "stop")]
    on_failure: FailureChoice,
    /// Keep what is done in this folder, to go on from after a failure.
    #[arg(long, value_name = "DIR")]
    journal: Option<PathBuf>,
    /// Go on from the journal.
    #[arg(long, requires = "journal")]
    resume: bool,
    /// Seconds until the journal is brought to the disk, 0 for every chunk: what a machine that loses its power may lose.
    #[arg(long, value_name = "S", requires = "journal", default_value = "1", value_parser = number::<f64>)]
    flush: f64,
    /// Compare so many sources, spread over all, with Dijkstra's algorithm.
    #[arg(long, value_name = "N", default_value = "3", value_parser = whole::<u64>)]
    check: u64,
    /// Measure one source and tell who would get how many and how long it would take.
    #[arg(long)]
    plan: bool,
    #[command(flatten)]
    files: Files,
    /// Print one JSON object instead of the report.
    #[arg(long)]
    json: bool,
}

/// What is known of the sources, in their order.
#[derive(Default)]
struct Found {
    /// `None` where a run was ended before, and for those that failed.
    reaches: Vec<Option<Reach>>,
    /// A row for each, if they are asked for.
    distances: Option<Volume<u32, 2>>,
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
        match world::join().and_then(|()| self.run()) {
            Ok(status) => world::leave(status),
            Err(error) => world::fail(&error),
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

    /// `policy` with the lanes and blocks that a search found for such graphs on such GPUs, if none were asked for.
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

    /// What is done, where it is kept.
    fn journal(&self, graph: &Graph, sources: &[u32]) -> Option<Journal> {
        self.journal.as_ref().map(|directory| Journal {
            directory: directory.clone(),
            of: told(graph, sources),
            resume: self.resume,
            flush: match self.flush {
                0.0 => Flush::EveryChunk,
                seconds => Flush::Every(seconds),
            },
        })
    }

    /// Whether what is to be written can be, before a large graph is read.
    fn check(&self) -> Result<()> {
        // One process writes.
        if !place::speaks() {
            return Ok(());
        }
        self.files.check(self.graph.file(), self.sources.file())?;
        self.journal.as_ref().map_or(Ok(()), |folder| Journal::check(folder, self.resume))
    }

    fn planned(&self) -> Result<ExitCode> {
        let policy = self.policy()?;
        self.check()?;
        let at = At::of(self.device, self.form, self.threads)?;
        let (graph, mut sources) = self.read()?;
        at.form.check(&graph, self.files.wants_distances())?;
        let mut kept = 0;
        if let Some(journal) = self.journal(&graph, &sources) {
            let count = sources.len() as u64;
            let done = match self.files.wants_distances() {
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

    /// How it ended, told by one process.
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
            agree(net, "as task", &told(&graph, &sources))?;
        }
        let wants_distances = self.files.wants_distances();
        at.form.check(&graph, wants_distances)?;
        let policy = self.tuned(policy, &graph, &at);
        let speaks = place::speaks();
        let trace = self.files.trace.as_ref().filter(|_| speaks).map(|_| Arc::new(Trace::new()));
        let hint = "take fewer sources";
        // One process has what all of them found.
        let mut found = Found::default();
        if speaks {
            let at_once = at.at_once(policy.lanes) * world::net().map_or(1, |net| net.ranks());
            found.reaches = filled(std::iter::repeat_n(None, sources.len()), hint)?;
            found.distances = self.files.rows(&graph, &sources, at_once)?;
        }
        let progress = Progress::over("apsp", sources.len() as u64, ["sources", "sources/s"]);
        // What an earlier run did took none of this one's time.
        let resumed = Cell::new(self.resume);
        let told = |done: u64, _| match resumed.take() {
            true => progress.from(done),
            false => progress.at(done),
        };
        interrupt::listen();
        let journal = self.journal(&graph, &sources);
        let run = Run {
            target: at.target,
            policy: Some(policy),
            checkpoint: journal.as_ref(),
            threads: self.threads.map(NonZero::get),
            progress: Some(&told),
            interrupt: Some(interrupt::flag()),
            trace: trace.clone(),
            net: world::net(),
            ..Run::default()
        };
        let farmed = self.search((&graph, &sources), &at, &run, &mut found);
        progress.clear();
        match farmed {
            // Every process knows of it; the one that has what was done saves that before it leaves the others.
            Err(Error::Task { .. }) if !speaks => Ok(ExitCode::FAILURE),
            Err(error @ Error::Task { .. }) => {
                let saved = self.files.save(&graph, &sources, &found, trace.as_deref());
                saved.failures.iter().for_each(|failure| complain(&failure.to_string()));
                if !saved.written.is_empty() {
                    let done = found.reaches.iter().flatten().count() as u64;
                    note(&format!(
                        "wrote {}, of {} done",
                        saved.written.join(", "),
                        counted(done, "source")
                    ));
                }
                Ok(fail(&failures::stopped(error, &graph, &sources)))
            }
            Ok(farmed) if !speaks => Ok(match farmed.report.interrupted {
                true => ExitCode::from(interrupt::STATUS),
                false => ExitCode::SUCCESS,
            }),
            farmed => {
                let trace = trace.as_deref();
                Ok(self.outcome(&graph, &sources, &policy, &found, farmed?, trace).report())
            }
        }
    }

    /// What came of it, checked and saved.
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
        saved.failures.extend(failures::skipped(&farmed.failed, graph, sources));
        let interrupted = farmed.report.interrupted;
        let check = match interrupted {
            true => Check::none("interrupted"),
            false => check::check(graph, sources, found, &farmed.failed, self.check),
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
            lines: vec![("workers", workers(&farmed))],
            report: farmed.report,
            check,
            saved,
            json: self.json,
            interrupted: interrupted
                .then(|| format!("{done} of {}", counted(sources.len() as u64, "source"))),
        }
    }
}

/// What is searched for, in words that tell it from all else.
fn told(graph: &Graph, sources: &[u32]) -> String {
    let sources = fingerprint(sources.iter().map(|source| u64::from(*source)));
    format!("shortest paths in graph {:016x} from sources {sources:016x}", graph.fingerprint())
}

impl Apsp {
    /// Searches from all sources and notes what comes of each.
    fn search(
        &self,
        (graph, sources): (&Graph, &[u32]),
        at: &At,
        run: &Run<'_>,
        found: &mut Found,
    ) -> Result<farm::Outcome> {
        let machine = &at.machine;
        let on_failure = match self.on_failure {
            FailureChoice::Stop => OnFailure::Stop,
            FailureChoice::Skip => OnFailure::Skip,
        };
        let Found { reaches, distances } = found;
        if !self.files.wants_distances() {
            let mut sink = |k: u64, reach| {
                reaches[k as usize] = Some(reach);
                Ok(())
            };
            let paths = ShortestPaths::reach(graph).by(at.form);
            return Farm::of(paths)
                .on_failure(on_failure)
                .run_into(sources, machine, run, &mut sink);
        }
        let width = graph.vertices() as usize;
        let mut sink = |k: u64, (reach, row): (Reach, Vec<u32>)| {
            let k = k as usize;
            // Rows of a journal may be anybody's.
            if row.len() != width {
                let journal = run.checkpoint.map(|journal| journal.directory.as_path());
                return Err(Error::file(
                    journal.unwrap_or(Path::new("the journal")),
                    format!("holds {} distances of source number {k}, of {width}", row.len()),
                    "begin anew in an empty folder",
                ));
            }
            reaches[k] = Some(reach);
            if let Some(rows) = distances.as_mut() {
                rows.as_mut_slice()[k * width..(k + 1) * width].copy_from_slice(&row);
            }
            Ok(())
        };
        let paths = ShortestPaths::distances(graph).by(at.form);
        Farm::of(paths).on_failure(on_failure).run_into(sources, machine, run, &mut sink)
    }
}

/// Refuses the former name of `--chunk`.
fn renamed_pack(_: &str) -> Result<Infallible, String> {
    Err("`--pack` is now `--chunk`".into())
}
