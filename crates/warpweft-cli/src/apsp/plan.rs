//! `--plan`: who would get which sources, played with the time of one that is measured.

use std::process::ExitCode;
use std::time::Instant;

use serde_json::json;
use warpweft::farm::{Grain, Policy, Unit, simulate};
use warpweft::prelude::*;
use warpweft_apps::apsp::{Graph, Search};

use crate::output::{counted, say, time};

/// Plays the farm as if every source took as long as the first one, and tells what would happen.
///
/// # Errors
/// The first source's search fails.
pub fn plan(
    graph: &Graph,
    sources: &[u32],
    policy: &Policy,
    device: &str,
    threads: usize,
    json: bool,
) -> Result<ExitCode> {
    let mut search = Search::new(graph)?;
    let first = sources.first().copied().unwrap_or(0);
    // The second search finds the workspace in its caches, as all later ones will.
    let mut run = || {
        let begin = Instant::now();
        let reach = search.run(graph, first);
        reach.map(|_| begin.elapsed().as_secs_f64())
    };
    let failed =
        |why: Failure| Error::spec(format!("source number 0: {why}"), "take other weights");
    let each = run().and_then(|_| run()).map_err(failed)?;
    let cores: Vec<_> = Unit::cores(0, threads).collect();
    let lasts = |_: usize, pack: std::ops::Range<u64>| (pack.end - pack.start) as f64 * each;
    let tasks = sources.len() as u64;
    let played = simulate(tasks, &cores, Grain::ANY, policy, &lasts)?;
    let sizes = || played.packs.iter().map(|(_, pack)| pack.end - pack.start);
    let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
    if json {
        let object = json!({
            "app": "apsp", "device": device, "policy": super::written(policy), "sources": tasks,
            "seconds_a_source": each, "seconds": played.seconds, "overhead_percent": 100.0 * played.overhead(),
            "packs": played.packs.len(), "smallest_pack": least, "largest_pack": most, "units": played.shares,
        });
        return Ok(say(&object.to_string()));
    }
    let units = super::each(&played.shares);
    Ok(say(&format!(
        "plan for {}: nothing was run but the first, twice\n  \
           device   {device}\n  \
           source   {} on one core, measured; all are taken to be alike\n  \
           units    {units}\n  \
           packs    {}, of {least} to {}\n  \
           time     about {}, {:.2} % of it idle",
        counted(tasks, "source"),
        time(each),
        played.packs.len(),
        counted(most, "source"),
        time(played.seconds),
        100.0 * played.overhead(),
    )))
}
