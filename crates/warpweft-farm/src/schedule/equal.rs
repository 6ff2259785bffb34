//! Even shares: EQ1, the same for every node, and EQ2, the same for every worker (TuCCompi, section 3.4).

use std::collections::BTreeMap;
use std::ops::Range;

use super::guided::chunk_size;
use super::scheduler::{Request, Scheduler};
use crate::policy::ChunkSize;
use crate::schedule::ranges::Ranges;

/// How many of so many tasks each worker gets, by the node of each.
type Rule = fn(u64, &[usize]) -> Vec<u64>;

/// EQ1: every node has the same number of `tasks`, and its workers that evenly; numbers differ by one where they
/// must. `nodes` is the node of each worker; what is returned adds up to `tasks`.
pub fn eq1(tasks: u64, nodes: &[usize]) -> Vec<u64> {
    let mut workers: BTreeMap<usize, u64> = BTreeMap::new();
    nodes.iter().for_each(|&node| *workers.entry(node).or_default() += 1);
    let count = workers.len() as u64;
    let mut shares: BTreeMap<usize, (u64, u64, u64)> = BTreeMap::new();
    for (p, (&node, &workers)) in workers.iter().enumerate() {
        shares.insert(node, (part(tasks, count, p as u64), workers, 0));
    }
    let next = nodes.iter().map(|node| {
        shares.get_mut(node).map_or(0, |(tasks, workers, worker)| {
            *worker += 1;
            part(*tasks, *workers, *worker - 1)
        })
    });
    next.collect()
}

/// EQ2: every worker has the same number of `tasks`, or one more where it must. What is returned adds up to
/// `tasks`.
pub fn eq2(tasks: u64, nodes: &[usize]) -> Vec<u64> {
    (0..nodes.len() as u64).map(|worker| part(tasks, nodes.len() as u64, worker)).collect()
}

/// Part number `k` of `tasks` in `parts`.
fn part(tasks: u64, parts: u64, k: u64) -> u64 {
    let until = |k: u64| u128::from(tasks) * u128::from(k) / u128::from(parts);
    (until(k + 1) - until(k)) as u64
}

/// Shares by a rule, handed out in chunks. What has no owner is shared among the workers there are, by the same
/// rule: all tasks at first, later those of lost workers. If there are later fewer such tasks than workers (for example one task
/// that is run again), they are not shared: each goes to the next worker that has finished its share.
#[derive(Debug)]
pub struct Equal {
    rule: Rule,
    chunk: ChunkSize,
    seconds: f64,
    /// Whether the shares were handed out once.
    shared: bool,
    /// What each worker has still to get.
    shares: Vec<Ranges>,
}

impl Equal {
    /// Shares by `rule`.
    pub fn new(rule: Rule, chunk: ChunkSize, seconds: f64) -> Self {
        Self { rule, chunk, seconds, shared: false, shares: Vec::new() }
    }

    fn share(&mut self, request: &Request<'_>) {
        let mut unowned = self.unowned(request);
        let there: Vec<_> =
            (0..request.workers.len()).filter(|&worker| !request.workers[worker].lost).collect();
        if self.shared && unowned.count() < there.len() as u64 {
            return;
        }
        self.shared = true;
        let nodes: Vec<_> =
            there.iter().map(|&worker| request.workers[worker].worker.node).collect();
        for (worker, mut tasks) in there.into_iter().zip((self.rule)(unowned.count(), &nodes)) {
            while let Some(first) = unowned.first().filter(|_| tasks > 0) {
                let piece = first.start..first.end.min(first.start.saturating_add(tasks));
                tasks -= piece.end - piece.start;
                unowned.remove(piece.clone());
                self.shares[worker].insert(piece);
            }
        }
    }

    /// The free tasks that are in nobody's share.
    fn unowned(&self, request: &Request<'_>) -> Ranges {
        let mut unowned = request.free.clone();
        for range in self.shares.iter().flat_map(Ranges::iter) {
            unowned.remove(range);
        }
        unowned
    }
}

impl Scheduler for Equal {
    fn next(&mut self, request: &Request<'_>) -> Option<Range<u64>> {
        self.shares.resize(request.workers.len(), Ranges::default());
        for (share, worker) in self.shares.iter_mut().zip(request.workers) {
            if worker.lost {
                *share = Ranges::default();
            }
        }
        if self.shares.iter().map(Ranges::count).sum::<u64>() < request.free.count() {
            self.share(request);
        }
        let Some(first) = self.shares[request.worker].first() else {
            let task = self.unowned(request).first()?.start;
            return Some(task..task + 1);
        };
        let tasks = chunk_size(request, self.chunk, self.seconds, f64::INFINITY)
            .min(first.end - first.start);
        let chunk = first.start..first.start + tasks;
        self.shares[request.worker].remove(chunk.clone());
        Some(chunk)
    }

