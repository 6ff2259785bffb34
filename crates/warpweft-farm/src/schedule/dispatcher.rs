//! How a master replies to requests: ledger, schedule and workers together, without a lock or a clock.
//!
//! One dispatcher serves threads behind the lock of [`Master`](crate::schedule::master::Master), and simulations.

use std::ops::Range;

use super::scheduler::{Request, Scheduler};
use crate::schedule::ledger::Ledger;
use crate::schedule::ranges::Ranges;
use crate::spec::worker::{Grain, Worker, WorkerState};
use warpweft_core::error::{Error, Result};

/// The reply to a request for work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Run these tasks.
    Chunk(Range<u64>),
    /// No chunk now: repeat the request once a chunk was handed over or a worker was lost.
    Wait,
    /// No more chunks for this worker.
    End,
}

/// The state of a farm.
pub struct Dispatcher {
    ledger: Ledger,
    scheduler: Box<dyn Scheduler>,
    workers: Vec<WorkerState>,
    /// No more chunks are given.
    stopped: bool,
    /// Workers that wait since the last change of the ledger.
    waiting: Vec<bool>,
    /// What a schedule of the user's did wrong.
    fault: Option<Error>,
    /// Number of changes after which a reply may differ.
    changes: u64,
}

impl Dispatcher {
    /// `tasks` tasks for `workers`.
    pub fn new(tasks: u64, workers: &[Worker], scheduler: Box<dyn Scheduler>) -> Self {
        Self::resumed(tasks, Ranges::default(), workers, scheduler)
    }

    /// The same, of which some were `done` before.
    pub fn resumed(
        tasks: u64,
        done: Ranges,
        workers: &[Worker],
        scheduler: Box<dyn Scheduler>,
    ) -> Self {
        Self {
            ledger: Ledger::new(tasks, workers.len(), done),
            scheduler,
            workers: workers.iter().copied().map(WorkerState::new).collect(),
            stopped: false,
            waiting: vec![false; workers.len()],
            fault: None,
            changes: 0,
        }
    }

    /// Counts the changes after which a waiting worker may get another reply: it repeats its request once this differs.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The state of all tasks.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What a schedule did wrong, once.
    pub fn fault(&mut self) -> Option<Error> {
        self.fault.take()
    }

    /// `worker`, which likes chunks of `grain` and whose last one, if it ran any, had so many tasks and took so
    /// many seconds, requests work.
    pub fn request(&mut self, worker: usize, grain: Grain, took: Option<(u64, f64)>) -> Reply {
        let Some(state) = self.workers.get_mut(worker) else { return Reply::End };
        state.grain = grain;
        if let Some((tasks, seconds)) = took {
            state.took(tasks, seconds);
        }
        self.waiting[worker] = false;
        let out = self.ledger.out();
        let free = self.ledger.free();
        if self.stopped || state.lost || free.count() + out == 0 {
            return Reply::End;
        }
        let chunk = match free.count() {
            0 => None,
            _ => self.scheduler.next(&Request { worker, workers: &self.workers, free, out }),
        };
        match chunk {
            Some(range) => match self.ledger.give(worker, range.clone()) {
                Ok(()) => Reply::Chunk(range),
                Err(error) => self.stop_for(error),
            },
            None => {
                self.waiting[worker] = true;
                let all = self
                    .workers
                    .iter()
                    .zip(&self.waiting)
                    .all(|(worker, waits)| worker.lost || *waits);
                match out == 0 && all {
                    true => self.stop_for(Error::spec(
                        format!(
                            "a schedule lets all workers wait, with {} tasks free",
                            free.count()
                        ),
                        "give a chunk to one of them",
                    )),
                    false => Reply::Wait,
                }
            }
        }
    }

    fn stop_for(&mut self, error: Error) -> Reply {
        self.fault.get_or_insert(error);
        self.stop();
        Reply::End
    }

    /// Whether all of `range` is still out to `worker`.
    pub fn has(&self, worker: usize, range: &Range<u64>) -> bool {
        self.ledger.has(worker, range)
    }

