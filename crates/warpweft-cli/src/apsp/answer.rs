//! The parts of an `apsp` report: result, policy and workers.

use serde_json::{Value, json};
use warpweft::farm::{self, ChunkSize, Place, Policy, Share};
use warpweft::report::counted;

use super::Found;
use crate::run::outcome::Answer;
use crate::world;

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
    if paths > 0 {
        answer.push(("mean_distance", json!(total as f64 / paths as f64)));
    }
    answer.push(("overhead_percent", json!(100.0 * farmed.overhead())));
    answer.push(("workers", json!(farmed.shares)));
    answer.extend(world::network().map(|network| ("network", json!(network))));
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

/// The range of the workers' numbers of sources.
fn each(shares: &[Share]) -> String {
    let counts = || shares.iter().map(|share| share.tasks);
    let (least, most) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    match (shares.len(), least == most) {
        (1, _) => counted(most, "source"),
        (_, true) => format!("{} each", counted(most, "source")),
        (_, false) => format!("{least} to {most} sources each"),
    }
}

/// How many workers of each kind there are, and their numbers of sources.
pub fn kinds(shares: &[Share]) -> String {
    let on_core = |share: &Share| matches!(share.worker.place, Place::Core(_));
    let (cores, lanes): (Vec<_>, Vec<_>) = shares.iter().cloned().partition(on_core);
    let kinds = [(cores, "core"), (lanes, "lane")].into_iter().filter(|(all, _)| !all.is_empty());
    let kinds =
        kinds.map(|(all, kind)| format!("{}, {}", counted(all.len() as u64, kind), each(&all)));
    kinds.collect::<Vec<_>>().join("; ")
}

/// One line about the workers.
pub fn workers(farmed: &farm::Outcome) -> String {
    let chunks = counted(farmed.shares.iter().map(|share| share.chunks).sum(), "chunk");
    let overhead = 100.0 * farmed.overhead();
    format!("{}, in {chunks}; {overhead:.2} % overhead", kinds(&farmed.shares))
}
