//! What all ranks agree on before a farm begins: its tasks, its policy, and the table of all workers.

use super::message::unreadable;
use crate::drive::Settings;
use crate::drive::local_workers::LocalWorkers;
use crate::drive::table::WorkerTable;
use crate::policy::Policy;
use crate::spec::OnFailure;
use warpweft_core::cluster::{Transport, agree_on_each, gather_fine};
use warpweft_core::error::Result;

/// The workers of this rank, and on rank 0 the table of all.
///
/// # Errors
/// On every rank, if the workers of any could not be made; as [`Transport::receive`].
pub fn gather(
    net: &dyn Transport,
    own: Result<LocalWorkers>,
) -> Result<(LocalWorkers, WorkerTable)> {
    let mut local = None;
    let own = own.map(|own| {
        let text = serde_json::to_vec(&own.table).unwrap_or_default();
        local = Some(own);
        text
    });
    let texts = gather_fine(net, own)?;
    let local = local.ok_or_else(|| unreadable(net.rank()))?;
    let mut all = WorkerTable { firsts: vec![0], ..WorkerTable::default() };
    for (rank, text) in texts.iter().enumerate() {
        let table: WorkerTable = serde_json::from_slice(text).map_err(|_| unreadable(rank))?;
        all.workers.extend(table.workers);
        all.devices.extend(table.devices);
        all.firsts.push(all.workers.len());
    }
    Ok((local, all))
}

/// Whether all ranks mean the same farm: so many tasks of `task` with outputs of a `form`.
///
/// # Errors
/// On every rank, with what differs; as [`Transport::receive`].
pub fn agreed(
    net: &dyn Transport,
    (tasks, identity): (u64, String),
    (task, on_failure): (&str, OnFailure),
    form: String,
    (policy, settings): (Policy, &Settings<'_>),
) -> Result<()> {
    // Lanes and blocks are what suits each rank's own GPUs.
    let policy = Policy { lanes: 1, block: 0, ..policy };
    let policy = serde_json::to_string(&policy).unwrap_or_default();
    let on_failure = match on_failure {
        OnFailure::Stop => "stop",
        OnFailure::Skip => "skip",
    };
    let about = [
        ("as task", task.to_string()),
        ("outputs of the form", form),
        ("a number of tasks of", tasks.to_string()),
        ("a policy of", policy),
        ("`on_failure`:", on_failure.to_string()),
        ("a `task_limit` and `grace` of", limits(settings)),
        ("parameters and inputs of the hash", identity),
    ];
    agree_on_each(net, &about)
}

/// How long tasks may take, in words.
fn limits(settings: &Settings<'_>) -> String {
    match settings.task_limit {
        Some(limit) => format!("{limit:?} and {:?}", settings.grace),
        None => "none".into(),
    }
}
