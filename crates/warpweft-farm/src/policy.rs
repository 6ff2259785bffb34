//! Every tunable of a farm. Changes time, never outputs.

use serde::{Deserialize, Serialize};

use warpweft_core::error::{Error, Result};

/// How tasks are shared and handed out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// Which worker gets which tasks.
    pub schedule: Schedule,
    /// How many at a time.
    pub chunk: ChunkSize,
    /// Seconds that a chunk of [`ChunkSize::Auto`] takes at most once a worker's speed is known: the longest that
    /// progress is not reported, and what one worker may lose.
    pub seconds: f64,
    /// Lanes of each GPU, 1 to 8: chunks that it has at the same time, so that it works while one of them is
    /// fetched (the paper's MK, which is 4 there).
    pub lanes: usize,
    /// Threads of a block of a lane's kernels, as far as its executor leaves that open; 0 for its own choice.
    #[serde(default)]
    pub block: u32,
    /// Whether idle workers run the last tasks of slower ones once more, so that nobody waits for a worker that is
    /// slower than it seemed: the first result counts. Not with even shares.
    #[serde(default = "yes")]
    pub backups: bool,
}

/// Policies that were kept before there was a choice.
fn yes() -> bool {
    true
}

/// Which worker gets which tasks (TuCCompi, section 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// A worker that requests work gets the next chunk, sized by its speed and by the tasks that are left: the paper's
    /// MS, without a worker that is sacrificed as the master.
    MasterWorker,
    /// The same number for every node, shared evenly among its workers.
    Eq1,
    /// The same number for every worker.
    Eq2,
    /// A worker that requests work gets one task, as the paper's slaves on cores do.
    Single,
}

/// How many tasks a worker gets at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChunkSize {
    /// By the worker's speed.
    Auto,
    /// So many, or fewer where fewer suit the worker or are left.
    Tasks(u64),
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            schedule: Schedule::MasterWorker,
            chunk: ChunkSize::Auto,
            seconds: 0.25,
            lanes: 2,
            block: 0,
            backups: true,
        }
    }
}

impl Policy {
    /// Whether there is such a policy.
    ///
    /// # Errors
    /// Chunks of no task, or of no time; chunks for a schedule that gives single tasks; no lanes or more than 8; blocks
    /// that are no whole warps, or of more than 1024 threads.
    pub fn check(&self) -> Result<()> {
        if self.chunk == ChunkSize::Tasks(0) {
            return Err(Error::spec("chunks of 0 tasks", "give at least 1 task a chunk"));
        }
        if self.schedule == Schedule::Single && self.chunk != ChunkSize::Auto {
            let hint = "leave the chunks out, or take the schedule master-worker";
            return Err(Error::spec("chunks for the schedule of single tasks", hint));
        }
        if !(self.seconds > 0.0 && self.seconds.is_finite()) {
            let what = format!("chunks of {} seconds", self.seconds);
            return Err(Error::spec(what, "give a time above 0"));
        }
        if !(1..=8).contains(&self.lanes) {
            return Err(Error::spec(format!("{} lanes of a GPU", self.lanes), "give 1 to 8"));
        }
        if self.block > 1024 || !self.block.is_multiple_of(32) {
            let what = format!("blocks of {} threads", self.block);
            return Err(Error::spec(what, "give a multiple of 32, up to 1024"));
        }
        Ok(())
    }
}
