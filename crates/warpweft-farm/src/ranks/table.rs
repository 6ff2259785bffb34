//! The units of all ranks, in one table (TuCCompi, figure 8).

use serde::{Deserialize, Serialize};

use super::message::unreadable;
use crate::policy::Policy;
use crate::spec::OnFailure;
use crate::unit::Unit;
use crate::workers::Workers;
use warpweft_core::cluster::{Transport, agree_on_each, gather_fine};
use warpweft_core::error::Result;

/// What works in a farm.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Table {
    /// All units, those of each rank together.
    pub units: Vec<Unit>,
    /// What they are of, for people.
    pub devices: Vec<String>,
    /// Where the units of each rank begin; in the end their number.
    pub firsts: Vec<usize>,
}

impl Table {
    /// Of one process.
    pub fn own(units: Vec<Unit>, devices: Vec<String>) -> Self {
        let firsts = vec![0, units.len()];
        Self { units, devices, firsts }
    }

    /// The workers of this rank, and on the first rank what there is on all.
    ///
    /// # Errors
    /// On every rank, if there is one instead of workers on any; as [`Transport::receive`].
    pub fn of_all(net: &dyn Transport, own: Result<Workers>) -> Result<(Workers, Self)> {
        let mut workers = None;
        let own = own.map(|own| {
            let told = serde_json::to_vec(&own.table).unwrap_or_default();
            workers = Some(own);
            told
        });
        let told = gather_fine(net, own)?;
        let workers = workers.ok_or_else(|| unreadable(net.rank()))?;
        let mut all = Self { firsts: vec![0], ..Self::default() };
        for (rank, told) in told.iter().enumerate() {
            let of: Self = serde_json::from_slice(told).map_err(|_| unreadable(rank))?;
            all.units.extend(of.units);
            all.devices.extend(of.devices);
            all.firsts.push(all.units.len());
        }
        Ok((workers, all))
    }
}

/// Whether all ranks mean the same farm: so many tasks of `task` with outputs of a `form`.
///
/// # Errors
/// On every rank, with what differs; as [`Transport::receive`].
pub fn agreed(
    net: &dyn Transport,
    tasks: u64,
    (task, on_failure): (&str, OnFailure),
    form: String,
    policy: Policy,
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
        ("on failures to", on_failure.to_string()),
    ];
    agree_on_each(net, &about)
}
