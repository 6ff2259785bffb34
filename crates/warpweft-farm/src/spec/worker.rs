//! The table of workers: what runs tasks, and where (TuCCompi, figure 8).

use std::fmt;

use serde::{Deserialize, Serialize};

/// What runs one chunk at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Worker {
    /// The node it belongs to: its rank, where a farm has several.
    pub node: usize,
    /// What it is there.
    pub place: Place,
}

/// What a worker is on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Place {
    /// The core with this number, from 0 on each node.
    Core(usize),
    /// A lane of a GPU: one of a few queues of chunks on it.
    Lane {
        /// The GPU's number.
        gpu: usize,
        /// The lane's, from 0 on each GPU.
        lane: usize,
    },
}

impl Worker {
    /// The first `count` cores of `node`.
    pub fn cores(node: usize, count: usize) -> impl Iterator<Item = Self> {
        (0..count).map(move |core| Self { node, place: Place::Core(core) })
    }
}

/// As reports, errors and timelines call it; nodes other than the first by number.
impl fmt::Display for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.node > 0 {
            write!(f, "node {} ", self.node)?;
        }
        match self.place {
            Place::Core(core) => write!(f, "core {core}"),
            Place::Lane { gpu, lane } => write!(f, "GPU {gpu} lane {lane}"),
        }
    }
}

/// The sizes of chunks that suit a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grain {
    /// Chunks run best in multiples of this.
    pub of: u64,
    /// And never have more tasks than this.
    pub most: u64,
}

impl Grain {
    /// Any number of tasks, as suits a core.
    pub const ANY: Self = Self { of: 1, most: u64::MAX };
}

/// What a schedule may know of a worker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkerState {
    /// Which.
    pub worker: Worker,
    /// The chunks that suit it, as of its last request.
    pub grain: Grain,
    /// Tasks a second, half of them by its last chunk; `None` before it has run one.
    pub speed: Option<f64>,
    /// Tasks of its last chunk.
    pub last: u64,
    /// Whether it is gone for good.
    pub lost: bool,
}

impl WorkerState {
    /// Of a worker that has made no request yet.
    pub fn new(worker: Worker) -> Self {
        Self { worker, grain: Grain::ANY, speed: None, last: 0, lost: false }
    }

    /// Whether it is a core.
    pub fn is_core(&self) -> bool {
        matches!(self.worker.place, Place::Core(_))
    }

    /// It ran a chunk of `tasks` in `seconds`.
    pub fn took(&mut self, tasks: u64, seconds: f64) {
        let now = tasks as f64 / seconds.max(1e-9);
        self.speed = Some(self.speed.map_or(now, |before| (before + now) / 2.0));
        self.last = tasks;
    }
}
