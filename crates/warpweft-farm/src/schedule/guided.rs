//! Master-worker: a worker that requests work gets the next tasks, many at first and few in the end.
//!
//! Guided self-scheduling (Polychronopoulos and Kuck, "Guided self-scheduling", IEEE Transactions on
//! Computers C-36, 1987), weighted by speed: a worker gets half its part of what is left. In the end a slow worker gets
//! nothing that quicker ones would be through with before it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::scheduler::{Request, Scheduler};
use super::speeds::Speeds;
use crate::policy::ChunkSize;
use crate::spec::worker::{Worker, WorkerState};

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
    /// Found at the first request.
    next_to_lanes: Option<NextToLanes>,
    /// By worker that waits for quicker ones: since when, and how many tasks have been free all that time.
    waits: BTreeMap<usize, (f64, u64)>,
}

/// The cores of nodes that have lanes too.
#[derive(Debug, Default)]
struct NextToLanes {
    /// Of each such node the core that is tried before others work.
    firsts: BTreeMap<usize, usize>,
    /// How many cores these nodes have.
    count: usize,
}

impl NextToLanes {
    fn of(workers: &[WorkerState]) -> Self {
        let lanes = workers.iter().filter(|state| !state.is_core());
        let nodes: BTreeSet<_> = lanes.map(|state| state.worker.node).collect();
        let mut found = Self::default();
        for (worker, state) in workers.iter().enumerate() {
            if state.is_core() && nodes.contains(&state.worker.node) {
                found.firsts.entry(state.worker.node).or_insert(worker);
                found.count += 1;
            }
        }
        found
    }
}

impl Scheduler for Guided {
    fn next(&mut self, request: &Request<'_>) -> Option<Range<u64>> {
        self.next_to_lanes.get_or_insert_with(|| NextToLanes::of(request.workers));
        if let Some(seconds) = self.better_waits(request)
            && !self.has_waited_enough(request, seconds)
        {
            return None;
        }
        self.waits.remove(&request.worker);
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
        Self {
            chunk,
            seconds,
            backups,
            speeds: Speeds::default(),
            next_to_lanes: None,
            waits: BTreeMap::new(),
        }
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
    /// quickest never waits, so at least one always works. Cores other than the first of a node with lanes wait, too, as
    /// long as lanes leave them no part worth having.
    fn better_waits(&self, request: &Request<'_>) -> Option<f64> {
        let free = request.free.count() as f64;
        let lanes = self.speeds.of_lanes();
        let count = self.next_to_lanes.as_ref().map(|cores| cores.count).filter(|&count| count > 0);
        let of_cores = count.and_then(|count| self.speeds.of_like_cores(count));
        let hopeless = of_cores.is_some_and(|cores| cores < WORTH * lanes);
        if self.is_further(request) && hopeless {
            return Some(free / lanes);
        }
        let state = request.state();
        let Some(speed) = state.speed else {
            let unknown = of_cores.is_none() || lanes == 0.0;
            let wait = (TRIAL - request.now).min(LEAST_PATIENCE);
            return (self.is_further(request) && unknown && request.out > 0 && wait > 0.0)
                .then_some(wait);
        };
        let own = self.least(state) as f64 / speed;
        let quicker = self.speeds.quicker(own, !hopeless)?;
        Some(free / quicker.speed + quicker.last).filter(|seconds| *seconds < own)
    }

    /// Whether the worker has waited much longer than the `seconds` in which quicker ones should be through, and none of them
    /// has taken a task: they may hang.
    fn has_waited_enough(&mut self, request: &Request<'_>, seconds: f64) -> bool {
        let (now, free) = (request.now, request.free.count());
        let since = match self.waits.get(&request.worker) {
            Some(&(since, then)) if then == free => since,
            _ => {
                self.waits.insert(request.worker, (now, free));
                now
            }
        };
        let state = request.state();
        let own = state.speed.map_or(0.0, |speed| self.least(state) as f64 / speed);
        let waited_for =
            [self.speeds.quicker(own, true), self.speeds.quicker(f64::INFINITY, false)];
        let chunk = waited_for.into_iter().flatten().map(|some| some.last).fold(0.0, f64::max);
        now - since > 2.0 * (seconds + chunk) + self.seconds + TRUST
    }

    /// Whether a core requests that is not the first of a node with lanes.
    fn is_further(&self, request: &Request<'_>) -> bool {
        let Worker { node, .. } = request.state().worker;
        let first = self.next_to_lanes.as_ref().and_then(|cores| cores.firsts.get(&node));
        request.state().is_core() && first.is_some_and(|&first| first != request.worker)
    }
}

/// Seconds from the beginning of a farm in which only one core of a node works next to its lanes, until both have shown their speed.
/// Thirty cores that try one task each slow the lanes' threads down.
const TRIAL: f64 = 0.1;

/// Seconds added to the expected wait before quicker workers are assumed to hang, because a busy host delays them.
const TRUST: f64 = 1.0;

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
