//! Of which workers something may still come. Pure.

/// The workers of a farm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Roll {
    workers: Vec<State>,
    /// Whether some were lost because they hang in a task.
    stuck: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    Here,
    Left,
    Lost,
}

impl Roll {
    /// So many workers.
    pub fn of(workers: usize) -> Self {
        Self { workers: vec![State::Here; workers], stuck: false }
    }

    /// `worker` is through.
    pub fn leaves(&mut self, worker: usize) {
        if self.workers[worker] == State::Here {
            self.workers[worker] = State::Left;
        }
    }

    /// `worker` is lost, and may be `stuck` in a task.
    pub fn loses(&mut self, worker: usize, stuck: bool) {
        self.workers[worker] = State::Lost;
        self.stuck |= stuck;
    }

    /// Whether nothing comes any more.
    pub fn is_empty(&self) -> bool {
        !self.workers.contains(&State::Here)
    }

    /// Whether every worker was lost.
    pub fn all_lost(&self) -> bool {
        self.workers.iter().all(|state| *state == State::Lost)
    }

    /// Whether a worker that hangs in a task was lost.
    pub fn any_stuck(&self) -> bool {
        self.stuck
    }
}
