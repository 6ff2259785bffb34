//! Every tunable of a run of channels. Changes time, never results.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// How calls run on one kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "executor", rename_all = "lowercase")]
pub enum Policy {
    /// On the cores.
    Cpu(CpuPolicy),
    /// On one NVIDIA GPU.
    Stacks(StacksPolicy),
}

impl Policy {
    /// As a report has it.
    pub(super) fn told(self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// How the cores share calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CpuPolicy {
    /// Worker threads.
    pub threads: usize,
    /// Spawned calls that a worker keeps for those who ask, 128 bytes each; beyond them it runs a call where
    /// it is spawned.
    pub kept: usize,
    /// Bytes of a worker's stack. Memory is taken as calls need it.
    pub stack: usize,
}

impl CpuPolicy {
    /// The usual one for so many threads.
    pub fn of(threads: usize) -> Self {
        Self { threads, kept: 1024, stack: 16 << 20 }
    }

    /// Whether there is such a policy.
    ///
    /// # Errors
    /// No threads; nothing kept, or more than memory can address; less than 1 MiB of stack.
    pub fn check(&self) -> Result<()> {
        let Self { threads, kept, stack } = *self;
        if threads == 0 || threads > 4096 {
            return Err(Error::spec(format!("{threads} threads"), "take 1 to 4096"));
        }
        if kept == 0 || kept > 1 << 24 {
            return Err(Error::spec(format!("{kept} calls kept"), "keep 1 to 16777216 a thread"));
        }
        if !(1 << 20..=1 << 36).contains(&stack) {
            let what = format!("{stack} bytes of stack");
            return Err(Error::spec(what, "take 1 MiB to 64 GiB a thread"));
        }
        Ok(())
    }
}

/// How the warps of a GPU share calls; 0 leaves a number to the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StacksPolicy {
    /// Warps of an SM at most, a multiple of 4.
    pub warps: u32,
    /// Blocks of 4 warps at most, on the whole device.
    pub blocks: u32,
    /// Calls that wait, for each warp: at least 33 more than there are levels.
    pub frames: u32,
    /// Calls that a warp has to run, a power of two: at least what a path down to the last level spawns.
    pub ring: u32,
    /// Bytes of shared memory that the rings of a block may take; larger ones lie in global memory.
    pub shared: u32,
    /// Batches between two looks at whether others wait.
    pub every: u32,
}

impl Default for StacksPolicy {
    fn default() -> Self {
        Self { warps: 8, blocks: 0, frames: 0, ring: 0, shared: 24 << 10, every: 4 }
    }
}

impl StacksPolicy {
    /// Whether there is such a policy; whether it suits a function is told when that is known.
    ///
    /// # Errors
    /// Numbers out of range.
    pub fn check(&self) -> Result<()> {
        let Self { warps, shared, every, .. } = *self;
        if warps == 0 || warps % 4 != 0 || warps > 64 {
            return Err(Error::spec(
                format!("{warps} warps of an SM"),
                "take a multiple of 4 up to 64",
            ));
        }
        if shared > 200 << 10 || !(1..=65536).contains(&every) {
            let what = format!("{shared} bytes of shared memory, a look every {every} batches");
            return Err(Error::spec(what, "take up to 204800 bytes and 1 to 65536 batches"));
        }
        Ok(())
    }
}
