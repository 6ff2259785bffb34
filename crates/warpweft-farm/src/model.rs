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
    /// The fraction of the workers' time in which they ran no task.
    pub fn overhead(&self) -> f64 {
        overhead(&self.shares, self.seconds)
    }
}

/// Simulates a farm of `tasks` tasks on `workers`, each with its preferred chunk sizes (`grain`), under `policy`. `time`
/// gives the seconds that a chunk takes on a worker; requests and the delivery of outputs take no time. O(p · log u) for p
/// requests of u workers.
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
    let mut played = Played {
        dispatcher: Dispatcher::new(tasks, workers, schedule::of(policy)),
        shares: workers.iter().copied().map(Share::new).collect(),
        chunks: Vec::new(),
        doing: vec![Doing::Nothing; workers.len()],
        events: BinaryHeap::new(),
        numbers: vec![0; workers.len()],
        now: 0.0,
        grain,
        time,
    };
    (0..workers.len()).for_each(|worker| played.request(worker, None));
    while !played.dispatcher.ledger().is_settled() {
        let Some(Reverse((at, worker, number))) = played.events.pop() else { break };
        if number == played.numbers[worker] {
            played.now = f64::from_bits(at);
            played.next(worker)?;
        }
    }
    played.end()
}

/// What a simulated worker does.
#[derive(Clone, Debug)]
enum Doing {
    /// It has ended.
    Nothing,
    /// It waits for another reply.
    Waits,
    /// It has run this chunk since then.
    Runs(Range<u64>, f64),
}

/// A farm at some time.
struct Played<'a> {
    dispatcher: Dispatcher,
    shares: Vec<Share>,
    chunks: Vec<(usize, Range<u64>)>,
    doing: Vec<Doing>,
    /// The bits of a time, which are in its order; a worker; which of its events it is.
    events: BinaryHeap<Reverse<(u64, usize, u64)>>,
    /// Of each worker's last event: those before are void.
    numbers: Vec<u64>,
    now: f64,
    grain: &'a dyn Fn(usize) -> Grain,
    time: &'a dyn Fn(usize, Range<u64>) -> f64,
}

