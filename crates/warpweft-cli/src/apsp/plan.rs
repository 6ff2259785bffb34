//! `--plan`: simulates the schedule with the measured times of a few sources.

use std::process::ExitCode;
use std::time::Instant;

use serde_json::json;
use warpweft::farm::{Grain, Policy, Run, Schedule, Worker, simulate};
use warpweft::prelude::*;
use warpweft::report::counted;
use warpweft::run::Target;
use warpweft_apps::apsp::{Graph, Search, ShortestPaths};

use super::answer::written;
use super::at::At;
use crate::farms::workers::kinds;
use crate::output::{say, time};

/// Number of sources for measuring a lane, if there are as many: two batches.
const SAMPLE: usize = 4096;

/// The speed of a worker.
#[derive(Clone, Copy)]
struct Pace {
    worker: Worker,
    grain: Grain,
    /// Seconds for a source, in chunks of the preferred size.
    each: f64,
}

/// The speeds of the lanes, from a farm of the first sources on them.
fn lanes(graph: &Graph, sources: &[u32], policy: &Policy, at: &At) -> Result<Vec<Pace>> {
    if !at.on_gpus() || sources.is_empty() {
        return Ok(Vec::new());
    }
    let sample = SAMPLE * policy.lanes * at.machine.gpus.len();
    let policy = Policy { schedule: Schedule::MasterWorker, ..*policy };
    let run = Run { target: Target::AllGpus, policy: Some(policy), ..Run::default() };
    let farm = Farm::of(ShortestPaths::reach(graph).by(at.form));
    let first = &sources[..sources.len().min(sample)];
    let measured = farm.run_into(first, &at.machine, &run, &mut |_, _| Ok(()))?.shares;
    let all = measured.iter().filter(|share| share.chunks > 0);
    let (tasks, chunks, busy) = all.fold((0, 0, 0.0), |(tasks, chunks, busy), share| {
        (tasks + share.tasks, chunks + share.chunks, busy + share.busy)
    });
    // A lane that came too late to get a chunk is as fast as the others.
    let grain = Grain { of: (tasks / chunks.max(1)).max(1), most: u64::MAX };
    let each = busy / tasks.max(1) as f64;
    let there = measured.iter().filter(|share| share.lost.is_none());
    Ok(there.map(|share| Pace { worker: share.worker, grain, each }).collect())
}

/// The speeds of the cores, from the first source.
fn cores(graph: &Graph, sources: &[u32], threads: usize) -> Result<Vec<Pace>> {
    let Some(&first) = sources.first().filter(|_| threads > 0) else { return Ok(Vec::new()) };
    let each = measured(graph, first)?;
    Ok(Worker::cores(0, threads).map(|worker| Pace { worker, grain: Grain::ANY, each }).collect())
}

/// What a source takes on a core and on a lane, as far as they work.
fn each_on(cores: &[Pace], lanes: &[Pace]) -> String {
    let said =
        |paces: &[Pace], of: &str| paces.first().map(|pace| format!("{} {of}", time(pace.each)));
    let each = [said(cores, "on one core"), said(lanes, "on a lane of a GPU")];
    each.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Simulates the farm as if every source took as long as the first ones, and prints the result; `kept`
/// sources are in the journal already.
///
/// # Errors
/// A search from the first sources fails.
pub fn plan(
    graph: &Graph,
    sources: &[u32],
    kept: u64,
    policy: &Policy,
    at: &At,
    json: bool,
) -> Result<ExitCode> {
    if sources.is_empty() && !json {
        return Ok(say(&format!("the journal has all of {}", counted(kept, "source"))));
    }
    let cores = cores(graph, sources, at.threads)?;
    let lanes = lanes(graph, sources, policy, at)?;
    let each = each_on(&cores, &lanes);
    let seconds = |paces: &[Pace]| paces.first().map(|pace| pace.each);
    let (on_core, on_lane) = (seconds(&cores), seconds(&lanes));
    let all: Vec<_> = cores.into_iter().chain(lanes).collect();
    let workers: Vec<_> = all.iter().map(|pace| pace.worker).collect();
    let lasts = |worker: usize, chunk: std::ops::Range<u64>| {
        let Pace { grain, each, .. } = all[worker];
        // A batch takes its time, however few sources are in it.
        (chunk.end - chunk.start).next_multiple_of(grain.of) as f64 * each
    };
    let tasks = sources.len() as u64;
    let played = simulate(tasks, &workers, &|worker| all[worker].grain, policy, &lasts)?;
    let sizes = || played.chunks.iter().map(|(_, chunk)| chunk.end - chunk.start);
    let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
    if json {
        let object = json!({
            "app": "apsp", "device": at.label(), "policy": written(json!(policy), policy), "sources": tasks, "kept": kept,
            "seconds_a_source": on_core, "seconds_a_source_on_a_lane": on_lane, "seconds": played.seconds, "overhead_percent": 100.0 * played.overhead(),
            "chunks": played.chunks.len(), "smallest_chunk": least, "largest_chunk": most, "workers": played.shares,
        });
        return Ok(say(&object.to_string()));
    }
    let workers = kinds(&played.shares, "source");
    Ok(say(&format!(
        "plan for {}{}: only a few sources were run, to measure them\n  \
           device   {}\n  \
           source   {}; all are assumed to take as long\n  \
           workers  {workers}\n  \
           chunks   {}, of {least} to {}\n  \
           time     about {}, {:.2} % of it idle",
        counted(tasks, "source"),
        match kept {
            0 => String::new(),
            kept => format!(", the journal has {kept} more"),
        },
        at.label(),
        each,
        played.chunks.len(),
        counted(most, "source"),
        time(played.seconds),
        100.0 * played.overhead(),
    )))
}

/// The seconds of a search from `first`.
fn measured(graph: &Graph, first: u32) -> Result<f64> {
    let mut search = Search::new(graph)?;
    // The second search finds its workspace in the caches, as all later ones will.
    let mut run = || {
        let begin = Instant::now();
        search.run(graph, first).map(|_| begin.elapsed().as_secs_f64())
    };
    run().and_then(|_| run()).map_err(|why| {
        let name = graph.names().start + u64::from(first);
        Error::spec(format!("source {name}: {why}"), "use other weights")
    })
}