    /// `worker` hands over `range`, of which the tasks `failed`, in order, have no output.
    ///
    /// # Errors
    /// Some of it is not out to that worker.
    pub fn settle(
        &mut self,
        worker: usize,
        range: Range<u64>,
        failed: impl Iterator<Item = u64>,
    ) -> Result<()> {
        let mut from = range.start;
        for task in failed {
            self.ledger.fail(worker, task)?;
            if from < task {
                self.ledger.commit(worker, from..task)?;
            }
            from = task + 1;
        }
        if from < range.end {
            self.ledger.commit(worker, from..range.end)?;
        }
        self.change();
        Ok(())
    }

    /// `worker` is gone: what is out to it is free again.
    pub fn lose(&mut self, worker: usize) {
        self.ledger.lose(worker);
        if let Some(state) = self.workers.get_mut(worker) {
            state.lost = true;
        }
        self.change();
    }

    /// No more chunks are given.
    pub fn stop(&mut self) {
        self.stopped = true;
        self.changes += 1;
    }

    fn change(&mut self) {
        self.waiting.fill(false);
        self.changes += 1;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::policy::{ChunkSize, Policy, Schedule};
    use crate::schedule;

    /// Plays a farm: workers that have a chunk, in an order that `turns` says, hand it over, fail some of it or are
    /// lost; every other worker requests. Returns which worker got which chunks, and the dispatcher in the end.
    fn play(
        tasks: u64,
        workers: &[Worker],
        policy: Policy,
        grain: Grain,
        turns: &[(usize, u8)],
    ) -> (Vec<(usize, Range<u64>)>, Dispatcher) {
        let mut dispatcher = Dispatcher::new(tasks, workers, schedule::of(&policy));
        let mut chunks: Vec<Option<Range<u64>>> = vec![None; workers.len()];
        let mut gone = vec![false; workers.len()];
        let mut given = Vec::new();
        let mut turns = turns.iter().copied();
        // RemoteEndpoint more steps than there can be chunks.
        for step in 0..20 * (tasks + 10) {
            let mut replies = Vec::new();
            for worker in (0..workers.len()).filter(|&worker| !gone[worker]) {
                if chunks[worker].is_none() {
                    let took = (step > 0).then_some((1 + worker as u64, 0.01));
                    match dispatcher.request(worker, grain, took) {
                        Reply::Chunk(range) => {
                            given.push((worker, range.clone()));
                            chunks[worker] = Some(range);
                        }
                        reply => replies.push(reply),
                    }
                }
            }
            let busy: Vec<_> =
                (0..workers.len()).filter(|&worker| chunks[worker].is_some()).collect();
            let Some(&first) = busy.first() else {
                // No worker has a chunk, so none may wait.
                assert!(replies.iter().all(|reply| *reply == Reply::End), "{replies:?}");
                return (given, dispatcher);
            };
            let (turn, what) = turns.next().unwrap_or((0, 0));
            let worker = busy.get(turn % busy.len()).copied().unwrap_or(first);
            let Some(range) = chunks[worker].take() else { continue };
            let living = gone.iter().filter(|gone| !**gone).count();
            match what {
                1 if living > 1 => {
                    gone[worker] = true;
                    dispatcher.lose(worker);
                    assert!(!dispatcher.has(worker, &range));
                }
                2 => {
                    dispatcher.settle(worker, range.clone(), std::iter::once(range.start)).unwrap()
                }
                _ => dispatcher.settle(worker, range, std::iter::empty()).unwrap(),
            }
        }
        panic!("the farm of {tasks} tasks does not end");
    }

    fn policies() -> impl Strategy<Value = Policy> {
        let schedules = [Schedule::MasterWorker, Schedule::Eq1, Schedule::Eq2, Schedule::Single];
        let chunk = prop_oneof![Just(ChunkSize::Auto), (1u64..9).prop_map(ChunkSize::Tasks)];
        (prop::sample::select(schedules.to_vec()), chunk).prop_map(|(schedule, chunk)| Policy {
            schedule,
            chunk,
            ..Policy::default()
        })
    }

    proptest! {
        /// Every farm ends, whichever worker is lost and whichever task fails, with every task in one place.
        #[test]
        fn every_task_is_committed_or_failed_in_the_end(
            tasks in 0u64..200,
            nodes in prop::collection::vec(1usize..4, 1..4),
            policy in policies(),
            of in 1u64..40,
            turns in prop::collection::vec((0usize..8, 0u8..8), 0..100),
        ) {
            let workers: Vec<_> =
                nodes.iter().enumerate().flat_map(|(node, &cores)| Worker::cores(node, cores)).collect();
            let grain = Grain { of, most: 64 };
            let (given, dispatcher) = play(tasks, &workers, policy, grain, &turns);
            prop_assert!(dispatcher.ledger().is_settled());
            prop_assert!(given.iter().all(|(_, range)| range.end - range.start <= 64));
            let failures = turns.iter().filter(|(_, what)| *what == 2).count() as u64;
            prop_assert!(dispatcher.ledger().failed().count() <= failures);
        }

        /// Even shares without losses are those of the rule, however fast workers are.
        #[test]
        fn even_shares_are_those_of_the_rule(
            tasks in 0u64..200,
            nodes in prop::collection::vec(1usize..4, 1..4),
            turns in prop::collection::vec((0usize..8, Just(0u8)), 0..100),
        ) {
            let workers: Vec<_> =
                nodes.iter().enumerate().flat_map(|(node, &cores)| Worker::cores(node, cores)).collect();
            let node_of: Vec<_> = workers.iter().map(|worker| worker.node).collect();
            type Rule = fn(u64, &[usize]) -> Vec<u64>;
            let rules: [(Schedule, Rule); 2] =
                [(Schedule::Eq1, schedule::eq1), (Schedule::Eq2, schedule::eq2)];
            for (schedule, rule) in rules {
                let policy = Policy { schedule, ..Policy::default() };
                let (given, _) = play(tasks, &workers, policy, Grain::ANY, &turns);
                let mut shares = vec![0; workers.len()];
                given.iter().for_each(|(worker, range)| shares[*worker] += range.end - range.start);
                prop_assert_eq!(shares, rule(tasks, &node_of));
            }
        }
    }

    /// Figure 12 of the paper ends a slave on a GPU when fewer tasks than its kernels are left: with such
    /// slaves alone, N mod MK tasks are nobody's, and its master waits for ever.
    #[test]
    fn a_farm_whose_tasks_are_no_multiple_of_the_grain_ends() {
        for tasks in [1, 3, 4, 5, 1023] {
            let workers: Vec<_> = Worker::cores(0, 2).collect();
            let grain = Grain { of: 4, most: 4 };
            let (given, dispatcher) = play(tasks, &workers, Policy::default(), grain, &[]);
            assert!(dispatcher.ledger().is_settled());
            let sizes: Vec<_> = given.iter().map(|(_, range)| range.end - range.start).collect();
            let (last, others) = sizes.split_last().unwrap();
            assert!(others.iter().all(|&size| size == 4) && (1..=4).contains(last), "{sizes:?}");
        }
    }

    struct Bad(Option<Range<u64>>);
    impl Scheduler for Bad {
        fn next(&mut self, _: &Request<'_>) -> Option<Range<u64>> {
            self.0.clone()
        }
    }

    #[test]
    fn a_schedule_that_errs_is_named_with_the_range_and_the_unit() {
        let workers: Vec<_> = Worker::cores(0, 1).collect();
        for (chunk, expect) in [
            (Some(0..11), "tasks 0..11 of 10 can't be given to worker 0"),
            (Some(3..3), "tasks 3..3 of 10"),
            (Some(12..13), "tasks 12..13 of 10"),
            (None, "lets all workers wait, with 10 tasks free"),
        ] {
            let mut dispatcher = Dispatcher::new(10, &workers, Box::new(Bad(chunk)));
            assert_eq!(dispatcher.request(0, Grain::ANY, None), Reply::End);
            let fault = dispatcher.fault().unwrap().to_string();
            assert!(fault.contains(expect), "{fault}");
        }
        // Given twice.
        let mut dispatcher = Dispatcher::new(10, &workers, Box::new(Bad(Some(0..4))));
        assert_eq!(dispatcher.request(0, Grain::ANY, None), Reply::Chunk(0..4));
        assert_eq!(dispatcher.request(0, Grain::ANY, None), Reply::End);
        assert!(dispatcher.fault().is_some());
    }
}
