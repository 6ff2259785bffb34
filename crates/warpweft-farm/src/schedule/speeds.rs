//! The speeds of all workers, kept so that what a schedule asks costs O(log b) for b classes of speed, whatever the
//! number of workers. Not: how a speed is measured ([`WorkerState`]).
//!
//! Workers are classed by the seconds of their least chunk, eight classes an octave; sums over classes are Fenwick
//! trees (Fenwick, "A new data structure for cumulative frequency tables", Software: Practice and Experience 24,
//! 1994). Sums are of whole numbers, so what is added and taken away again leaves nothing.

use crate::spec::worker::WorkerState;

/// Classes an octave: workers within 9 % of one another are alike.
const FINE: f64 = 8.0;
/// Classes, a power of two: least chunks of 2^-40 to 2^24 seconds.
const CLASSES: usize = 512;
/// Seconds of the first class, as a power of two.
const FIRST: f64 = -40.0;
/// Speeds are counted in so many parts of a task a second.
const PARTS: f64 = 1e6;

/// Sums over the workers that there still are.
#[derive(Debug, Default)]
pub struct Speeds {
    /// What each worker adds to the sums.
    known: Vec<Option<Known>>,
    cores: Kind,
    lanes: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Known {
    core: bool,
    speed: u64,
    class: usize,
}

/// Workers of one kind.
#[derive(Debug, Default)]
struct Kind {
    /// How many there are.
    count: usize,
    total: u128,
    /// The Fenwick tree of speeds by class, from 1.
    sums: Vec<u128>,
}

/// Workers that are quicker than another with their least chunks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quicker {
    /// Tasks a second of all of them.
    pub speed: f64,
    /// Seconds of the longest of their least chunks, at most.
    pub last: f64,
}

impl Speeds {
    /// Of `worker` this is known now, and that its least chunk has so many tasks.
    pub fn learn(&mut self, worker: usize, state: &WorkerState, least: u64) {
        if self.known.len() <= worker {
            self.known.resize(worker + 1, None);
        }
        let speed = state.speed.filter(|_| !state.lost);
        let now = speed.map(|speed| Known {
            core: state.is_core(),
            speed: (speed * PARTS) as u64,
            class: class(least.max(1) as f64 / speed),
        });
        let before = std::mem::replace(&mut self.known[worker], now);
        if before == now {
            return;
        }
        if let Some(Known { core, speed, class }) = before {
            let kind = self.kind(core);
            kind.count -= 1;
            kind.change(class, |sum| *sum -= u128::from(speed));
        }
        if let Some(Known { core, speed, class }) = now {
            let kind = self.kind(core);
            kind.count += 1;
            kind.change(class, |sum| *sum += u128::from(speed));
        }
    }

    /// Tasks a second of all workers whose speed is known.
    pub fn of_all(&self) -> f64 {
        self.of_cores() + self.of_lanes()
    }

    /// Those of all cores.
    pub fn of_cores(&self) -> f64 {
        self.cores.total as f64 / PARTS
    }

    /// Tasks a second of so many cores that are like those whose speed is known. `None`: none is.
    pub fn of_like_cores(&self, cores: usize) -> Option<f64> {
        let known = self.cores.count;
        (known > 0).then(|| self.of_cores() * cores as f64 / known as f64)
    }

    /// Those of all lanes.
    pub fn of_lanes(&self) -> f64 {
        self.lanes.total as f64 / PARTS
    }

    /// The workers, with or without the cores, whose least chunk takes less than so many `seconds`.
    pub fn quicker(&self, seconds: f64, with_cores: bool) -> Option<Quicker> {
        let below = class(seconds);
        let kinds = [Some(&self.lanes), Some(&self.cores).filter(|_| with_cores)];
        let (mut speed, mut last) = (0, 0);
        for kind in kinds.into_iter().flatten() {
            let sum = kind.below(below);
            if sum > 0 {
                speed += sum;
                last = last.max(kind.last(sum));
            }
        }
        let end = 2f64.powf((last + 1) as f64 / FINE + FIRST);
        (speed > 0).then(|| Quicker { speed: speed as f64 / PARTS, last: end.min(seconds) })
    }

    fn kind(&mut self, core: bool) -> &mut Kind {
        if core { &mut self.cores } else { &mut self.lanes }
    }
}

/// The class of a least chunk of so many seconds.
fn class(seconds: f64) -> usize {
    // From floating point, saturating.
    (((seconds.log2() - FIRST) * FINE) as usize).min(CLASSES - 1)
}

impl Kind {
    fn change(&mut self, class: usize, change: impl Fn(&mut u128)) {
        self.sums.resize(CLASSES + 1, 0);
        change(&mut self.total);
        let mut at = class + 1;
        while at <= CLASSES {
            change(&mut self.sums[at]);
            at += at & at.wrapping_neg();
        }
    }

    /// The sum over the classes below one.
    fn below(&self, class: usize) -> u128 {
        let (mut sum, mut at) = (0, class);
        while at > 0 {
            sum += self.sums.get(at).copied().unwrap_or(0);
            at &= at - 1;
        }
        sum
    }

    /// The class at which the sum from the first on comes to `sum`, which is not 0.
    fn last(&self, mut sum: u128) -> usize {
        let (mut at, mut step) = (0, CLASSES);
        while step > 0 {
            match self.sums.get(at + step) {
                Some(&part) if part < sum => {
                    at += step;
                    sum -= part;
                }
                _ => {}
            }
            step /= 2;
        }
        at
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::spec::worker::{Place, Worker};

    proptest! {
        /// The same as sums over a plain list, after any changes.
        #[test]
        fn sums_are_those_of_a_list(
            steps in prop::collection::vec((0usize..6, 0u32..40, 1u64..100), 1..60),
            seconds in 0u32..40,
        ) {
            let place = |worker: usize| match worker % 2 {
                0 => Place::Core(worker),
                _ => Place::Lane { gpu: 0, lane: worker },
            };
            let mut states: Vec<_> =
                (0..6).map(|k| WorkerState::new(Worker { node: 0, place: place(k) })).collect();
            let (mut speeds, mut least) = (Speeds::default(), vec![1; 6]);
            for (worker, power, tasks) in steps {
                // A class apart from one another, so that the list and the classes compare alike.
                states[worker].speed = (power > 0).then(|| 2f64.powi(power as i32 - 20) * tasks as f64);
                states[worker].lost = power == 39;
                least[worker] = tasks;
                speeds.learn(worker, &states[worker], tasks);
            }
            let there = || (0..6).filter(|&k| !states[k].lost && states[k].speed.is_some());
            let speed = |k: usize| states[k].speed.unwrap();
            let all: f64 = there().map(speed).sum();
            prop_assert!((speeds.of_all() - all).abs() <= 1e-5 + 1e-9 * all);
            let own = 2f64.powi(20 - seconds as i32);
            for with_cores in [false, true] {
                let quicker = || there().filter(|&k| {
                    (with_cores || !states[k].is_core()) && least[k] as f64 / speed(k) < own
                });
                let expect: f64 = quicker().map(speed).sum();
                let last = quicker().map(|k| least[k] as f64 / speed(k)).fold(0.0, f64::max);
                match speeds.quicker(own, with_cores) {
                    None => prop_assert!(expect < 1e-4),
                    Some(found) => {
                        prop_assert!((found.speed - expect).abs() <= 1e-5 + 1e-9 * expect);
                        prop_assert!(found.last >= last * 0.999 && found.last <= last * 1.1);
                    }
                }
            }
        }
    }
}
