//! Every tunable of a run of a channel-flow graph. Changes time, never results.

use serde::{Deserialize, Serialize};

use warpweft_core::error::{Error, Result};

/// How a graph runs, for one kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "executor", rename_all = "lowercase")]
pub enum FlowPolicy {
    /// On the cores.
    Cpu(FlowCpuPolicy),
}

impl FlowPolicy {
    /// As it stands in a report.
    pub(super) fn to_json(self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// How the cores run a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FlowCpuPolicy {
    /// Worker threads.
    pub threads: usize,
    /// Items that a firing consumes at most. Channels with fewer are served after all others.
    pub batch: usize,
}

impl FlowCpuPolicy {
    /// The usual one for so many threads.
    pub fn of(threads: usize) -> Self {
        Self { threads, batch: 32 }
    }

    /// Whether there is such a policy.
    ///
    /// # Errors
    /// No threads; batches of no items, or of more than 65536.
    pub fn check(&self) -> Result<()> {
        let Self { threads, batch } = *self;
        if threads == 0 || threads > 4096 {
            return Err(Error::spec(format!("{threads} threads"), "take 1 to 4096"));
        }
        if batch == 0 || batch > 1 << 16 {
            return Err(Error::spec(format!("batches of {batch} items"), "take 1 to 65536"));
        }
        Ok(())
    }
}
