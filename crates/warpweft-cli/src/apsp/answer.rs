//! What `apsp` found, and the parts of its report: result and policy.

use serde_json::{Value, json};
use warpweft::farm::{self, ChunkSize, Policy};
use warpweft::grid::Volume;
use warpweft_apps::apsp::Reach;

use super::statistics::Statistics;
use crate::run::outcome::{Answer, NETWORK};
use crate::world;

/// The results of the sources, in their order.
#[derive(Default)]
pub struct Found {
    /// `None` for sources that failed or were not reached before the run ended.
    pub reaches: Vec<Option<Reach>>,
    /// One row for each source, if requested.
    pub distances: Option<Volume<u32, 2>>,
    /// How many vertices are at each distance, if requested.
    pub statistics: Option<Statistics>,
}

/// The result over all sources.
pub fn summary(farmed: &farm::Outcome, found: &Found, failed: Vec<Value>) -> Answer {
    let reaches = || found.reaches.iter().flatten();
    let reached: u64 = reaches().map(|reach| u64::from(reach.reached)).sum();
    // A source reaches itself, which is not counted as a path.
    let paths = reached - reaches().count() as u64;
    let total: u128 = reaches().map(|reach| u128::from(reach.total)).sum();
    let mut answer = vec![
        ("sources_done", json!(farmed.report.done)),
        ("paths", json!(paths)),
        ("farthest", json!(reaches().map(|reach| reach.farthest).max())),
    ];
    if farmed.report.first > 0 {
        answer.insert(1, ("sources_from_the_journal", json!(farmed.report.first)));
    }
    // Of the sources that were asked for; all vertices' are the graph's.
    answer.push(("radius", json!(reaches().map(|reach| reach.farthest).min())));
    if paths > 0 {
        answer.push(("mean_distance", json!(total as f64 / paths as f64)));
    }
    answer.extend(found.statistics.iter().flat_map(Statistics::summary));
    answer.push(("overhead_percent", json!(100.0 * farmed.overhead())));
    answer.push(("workers", json!(farmed.shares)));
    answer.extend(world::network().map(|network| (NETWORK, json!(network))));
    answer.push(("failed", json!(failed)));
    answer
}

/// The policy in the form of the options: `--chunk 5` is a chunk of 5.
pub fn written(mut value: Value, policy: &Policy) -> Value {
    if let ChunkSize::Tasks(tasks) = policy.chunk {
        value["chunk"] = json!(tasks);
    }
    value
}
