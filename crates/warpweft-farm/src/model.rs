//! A farm played with given times: the dispatcher that runs have, and a clock that is counted.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::policy::Policy;
use crate::report::{Share, overhead};
use crate::schedule;
use crate::schedule::dispatcher::{Dispatcher, Reply};
use crate::spec::worker::{Grain, Worker};
use warpweft_core::error::Result;

/// How a simulated farm went.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// Until the last task was done.
    pub seconds: f64,
    /// What each worker did.
    pub shares: Vec<Share>,
    /// The chunks in the order in which they were given: to which worker, which tasks.
    pub chunks: Vec<(usize, Range<u64>)>,
}

impl Simulated {
    /// The part of the workers' time in which none of their tasks ran.
    pub fn overhead(&self) -> f64 {
        overhead(&self.shares, self.seconds)
    }
}

/// Plays `tasks` tasks on `workers`, each of which likes chunks of its `grain`, by `policy`, where a chunk on a worker takes
/// the seconds that `time` says. Asking and handing over take none. O(p · (log u + u)) for p chunks and u workers.
///
/// # Errors
/// As [`Policy::check`].
pub fn simulate(
    tasks: u64,
    workers: &[Worker],
    grain: &dyn Fn(usize) -> Grain,
    policy: &Policy,
    time: &dyn Fn(usize, Range<u64>) -> f64,
) -> Result<Simulated> {
    policy.check()?;
    let mut dispatcher = Dispatcher::new(tasks, workers, schedule::of(policy));
    let mut shares: Vec<_> = workers.iter().copied().map(Share::new).collect();
    let mut chunks = Vec::new();
    let mut seconds = 0.0f64;
    // Times are positive, so their bits are in their order.
    let mut busy: BinaryHeap<Reverse<(u64, usize, u64, u64)>> = BinaryHeap::new();
    let mut took = vec![None; workers.len()];
    let mut idle: Vec<usize> = (0..workers.len()).collect();
    loop {
        for worker in std::mem::take(&mut idle) {
            match dispatcher.request(worker, grain(worker), took[worker].take()) {
                Reply::Chunk(range) => {
                    let lasts = time(worker, range.clone()).max(0.0);
                    let share = &mut shares[worker];
                    share.chunks += 1;
                    share.tasks += range.end - range.start;
                    share.busy += lasts;
                    took[worker] = Some((range.end - range.start, lasts));
                    let end = (seconds + lasts).to_bits();
                    busy.push(Reverse((end, worker, range.start, range.end)));
                    chunks.push((worker, range));
                }
                Reply::Wait => idle.push(worker),
                Reply::End => {}
            }
        }
        let Some(Reverse((end, worker, first, last))) = busy.pop() else { break };
        seconds = f64::from_bits(end);
        dispatcher.settle(worker, first..last, std::iter::empty())?;
        idle.push(worker);
    }
    match dispatcher.fault() {
        Some(fault) => Err(fault),
        None => Ok(Simulated { seconds, shares, chunks }),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::policy::Schedule;
    use crate::spec::worker::Place;

    /// Workers whose speeds are in the given ratio, each alone on its node.
    fn played(tasks: u64, speeds: &[f64], schedule: Schedule) -> Simulated {
        let workers: Vec<_> = (0..speeds.len()).flat_map(|node| Worker::cores(node, 1)).collect();
        let policy = Policy { schedule, seconds: 0.1, ..Policy::default() };
        let time =
            |worker: usize, range: Range<u64>| (range.end - range.start) as f64 / speeds[worker];
        simulate(tasks, &workers, &|_| Grain::ANY, &policy, &time).unwrap()
    }

    /// Of unlike workers, even shares take as long as the slowest one's; master-worker takes what all of them
    /// together would, and the end of the last chunks (Graham 1969).
    #[test]
    fn master_worker_comes_close_to_what_all_speeds_allow() {
        let speeds = [1000.0, 4000.0, 250.0];
        let (tasks, all) = (10_000u64, 5250.0);
        let even = played(tasks, &speeds, Schedule::Eq2);
        assert!((even.seconds - 3333.0 / 250.0).abs() < 0.01, "{}", even.seconds);
        let guided = played(tasks, &speeds, Schedule::MasterWorker);
        let ideal = tasks as f64 / all;
        let last = |worker: usize| {
            let (_, range) = guided.chunks.iter().rfind(|(of, _)| *of == worker).unwrap();
            (range.end - range.start) as f64 / speeds[worker]
        };
        let bound = ideal + (0..3).map(last).fold(0.0, f64::max);
        assert!(guided.seconds >= ideal && guided.seconds <= bound, "{} {bound}", guided.seconds);
        assert!(guided.seconds < 1.02 * ideal, "{} {ideal}", guided.seconds);
        let tasks_of: Vec<_> = guided.shares.iter().map(|share| share.tasks).collect();
        assert!(tasks_of[1] > 3 * tasks_of[0] && tasks_of[0] > 3 * tasks_of[2], "{tasks_of:?}");
    }

    /// Two cores and a GPU ten thousand times as fast: no core ends the farm later than it would end without it.
    #[test]
    fn slow_units_leave_the_end_to_quick_ones() {
        let speeds = [5.0, 5.0, 50_000.0];
        for tasks in [10_000, 60_000, 200_000] {
            let played = played(tasks, &speeds, Schedule::MasterWorker);
            let alone = tasks as f64 / speeds[2];
            // Before anything is known of it, a core takes a task of 0.2 s.
            assert!(played.seconds < alone.max(0.2) + 0.01, "{tasks}: {}", played.seconds);
            assert_eq!(played.shares.iter().map(|share| share.tasks).sum::<u64>(), tasks);
        }
    }

    /// Cores that add a hundredth of what a lane does work; those that add less do until the lane is known, and then
    /// leave the host to it. A lane that likes large chunks waits for no core that doesn't work.
    #[test]
    fn cores_that_add_next_to_nothing_leave_the_host_to_lanes() {
        let place = Place::Lane { gpu: 0, lane: 0 };
        let workers: Vec<_> = Worker::cores(0, 2).chain([Worker { node: 0, place }]).collect();
        let shared = |core: f64| {
            let speeds = [core, core, 10_000.0];
            let time = |worker: usize, range: Range<u64>| {
                (range.end - range.start) as f64 / speeds[worker]
            };
            let grain =
                |worker| if worker < 2 { Grain::ANY } else { Grain { of: 2048, most: u64::MAX } };
            simulate(50_000, &workers, &grain, &Policy::default(), &time).unwrap()
        };
        let tasks = |played: &Simulated| played.shares[0].tasks + played.shares[1].tasks;
        let some = shared(60.0);
        assert!(tasks(&some) > 200, "{:?}", some.shares);
        let none = shared(40.0);
        assert!(tasks(&none) < 50, "{:?}", none.shares);
        assert_eq!(none.shares[2].tasks + tasks(&none), 50_000);
    }

    /// One task takes ten thousand times as long as the others: no other worker waits for it.
    #[test]
    fn one_long_task_keeps_only_its_own_unit() {
        let workers: Vec<_> = Worker::cores(0, 4).collect();
        for long in [0, 500, 999] {
            let time = |_: usize, range: Range<u64>| {
                let all = (range.end - range.start) as f64 * 1e-3;
                if range.contains(&long) { all + 10.0 } else { all }
            };
            let played =
                simulate(1000, &workers, &|_| Grain::ANY, &Policy::default(), &time).unwrap();
            assert!(played.seconds < 10.0 + 0.5, "{}", played.seconds);
            assert_eq!(played.shares.iter().map(|share| share.tasks).sum::<u64>(), 1000);
        }
    }
}
