//! Master-worker: a worker that requests work gets the next tasks, many at first and few in the end.
//!
//! Guided self-scheduling (Polychronopoulos and Kuck, "Guided self-scheduling", IEEE Transactions on
//! Computers C-36, 1987), weighted by speed: a worker gets half its part of what is left. In the end a slow worker gets
//! nothing that quicker ones would be through with before it.

use std::ops::Range;

use super::scheduler::{Request, Scheduler};
use super::speeds::Speeds;
use crate::policy::ChunkSize;
use crate::spec::worker::WorkerState;

/// Tasks of a chunk at most: what is known of each waits in memory until it is handed over.
const MOST: f64 = 65_536.0;

/// Chunks that take less are not worth handing over, even for an even end; what short ones cost is measured by
/// `cargo bench -p warpweft-farm least_task`.
const LEAST_SECONDS: f64 = 20e-6;

/// A chunk in proportion to the worker's speed and to what is left.
#[derive(Debug)]
pub struct Guided {
    /// How many tasks a chunk.
    chunk: ChunkSize,
    /// How long one takes at most.
    seconds: f64,
    backups: bool,
    speeds: Speeds,
}

impl Scheduler for Guided {
    fn next(&mut self, request: &Request<'_>) -> Option<Range<u64>> {
        if self.better_waits(request).is_some() {
            return None;
        }
        let part = match request.state().speed {
            Some(speed) => request.free.count() as f64 * speed / (2.0 * self.speeds.of_all()),
            None => f64::INFINITY,
        };
        let first = request.free.first()?;
        let tasks =
            chunk_size(request, self.chunk, self.seconds, part).min(first.end - first.start);
        Some(first.start..first.start + tasks)
    }

    fn learn(&mut self, worker: usize, state: &WorkerState) {
        self.speeds.learn(worker, state, self.least(state));
    }

    /// Until the quicker ones should be through: if they are not, they are not so quick.
    fn patience(&self, request: &Request<'_>) -> Option<f64> {
        Some(self.better_waits(request).unwrap_or(0.0).max(LEAST_PATIENCE))
    }

    fn backups(&self) -> bool {
        self.backups
    }
}

impl Guided {
    /// Chunks of such a size, of so many seconds at most.
    pub fn new(chunk: ChunkSize, seconds: f64, backups: bool) -> Self {
        Self { chunk, seconds, backups, speeds: Speeds::default() }
    }

    /// Tasks of a worker's least chunk.
    fn least(&self, worker: &WorkerState) -> u64 {
        match self.chunk {
            ChunkSize::Tasks(tasks) => tasks.min(worker.grain.most),
            ChunkSize::Auto => worker.grain.of,
        }
        .max(1)
    }

    /// If workers that are quicker with their least chunk would finish all free tasks before this worker
    /// is with its own: the seconds until then. A core that takes the last of a GPU's tasks ends the farm late. The
    /// quickest never waits, nor one of which nothing is known, so at least one always works. Cores wait, too, as long
    /// as there are lanes that leave them no part worth having.
    fn better_waits(&self, request: &Request<'_>) -> Option<f64> {
        let state = request.state();
        let own = self.least(state) as f64 / state.speed?;
        let free = request.free.count() as f64;
        let (cores, lanes) = (self.speeds.of_cores(), self.speeds.of_lanes());
        let hopeless = cores < WORTH * lanes;
        if hopeless && state.is_core() {
            return Some(free / lanes);
        }
        let quicker = self.speeds.quicker(own, !hopeless)?;
        Some(free / quicker.speed + quicker.last).filter(|seconds| *seconds < own)
    }
}

/// A worker that waits for quicker ones does so for this long at least.
const LEAST_PATIENCE: f64 = 1e-3;

/// Cores that together do less than this part of what lanes do cost more than they add, since lanes have threads on
/// the same host, and memory. Next to one H200, 32 cores that do about 1 % of the sources made the farm 11 % slower than
/// the H200 alone (`warpweft-lab bench farm --only rows`).
const WORTH: f64 = 0.05;

/// Tasks of a chunk for the requesting worker: as many as take `seconds`, at most `part`, at most four times its last
/// chunk, whole grains, and at least one.
pub fn chunk_size(request: &Request<'_>, size: ChunkSize, seconds: f64, part: f64) -> u64 {
    let worker = request.state();
    let grain = worker.grain.of.max(1);
    let tasks = match (size, worker.speed) {
        (ChunkSize::Tasks(tasks), _) => return tasks.clamp(1, worker.grain.most.max(1)),
        (ChunkSize::Auto, None) => grain,
        (ChunkSize::Auto, Some(speed)) => {
            let wanted = part.max(speed * LEAST_SECONDS).min(speed * seconds);
            // From floating point, saturating.
            wanted.min(4.0 * worker.last as f64).min(MOST.max(grain as f64)) as u64
        }
    };
    (tasks / grain * grain).max(grain).min(worker.grain.most.max(1))
}