impl Played<'_> {
    /// `worker` has come to the end of its chunk or of its wait.
    fn next(&mut self, worker: usize) -> Result<()> {
        let mut took = None;
        if let Doing::Runs(range, begun) =
            std::mem::replace(&mut self.doing[worker], Doing::Nothing)
        {
            let seen = self.dispatcher.generation();
            let (tasks, lasted) = (range.end - range.start, self.now - begun);
            let settled = self.dispatcher.settle(worker, range, std::iter::empty())?;
            self.shares[worker].ran(tasks, settled, lasted);
            took = Some((tasks, lasted));
            self.wake(seen);
        }
        self.request(worker, took);
        Ok(())
    }

    fn request(&mut self, worker: usize, took: Option<(u64, f64)>) {
        let seen = self.dispatcher.generation();
        self.numbers[worker] += 1;
        let reply = self.dispatcher.request(worker, (self.grain)(worker), took, self.now);
        let next = match reply {
            Reply::Chunk(range) => {
                self.chunks.push((worker, range.clone()));
                let lasts = (self.time)(worker, range.clone()).max(0.0);
                self.doing[worker] = Doing::Runs(range, self.now);
                self.now + lasts
            }
            Reply::Wait(until) => {
                self.doing[worker] = Doing::Waits;
                until.max(self.now)
            }
            Reply::End => f64::INFINITY,
        };
        if next.is_finite() {
            self.events.push(Reverse((next.to_bits(), worker, self.numbers[worker])));
        }
        self.wake(seen);
    }

    /// All that wait ask again, now, if they may get another reply than in the generation that was `seen`.
    fn wake(&mut self, seen: u64) {
        if self.dispatcher.generation() == seen {
            return;
        }
        for worker in 0..self.doing.len() {
            if let Doing::Waits = self.doing[worker] {
                self.numbers[worker] += 1;
                self.events.push(Reverse((self.now.to_bits(), worker, self.numbers[worker])));
            }
        }
    }

    fn end(mut self) -> Result<Simulated> {
        for (doing, share) in self.doing.into_iter().zip(&mut self.shares) {
            if let Doing::Runs(range, begun) = doing {
                share.ran(range.end - range.start, 0, self.now - begun);
            }
        }
        match self.dispatcher.fault() {
            Some(fault) => Err(fault),
            None => Ok(Simulated { seconds: self.now, shares: self.shares, chunks: self.chunks }),
        }
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
            // Before anything is known of it, the first core takes a task of 0.2 s.
            assert!(played.seconds < alone.max(0.2) + 0.01, "{tasks}: {}", played.seconds);
            assert_eq!(played.shares.iter().map(|share| share.tasks).sum::<u64>(), tasks);
        }
    }

    /// Cores that add a twentieth of what a lane does work; of those that add less only the first does. A lane that
    /// likes large chunks waits for no core that doesn't work.
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
        let some = shared(300.0);
        assert!(tasks(&some) > 1000, "{:?}", some.shares);
        let none = shared(200.0);
        // The second core works from the end of the trial on until the lane's first chunk of 0.2 s is done.
        assert!(none.shares[1].tasks < 50, "{:?}", none.shares);
        assert!(none.shares[0].tasks > 200, "{:?}", none.shares);
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

    /// A lane of 1 ms a task and two cores of 100 s: neither's first task, begun when nothing was known of its speed,
    /// sets the end.
    #[test]
    fn first_tasks_on_workers_of_unknown_speed_do_not_set_the_end() {
        let place = Place::Lane { gpu: 0, lane: 0 };
        let workers: Vec<_> = Worker::cores(0, 2).chain([Worker { node: 0, place }]).collect();
        let time = |worker: usize, range: Range<u64>| {
            (range.end - range.start) as f64 * [100.0, 100.0, 1e-3][worker]
        };
        let run = |backups: bool| {
            let policy = Policy { backups, ..Policy::default() };
            simulate(1000, &workers, &|_| Grain::ANY, &policy, &time).unwrap()
        };
        let played = run(true);
        assert!(played.seconds <= 1.1, "{}", played.seconds);
        assert_eq!(played.shares.iter().map(|share| share.tasks).sum::<u64>(), 1000);
        // The second core begins when the trial of the first is over.
        assert!((100.0..=100.1).contains(&run(false).seconds));
    }

    /// Equal workers copy nothing of one another, whatever the number of tasks.
    #[test]
    fn equal_workers_run_no_task_twice() {
        let workers: Vec<_> = Worker::cores(0, 7).collect();
        let time = |_: usize, range: Range<u64>| (range.end - range.start) as f64 * 0.01;
        for schedule in [Schedule::MasterWorker, Schedule::Single] {
            for tasks in [1, 6, 8, 100, 1001, 12_345] {
                let policy = Policy { schedule, ..Policy::default() };
                let played = simulate(tasks, &workers, &|_| Grain::ANY, &policy, &time).unwrap();
                let ran: u64 = played.chunks.iter().map(|(_, range)| range.end - range.start).sum();
                assert_eq!(ran, tasks, "{schedule:?}");
                let even = tasks.div_ceil(7) as f64 * 0.01;
                assert!(played.seconds < 1.02 * even + 0.011, "{tasks}: {}", played.seconds);
            }
        }
    }

    /// Ten thousand workers of two speeds: the end is even, and one that is slower than its first chunks were does not
    /// set it.
    #[test]
    fn many_workers_end_together() {
        let workers: Vec<_> = Worker::cores(0, 10_000).collect();
        let time = |worker: usize, range: Range<u64>| {
            let tasks = (range.end - range.start) as f64;
            match (worker, range.start > 1_500_000) {
                (17, true) => 1e3 * tasks,
                _ => tasks * [0.01, 0.03][worker % 2],
            }
        };
        let tasks = 2_000_000;
        let played = simulate(tasks, &workers, &|_| Grain::ANY, &Policy::default(), &time).unwrap();
        let ideal = tasks as f64 / (5000.0 * (100.0 + 100.0 / 3.0));
        assert!(played.seconds < ideal + Policy::default().seconds, "{} {ideal}", played.seconds);
        assert_eq!(played.shares.iter().map(|share| share.tasks).sum::<u64>(), tasks);
    }
}