    /// What a worker may get grows only when another is lost or a task is to be run again, after which all ask again.
    fn patience(&self, _: &Request<'_>) -> Option<f64> {
        Some(f64::INFINITY)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::schedule::dispatcher::{Dispatcher, Reply};
    use crate::schedule::ledger::Again;
    use crate::spec::worker::{Grain, Worker};

    proptest! {
        #[test]
        fn shares_cover_all_tasks_and_are_even(tasks in 0u64..100_000, nodes in prop::collection::vec(0usize..5, 1..40)) {
            let workers = eq2(tasks, &nodes);
            prop_assert_eq!(workers.iter().sum::<u64>(), tasks);
            prop_assert!(workers.iter().max().unwrap() - workers.iter().min().unwrap() <= 1);
            let workers = eq1(tasks, &nodes);
            prop_assert_eq!(workers.iter().sum::<u64>(), tasks);
            let of = |node: usize| -> Vec<u64> {
                workers.iter().zip(&nodes).filter(|(_, of)| **of == node).map(|(n, _)| *n).collect()
            };
            let there: Vec<Vec<u64>> = (0..5).map(of).filter(|workers| !workers.is_empty()).collect();
            let sums: Vec<u64> = there.iter().map(|workers| workers.iter().sum()).collect();
            prop_assert!(sums.iter().max().unwrap() - sums.iter().min().unwrap() <= 1);
            for workers in there {
                prop_assert!(workers.iter().max().unwrap() - workers.iter().min().unwrap() <= 1);
            }
        }
    }

    /// WorkerTable 3: 48 workers of ten nodes in the small cluster, 180 of nineteen in the big one, Pegaso being the
    /// first of either, with eight.
    #[test]
    fn the_papers_clusters_are_shared_as_its_figure_15_has_it() {
        let big = [8, 4, 4, 4, 16, 2, 2, 2, 2, 4, 4, 4, 16, 16, 24, 16, 4, 24, 24];
        for (nodes, workers) in [(10, 48), (19, 180)] {
            let nodes_of: Vec<usize> =
                (0..nodes).flat_map(|node| std::iter::repeat_n(node, big[node])).collect();
            assert_eq!(nodes_of.len(), workers);
            let tasks = 720 * 19;
            let pegaso = |rule: Rule| rule(tasks, &nodes_of)[..8].iter().sum::<u64>();
            assert_eq!(pegaso(eq1), tasks / nodes as u64);
            assert_eq!(pegaso(eq2), 8 * tasks / workers as u64);
        }
    }

    /// It would wait for the one with a share, which may hang.
    #[test]
    fn a_task_that_failed_goes_to_the_worker_that_asks() {
        let chunk = ChunkSize::Tasks(2);
        let workers: Vec<_> = Worker::cores(0, 2).collect();
        let scheduler = Box::new(Equal::new(eq2, chunk, 1.0));
        let mut dispatcher = Dispatcher::new(8, &workers, scheduler);
        let mut request = |worker: usize, ran: Option<Range<u64>>| {
            if let Some(range) = ran {
                let again = range.contains(&4).then_some((4, Again::Yes));
                dispatcher.settle(worker, range, again.into_iter()).unwrap();
            }
            match dispatcher.request(worker, Grain::ANY, None, 0.0) {
                Reply::Chunk(range) => Some(range),
                _ => None,
            }
        };
        assert_eq!(request(0, None), Some(0..2));
        assert_eq!(request(1, None), Some(4..6));
        assert_eq!(request(1, Some(4..6)), Some(6..8), "its own share first");
        assert_eq!(request(1, Some(6..8)), Some(4..5));
        assert_eq!(request(1, Some(4..5)), Some(4..5));
    }

    #[test]
    fn shares_of_huge_farms_do_not_overflow() {
        assert_eq!(eq2(u64::MAX, &[0; 3]), [u64::MAX / 3; 3]);
        assert_eq!(eq1(u64::MAX, &[0, 1, 1, 2]).iter().sum::<u64>(), u64::MAX);
    }
}
