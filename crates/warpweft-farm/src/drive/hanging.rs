//! Workers that run a task for too long.

use std::collections::{BTreeMap, BTreeSet};

/// Which workers hang. News of a worker's return may come before the news that it hangs.
#[derive(Debug, Default)]
pub struct Hanging {
    /// Workers that hang, and in which task.
    workers: BTreeMap<usize, u64>,
    /// Workers that hung at any time.
    ever: BTreeSet<usize>,
    /// Workers that returned before, with the task.
    early: BTreeSet<(usize, u64)>,
}

impl Hanging {
    /// Whether `worker` hangs.
    pub fn is(&self, worker: usize) -> bool {
        self.workers.contains_key(&worker)
    }

    /// Whether `worker` hung at any time.
    pub fn ever(&self, worker: usize) -> bool {
        self.ever.contains(&worker)
    }

    /// `worker` hangs in `task`; whether it has returned since.
    pub fn add(&mut self, worker: usize, task: u64) -> bool {
        self.ever.insert(worker);
        let returned = self.early.remove(&(worker, task));
        if !returned {
            self.workers.insert(worker, task);
        }
        returned
    }

    /// `worker` has returned from `task`; whether it was known to hang in it.
    pub fn returned(&mut self, worker: usize, task: u64) -> bool {
        let hung = self.workers.get(&worker) == Some(&task);
        if hung {
            self.workers.remove(&worker);
        }
        hung
    }

    /// `worker` has returned from `task`, of which the news that it hangs is still to come.
    pub fn early(&mut self, worker: usize, task: u64) {
        self.early.insert((worker, task));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_returned_is_free_whichever_news_comes_first() {
        let mut hanging = Hanging::default();
        assert!(!hanging.ever(1) && !hanging.add(1, 70) && hanging.is(1) && hanging.ever(1));
        assert!(!hanging.returned(1, 60) && hanging.is(1));
        assert!(hanging.returned(1, 70) && !hanging.is(1));
        assert!(!hanging.returned(1, 80));
        hanging.early(1, 80);
        assert!(hanging.add(1, 80) && !hanging.is(1));
        assert!(!hanging.add(1, 80) && hanging.is(1));
    }
}
