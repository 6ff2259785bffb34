//! Every tunable of a run of channels. Changes time, never results.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// How calls run on one kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "executor", rename_all = "lowercase")]
pub enum Policy {
    /// On the cores.
    Cpu(CpuPolicy),
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
