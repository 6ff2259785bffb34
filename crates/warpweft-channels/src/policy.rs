//! Every tunable of a run of fork-join tasks. Changes time, never results.

use serde::{Deserialize, Serialize};

use warpweft_core::error::{Error, Result};

/// The most levels of calls that a spec may allow: a slot of a deque has two bytes for a call's.
pub(super) const MOST_LEVELS: u32 = 60_000;

/// How calls run, for one kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "executor", rename_all = "lowercase")]
pub enum Policy {
    /// On the cores.
    Cpu(CpuPolicy),
    /// On one NVIDIA GPU.
    Stacks(StacksPolicy),
    /// On one NVIDIA GPU, all calls of one depth after another.
    Levels(LevelsPolicy),
}

impl Policy {
    /// As it stands in a report.
    pub(super) fn to_json(self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// How the cores run calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CpuPolicy {
    /// Spawned calls that the deque of a worker holds, 64 bytes each. A call that is spawned when the deque is full is
    /// run at once.
    pub deque_capacity: usize,
    /// Bytes of stack for a chain of calls. Pages are allocated when calls first use them; a thread may use up to twice
    /// this size.
    pub stack: usize,
}

impl Default for CpuPolicy {
    fn default() -> Self {
        Self { deque_capacity: 4096, stack: 16 << 20 }
    }
}

impl CpuPolicy {
    /// Whether there is such a policy.
    ///
    /// # Errors
    /// A deque of no call, or of more than memory can address; less than 1 MiB of stack.
    pub fn check(&self) -> Result<()> {
        let Self { deque_capacity, stack } = *self;
        if deque_capacity == 0 || deque_capacity > 1 << 24 {
            let what = format!("a deque of {deque_capacity} calls");
            return Err(Error::spec(what, "take 1 to 16777216 calls for each thread"));
        }
        if !(1 << 20..=1 << 36).contains(&stack) {
            let what = format!("{stack} bytes of stack");
            return Err(Error::spec(what, "take 1 MiB to 64 GiB for each thread"));
        }
        Ok(())
    }
}

/// How the lanes of a GPU run and share calls; 0 leaves a number to the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StacksPolicy {
    /// Warps of an SM at most, a multiple of 4; fewer where lanes' stacks leave no room for them.
    pub warps: u32,
    /// Blocks at most, on the whole device: of 4 warps, or 2 where calls wait for values.
    pub blocks: u32,
    /// Calls that the window of a lane's stack holds, a power of two from 8; older ones are in GPU memory.
    pub depth: u32,
    /// Whether windows lie in shared memory where they fit.
    pub shared: bool,
    /// Join records of each warp in GPU memory, a multiple of 32, at least 128. A call that waits for values of calls given
    /// to other lanes needs one. A warp without a free record gives no calls away.
    pub records: u32,
    /// Steps of a warp at most between two rounds of work sharing.
    pub every: u32,
    /// If at least this many lanes of a warp are idle, its busy lanes share calls with them; otherwise the warp shares
    /// calls with other warps.
    pub idle: u32,
    /// Whether the kernel is compiled with clocks: then the report says what share of the warps' time went into functions, work
    /// sharing and waiting ([`TimeShares`](super::TimeShares)).
    #[serde(default)]
    pub timed: bool,
}

impl Default for StacksPolicy {
    fn default() -> Self {
        let (warps, blocks, depth, records, every, idle) = (0, 0, 0, 0, 0, 0);
        Self { warps, blocks, depth, shared: true, records, every, idle, timed: false }
    }
}

impl StacksPolicy {
    /// Whether there is such a policy. Whether it suits a function is checked when the function is known.
    ///
    /// # Errors
    /// Numbers out of range.
    pub fn check(&self) -> Result<()> {
        let Self { warps, every, idle, depth, records, .. } = *self;
        if depth != 0 && (!depth.is_power_of_two() || !(8..=1 << 16).contains(&depth)) {
            return Err(Error::spec(
                format!("windows of {depth} calls"),
                "take a power of two from 8 to 65536, or 0",
            ));
        }
        if records != 0 && (records % 32 != 0 || !(128..=1 << 16).contains(&records)) {
            return Err(Error::spec(
                format!("{records} records a warp"),
                "take a multiple of 32 from 128 to 65536, or 0",
            ));
        }
        if warps % 4 != 0 || warps > 64 {
            return Err(Error::spec(
                format!("{warps} warps of an SM"),
                "take a multiple of 4 up to 64, or 0",
            ));
        }
        if every > 65536 || idle > 32 {
            let what = format!("work sharing every {every} steps among {idle} idle lanes");
            return Err(Error::spec(what, "take 1 to 65536 steps and 1 to 32 lanes, or 0"));
        }
        Ok(())
    }
}

/// How a GPU runs calls level by level, as the paper does without its scheduler (figures 10 to 12): all calls of one depth, then all
/// that they spawned. For functions whose values are one sum over all calls. Memory holds two levels, so wide recursions need much
/// of it; the usual policy needs little and is faster (ADR 124).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LevelsPolicy {
    /// The most calls of a level; 0: as many as half of the GPU's free memory holds.
    #[serde(default)]
    pub calls: usize,
}

impl LevelsPolicy {
    /// Whether there is such a policy.
    ///
    /// # Errors
    /// More than 2^32 - 1 calls.
    pub fn check(&self) -> Result<()> {
        if self.calls as u64 > u64::from(u32::MAX) {
            let what = format!("levels of {} calls", self.calls);
            return Err(Error::spec(what, "take at most 4294967295, or 0"));
        }
        Ok(())
    }
}

/// The error of a level of more calls of `name` than there is room for.
pub(super) fn too_wide(name: &str, (level, calls): (u32, u64), room: u64) -> Error {
    let what = format!("level {level} of `{name}` has {calls} calls, and there is room for {room}");
    Error::spec(what, "allow more (`LevelsPolicy::calls`), or run without levels")
}

/// The error of a call of `name` too deep.
pub(super) fn too_deep(name: &str, levels: u32) -> Error {
    let hint = match levels < MOST_LEVELS {
        true => "check that the recursion ends, then allow more with --levels (`levels`)",
        false => "use a shallower recursion",
    };
    Error::spec(format!("`{name}` spawned deeper than {levels} levels"), hint)
}

/// The error of calls of `name` of which more wait than there is memory for.
pub(super) fn too_many_wait(name: &str, mib: usize) -> Error {
    let what = format!("calls of `{name}` that wait take more than {mib} MiB of the GPU's memory");
    Error::spec(what, "check that the recursion ends, or use a shallower one")
}
