//! Measures how long something takes, although other programs run on the machine too.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::Result;

/// When to stop searching.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    end: Instant,
}

impl Budget {
    /// A budget of wall-clock time, from now on.
    pub fn of(time: Duration) -> Self {
        Self { end: Instant::now() + time }
    }

    /// This budget, extended to end no earlier than `time` from now.
    pub fn at_least(self, time: Duration) -> Self {
        Self { end: self.end.max(Instant::now() + time) }
    }

    /// Whether it is spent.
    pub fn spent(&self) -> bool {
        Instant::now() >= self.end
    }
}

/// How often to repeat a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repeats {
    /// The largest number of runs, at least 1.
    pub most: usize,
    /// Stop after a run that took more than this many times the best known time. Other work can only slow a
    /// run down, so a candidate is given up only if it is clearly worse.
    pub give_up: f64,
}

impl Default for Repeats {
    /// Five runs; a candidate is given up if it is 1.5 times slower.
    fn default() -> Self {
        Self { most: 5, give_up: 1.5 }
    }
}

/// The times of repeated runs, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The median; the longer of two.
    pub median: f64,
    /// The shortest.
    pub least: f64,
    /// Number of runs.
    pub runs: usize,
}

/// Repeats `run`, which returns seconds; `best` is the median to beat, or infinity. When the budget is spent,
/// the runs so far must do, at least one.
///
/// # Errors
/// The first of `run`.
pub fn measure(
    repeats: Repeats,
    best: f64,
    budget: Budget,
    mut run: impl FnMut() -> Result<f64>,
) -> Result<Measured> {
    let mut times = Vec::with_capacity(repeats.most);
    for _ in 0..repeats.most.max(1) {
        let seconds = run()?;
        times.push(seconds);
        if seconds > repeats.give_up * best || budget.spent() {
            break;
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(Measured { median: times[times.len() / 2], least: times[0], runs: times.len() })
}

/// The median: for an even number the mean of the middle two; 0 of none.
pub fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => 0.5 * (values[n / 2 - 1] + values[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn one_disturbed_run_does_not_move_the_median() {
        let mut times = [1.0, 9.0, 1.1, 0.9, 1.2].into_iter();
        let run = || Ok(times.next().unwrap());
        let measured = measure(Repeats::default(), f64::INFINITY, Budget::of(LONG), run).unwrap();
        assert_eq!(measured, Measured { median: 1.1, least: 0.9, runs: 5 });
    }

    #[test]
    fn of_two_in_the_middle_the_mean_is_the_median() {
        assert_eq!([&[4.0, 1.0, 3.0, 2.0][..], &[9.0, 1.0, 2.0], &[]].map(median), [2.5, 2.0, 0.0]);
    }

    #[test]
    fn the_clearly_slower_is_run_once_and_so_is_all_on_a_spent_budget() {
        let runs = |best, budget| {
            measure(Repeats::default(), best, Budget::of(budget), || Ok(2.0)).unwrap().runs
        };
        assert_eq!((runs(1.0, LONG), runs(2.0, LONG), runs(2.0, Duration::ZERO)), (1, 5, 1));
    }
}
