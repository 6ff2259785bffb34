//! Sources that failed, by the names of their vertices, and the exit status of processes without results.

use std::process::ExitCode;

use serde_json::{Value, json};
use warpweft::farm::{Failed, Outcome};
use warpweft::{Error, Result};
use warpweft_apps::apsp::Graph;

use crate::output::INTERRUPTED;

/// The graph's name for the source of task `task`.
fn name(task: u64, graph: &Graph, sources: &[u32]) -> u64 {
    graph.names().start + u64::from(sources[task as usize])
}

/// Replaces the task number of an error by the name of its source.
pub fn stopped(error: Error, graph: &Graph, sources: &[u32]) -> Error {
    match error {
        Error::Task { task, worker, what } => Error::Device {
            stage: format!("searching from source {}", name(task, graph, sources)),
            device: worker,
            what,
            hint: "do the others with --on-failure skip".into(),
        },
        other => other,
    }
}

/// The note about skipped sources, if there are any.
pub fn skipped(
    (failures, failed): (u64, &[Failed]),
    graph: &Graph,
    sources: &[u32],
) -> Option<Error> {
    let first = failed.first()?;
    Some(Error::Device {
        stage: format!("searching from source {}", name(first.task, graph, sources)),
        device: first.worker.to_string(),
        what: first.what.clone(),
        hint: match failures {
            1 => "the source was skipped; search from it alone with `--sources`".into(),
            count => format!("{count} sources were skipped, this one first; `--json` lists them"),
        },
    })
}

/// All failed sources, for JSON.
pub fn list(failed: &[Failed], graph: &Graph, sources: &[u32]) -> Vec<Value> {
    let one =
        |failed: &Failed| json!({"source": name(failed.task, graph, sources), "what": failed.what});
    failed.iter().map(one).collect()
}

/// The exit status of a process that has no results. Every process gets the error of a failed source, so this one does not print it.
pub fn elsewhere(farmed: Result<Outcome>) -> Result<ExitCode> {
    if let Err(Error::Task { .. }) = farmed {
        return Ok(ExitCode::FAILURE);
    }
    Ok(match farmed?.report.interrupted {
        true => ExitCode::from(INTERRUPTED),
        false => ExitCode::SUCCESS,
    })
}
