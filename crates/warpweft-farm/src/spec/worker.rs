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
    /// Tasks a second: the median of its last five chunks, which one chunk of odd tasks does not move; `None` before it
    /// has run one.
    pub speed: Option<f64>,
    /// Tasks of its last chunk.
    pub last: u64,
    /// Whether it is gone for good.
    pub lost: bool,
    /// Tasks a second of each of its last chunks.
    recent: Recent,
}

/// The last few speeds of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Recent {
    speeds: [f64; 5],
    /// How many there have been.
    count: usize,
}

impl Recent {
    /// Adds one; the median of those that are kept.
    fn add(&mut self, speed: f64) -> f64 {
        self.speeds[self.count % self.speeds.len()] = speed;
        self.count += 1;
        let mut sorted = self.speeds;
        let there = &mut sorted[..self.count.min(self.speeds.len())];
        there.sort_by(f64::total_cmp);
        let middle = there.len() / 2;
        match there.len() % 2 {
            1 => there[middle],
            _ => (there[middle - 1] + there[middle]) / 2.0,
        }
    }
}

impl WorkerState {
    /// Of a worker that has made no request yet.
    pub fn new(worker: Worker) -> Self {
        Self {
            worker,
            grain: Grain::ANY,
            speed: None,
            last: 0,
            lost: false,
            recent: Recent::default(),
        }
    }

    /// Whether it is a core.
    pub fn is_core(&self) -> bool {
        matches!(self.worker.place, Place::Core(_))
    }

    /// It ran a chunk of `tasks` in `seconds`.
    pub fn took(&mut self, tasks: u64, seconds: f64) {
        self.speed = Some(self.recent.add(tasks as f64 / seconds.max(1e-9)));
        self.last = tasks;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A chunk a thousand times as slow, or as quick, as the others leaves the speed as it is.
    #[test]
    fn one_odd_chunk_does_not_move_the_speed() {
        for odd in [1e-3, 1e3] {
            let mut state = WorkerState::new(Worker::cores(0, 1).next().unwrap());
            for seconds in [1.0, 1.0, odd, 1.0, 1.0, 1.0] {
                state.took(10, seconds);
                if state.recent.count > 2 {
                    assert_eq!(state.speed, Some(10.0));
                }
            }
        }
        let mut state = WorkerState::new(Worker::cores(0, 1).next().unwrap());
        (1..=9).for_each(|k| state.took(k, 1.0));
        assert_eq!(state.speed, Some(7.0));
    }
}
