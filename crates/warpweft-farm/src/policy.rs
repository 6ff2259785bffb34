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
    /// The most seconds of work in a chunk of [`ChunkSize::Auto`], once a worker's speed is known. It limits how long
    /// progress goes unreported, and how much work is lost with a worker.
    pub seconds: f64,
    /// Lanes (CUDA streams) of each GPU, 1 to 8. Each runs one chunk at a time, so that the GPU computes while the results
    /// of another chunk are copied (MK in TuCCompi's paper, where it is 4).
    pub lanes: usize,
    /// Threads per block of a lane's kernels, if its executor does not fix them; 0 lets the executor choose.
    #[serde(default)]
    pub block: u32,
    /// Whether idle workers run copies of the last tasks of slower workers, so that the farm does not wait for a worker
    /// that became slow. The first result counts. Has no effect with [`Schedule::Eq1`] and [`Schedule::Eq2`].
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
    /// A worker that requests work gets the next chunk, sized by its speed and by the number of remaining tasks: MS in
    /// TuCCompi's paper, but no worker is reserved as the master.
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
    /// This many tasks, or fewer if the worker takes fewer or fewer are left.
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
    /// Checks that all values are valid.
    ///
    /// # Errors
    /// Chunks of no task, or of no time; chunks for a schedule that gives single tasks; no lanes or more than 8; blocks
    /// that are no whole warps, or of more than 1024 threads.
    pub fn check(&self) -> Result<()> {
        if self.chunk == ChunkSize::Tasks(0) {
            return Err(Error::spec("chunks of 0 tasks", "give at least 1 task a chunk"));
        }
        if self.schedule == Schedule::Single && self.chunk != ChunkSize::Auto {
            let hint = "leave the chunk size out, or choose another schedule";
            return Err(Error::spec("the schedule `single` has no chunk size", hint));
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
