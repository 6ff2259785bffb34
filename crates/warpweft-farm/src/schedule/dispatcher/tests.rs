//! Farms that are played step by step: every one ends, with every task in one place.

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
    // Far more steps than there can be chunks.
    for step in 0..20 * (tasks + 10) {
        let mut replies = Vec::new();
        for worker in (0..workers.len()).filter(|&worker| !gone[worker]) {
            if chunks[worker].is_none() {
                let took = (step > 0).then_some((1 + worker as u64, 0.01));
                match dispatcher.request(worker, grain, took, step as f64) {
                    Reply::Chunk(range) => {
                        given.push((worker, range.clone()));
                        chunks[worker] = Some(range);
                    }
                    reply => replies.push(reply),
                }
            }
        }
        // They ask again where there may be another reply by now.
        if replies.contains(&Reply::Wait(f64::INFINITY)) && chunks.iter().all(Option::is_none) {
            continue;
        }
        let busy: Vec<_> = (0..workers.len()).filter(|&worker| chunks[worker].is_some()).collect();
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
                assert!(dispatcher.wanted(worker, &range).is_empty());
            }
            2 | 3 => {
                let again = if what == 3 { Again::Yes } else { Again::No };
                let failed = std::iter::once((range.start, again));
                dispatcher.settle(worker, range, failed).unwrap();
            }
            _ => drop(dispatcher.settle(worker, range, std::iter::empty()).unwrap()),
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
        prop_assert!(dispatcher.ledger().failed() <= failures);
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
        let policy = Policy { backups: false, ..Policy::default() };
        let (given, dispatcher) = play(tasks, &workers, policy, grain, &[]);
        assert!(dispatcher.ledger().is_settled());
        let sizes: Vec<_> = given.iter().map(|(_, range)| range.end - range.start).collect();
        let (last, others) = sizes.split_last().unwrap();
        assert!(others.iter().all(|&size| size == 4) && (1..=4).contains(last), "{sizes:?}");
    }
}

/// The last tasks are left to quicker workers, but not for ever.
#[test]
fn a_slow_worker_does_the_tasks_of_a_quick_one_that_hangs() {
    let workers: Vec<_> = Worker::cores(0, 2).collect();
    let policy = Policy { backups: false, ..Policy::default() };
    let mut dispatcher = Dispatcher::new(20, &workers, schedule::of(&policy));
    for worker in 0..2 {
        let chunk = dispatcher.request(worker, Grain::ANY, None, 0.0);
        let Reply::Chunk(range) = chunk else { panic!("{chunk:?}") };
        dispatcher.settle(worker, range, std::iter::empty()).unwrap();
    }
    let quick = dispatcher.request(0, Grain::ANY, Some((1, 1e-3)), 10.0);
    assert!(matches!(quick, Reply::Chunk(_)), "{quick:?}");
    let (mut now, mut took, mut waits) = (10.0, Some((1, 10.0)), 0);
    let chunk = loop {
        match dispatcher.request(1, Grain::ANY, took.take(), now) {
            Reply::Wait(until) => {
                assert!(until > now && now < 20.0, "it waits at {now} until {until}");
                (now, waits) = (until, waits + 1);
            }
            reply => break reply,
        }
    };
    assert!(matches!(chunk, Reply::Chunk(_)), "{chunk:?}");
    assert!(waits > 0 && now > 10.5, "it waited until {now}");
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
        (None, "although 10 tasks have not been given out"),
    ] {
        let mut dispatcher = Dispatcher::new(10, &workers, Box::new(Bad(chunk)));
        // All that wait are asked once more before that is a fault.
        let replies: Vec<_> =
            (0..2).map(|_| dispatcher.request(0, Grain::ANY, None, 0.0)).collect();
        assert_eq!(replies[1], Reply::End);
        let fault = dispatcher.fault().unwrap().to_string();
        assert!(fault.contains(expect), "{fault}");
    }
    // Given twice.
    let mut dispatcher = Dispatcher::new(10, &workers, Box::new(Bad(Some(0..4))));
    assert_eq!(dispatcher.request(0, Grain::ANY, None, 0.0), Reply::Chunk(0..4));
    assert_eq!(dispatcher.request(0, Grain::ANY, None, 0.0), Reply::End);
    assert!(dispatcher.fault().is_some());
}
