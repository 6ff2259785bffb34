//! How much of each suite is run: all, or a sample that ends in time.

use std::time::{Duration, Instant};

use warpweft_conformance::{Pick, sample};
use warpweft_terminal::output::say;

use super::count::Count;

/// Of the time asked for, what suites get: the rest goes to setting up and to the last case of each.
const USED: f64 = 0.9;

/// Time that suites share in proportion to their weights, or none where all cases are run.
pub struct Budget {
    /// Until when, and the weight of the suites that are still to come.
    until: Option<(Instant, f64)>,
    seed: u64,
}

impl Budget {
    /// All cases.
    pub fn all() -> Self {
        Self { until: None, seed: 0 }
    }

    /// A sample of each suite within `seconds`, by `seed`.
    pub fn sample(seconds: f64, seed: u64, weight: f64) -> Self {
        let until = Instant::now() + Duration::from_secs_f64(USED * seconds);
        Self { until: Some((until, weight)), seed }
    }

    /// A suite of that weight is not run: others have its time.
    pub fn skip(&mut self, weight: f64) {
        if let Some((_, left)) = &mut self.until {
            *left -= weight;
        }
    }

    /// When the time of a suite that begins now ends.
    fn end(&mut self, weight: f64) -> Option<Instant> {
        let (until, left) = self.until.as_mut()?;
        let now = Instant::now();
        let share = (weight / left.max(weight)).min(1.0);
        *left -= weight;
        Some(now + until.saturating_duration_since(now).mul_f64(share))
    }

    /// Runs the suite `name`, which asks for each case whether it is picked, and says how many of how many it ran.
    pub fn run(
        &mut self,
        name: &str,
        weight: f64,
        count: &mut Count,
        mut suite: impl FnMut(&mut Pick<'_>, &mut Count),
    ) {
        say(name);
        let mut whole = Pick::none();
        suite(&mut whole, count);
        let cases = whole.met();
        let (ran, seed) = match self.end(weight) {
            None => {
                count.begin(cases);
                let mut pick = Pick::all();
                suite(&mut pick, count);
                (pick.ran(), String::new())
            }
            Some(until) => {
                let ran = sample(cases, self.seed, until, |pick| suite(pick, count));
                (ran, format!(" (seed {})", self.seed))
            }
        };
        say(&format!("  ran {} of {} cases{seed}", grouped(ran), grouped(cases)));
    }
}

/// A number with its thousands apart.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut text = digits[..first].to_string();
    for (at, digit) in digits[first..].char_indices() {
        if at % 3 == 0 && !text.is_empty() {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        let texts = [0, 999, 1_234, 16_950, 1_000_000].map(grouped);
        assert_eq!(texts, ["0", "999", "1,234", "16,950", "1,000,000"]);
    }

    #[test]
    fn suites_share_the_time_by_their_weights() {
        let mut budget = Budget::sample(1000.0, 7, 4.0);
        let left = |end: Option<Instant>| {
            end.unwrap().saturating_duration_since(Instant::now()).as_secs_f64()
        };
        assert!((left(budget.end(1.0)) - 225.0).abs() < 5.0);
        budget.skip(1.0);
        assert!((left(budget.end(2.0)) - 900.0).abs() < 5.0);
        assert!(Budget::all().end(1.0).is_none());
    }
}
