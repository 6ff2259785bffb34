//! Every tunable of a run of a channel-flow graph. Changes time, never results.

use serde::{Deserialize, Serialize};

use warpweft_core::error::{Error, Result};

/// How a graph runs, for one kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "executor", rename_all = "lowercase")]
pub enum FlowPolicy {
    /// On the cores.
    Cpu(FlowCpuPolicy),
    /// On one NVIDIA GPU.
    Gpu(FlowGpuPolicy),
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
    /// The largest number of items that a firing consumes. Channels with fewer items are served only if no channel has this many.
    pub batch: usize,
}

impl Default for FlowCpuPolicy {
    fn default() -> Self {
        Self { batch: 32 }
    }
}

impl FlowCpuPolicy {
    /// Whether there is such a policy.
    ///
    /// # Errors
    /// Batches of no items, or of more than 65536.
    pub fn check(&self) -> Result<()> {
        let Self { batch } = *self;
        if batch == 0 || batch > 1 << 16 {
            return Err(Error::spec(format!("batches of {batch} items"), "take 1 to 65536"));
        }
        Ok(())
    }
}

/// How a GPU runs a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FlowGpuPolicy {
    /// Warps of an SM at most, a multiple of 4; fewer where registers leave no room for them.
    pub warps: u32,
    /// Blocks of 4 warps at most, on the whole device; 0 for as many as it holds.
    pub blocks: u32,
    /// How many items per channel the device collects for the host before it stops to hand them over.
    pub collected: usize,
    /// Whether a warp reserves and dispatches positions of a channel with one atomic operation. Without, each lane does: what
    /// aggregation saves (figure 17 of the paper).
    #[serde(default = "usual")]
    pub aggregated: bool,
    /// Whether a warp may keep the items that a kernel emits into the channel that it consumes, and consume them itself while no warp is
    /// idle. Without, all items go through the channel in device memory.
    #[serde(default = "usual")]
    pub private: bool,
    /// Whether each element of a channel lies on a cache line of its own, as in a linked list, instead of next to the
    /// others. Use it to measure what adjacent elements save (figure 17 of the paper). Channels take up to 32 times as
    /// much memory.
    #[serde(default)]
    pub padded: bool,
    /// Whether the kernel is compiled with clocks: then the report says what share of the warps' time went into kernels'
    /// functions, the scheduler and waiting ([`TimeShares`](crate::TimeShares)).
    #[serde(default)]
    pub timed: bool,
}

/// What policies without a word of it mean.
fn usual() -> bool {
    true
}

impl Default for FlowGpuPolicy {
    fn default() -> Self {
        Self {
            warps: 8,
            blocks: 0,
            collected: 1 << 20,
            aggregated: true,
            private: true,
            padded: false,
            timed: false,
        }
    }
}

impl FlowGpuPolicy {
    /// Whether there is such a policy.
    ///
    /// # Errors
    /// Numbers out of range.
    pub fn check(&self) -> Result<()> {
        let Self { warps, collected, .. } = *self;
        if warps == 0 || warps % 4 != 0 || warps > 64 {
            return Err(Error::spec(
                format!("{warps} warps of an SM"),
                "take a multiple of 4 up to 64",
            ));
        }
        if !(1..=1 << 28).contains(&collected) {
            return Err(Error::spec(
                format!("{collected} items collected for the host"),
                "take 1 to 268435456",
            ));
        }
        Ok(())
    }
}
