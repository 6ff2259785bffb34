//! Tests that wait to be run: the longest first, so that no core is left alone with one at the end.

use std::collections::BinaryHeap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The tests that take longest, first; refreshed by hand from what `cargo xtask test` prints.
const SLOW: &str = include_str!("../../slow-tests.txt");

/// What waits, and whether more may come.
pub struct Queue<T> {
    waiting: Mutex<Waiting<T>>,
    changed: Condvar,
}

struct Waiting<T> {
    jobs: BinaryHeap<Job<T>>,
    taken: usize,
    open: bool,
}

/// One job, compared by when it is to begin.
struct Job<T> {
    /// Its place among the slow tests from their end, or 0; then the order of arrival from its end.
    rank: (usize, usize),
    job: T,
}

impl<T> Queue<T> {
    /// An empty queue.
    pub fn new() -> Self {
        let waiting = Waiting { jobs: BinaryHeap::new(), taken: 0, open: true };
        Self { waiting: Mutex::new(waiting), changed: Condvar::new() }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands in a job of this name.
    pub fn put(&self, name: &str, job: T) {
        let mut waiting = self.waiting();
        waiting.taken += 1;
        let rank = (slowness(name), usize::MAX - waiting.taken);
        waiting.jobs.push(Job { rank, job });
        self.changed.notify_one();
    }

    /// Says that no more will come.
    pub fn close(&self) {
        self.waiting().open = false;
        self.changed.notify_all();
    }

    /// The job to do next; `None` when there will be none.
    pub fn next(&self) -> Option<T> {
        let mut waiting = self.waiting();
        loop {
            if let Some(job) = waiting.jobs.pop() {
                return Some(job.job);
            }
            if !waiting.open {
                return None;
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// How many of the slow tests take no longer than that of `name`.
fn slowness(name: &str) -> usize {
    let slow = SLOW.lines().filter(|line| !line.starts_with('#'));
    let from_here = slow.skip_while(|line| *line != name);
    from_here.count()
}

impl<T> PartialEq for Job<T> {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl<T> Eq for Job<T> {}

impl<T> PartialOrd for Job<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Job<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank.cmp(&other.rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_tests_go_first_and_the_others_as_they_come() {
        let slow: Vec<&str> = SLOW.lines().filter(|line| !line.starts_with('#')).collect();
        let queue = Queue::new();
        for name in ["one", slow[1], "two", slow[0]] {
            queue.put(name, name);
        }
        queue.close();
        let order: Vec<_> = std::iter::from_fn(|| queue.next()).collect();
        assert_eq!(order, [slow[0], slow[1], "one", "two"]);
    }
}
