//! Search strategies: how to spend a budget of measurements on a space.

use std::collections::HashMap;

use super::{Budget, Measured, Space};
use crate::error::Result;

/// The result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The best candidate's values.
    pub values: Vec<usize>,
    /// Its measured times.
    pub measured: Measured,
    /// Candidates measured.
    pub tried: usize,
    /// Whether the strategy ended before the budget was spent.
    pub complete: bool,
}

/// Measures a candidate; the second argument is the median to beat. `None` means that it can't run or is
/// wrong, and must not win.
pub type Trial<'a> = dyn FnMut(&[usize], f64) -> Result<Option<Measured>> + 'a;

struct Best {
    known: HashMap<Vec<usize>, Option<f64>>,
    found: Option<(Vec<usize>, Measured)>,
}

impl Best {
    fn new() -> Self {
        Self { known: HashMap::new(), found: None }
    }

    fn median(&self) -> f64 {
        self.found.as_ref().map_or(f64::INFINITY, |(_, measured)| measured.median)
    }

    /// Measures a candidate unless that was done; returns whether it is the new best.
    fn consider(&mut self, values: Vec<usize>, trial: &mut Trial<'_>) -> Result<bool> {
        if self.known.contains_key(&values) {
            return Ok(false);
        }
        let measured = trial(&values, self.median())?;
        self.known.insert(values.clone(), measured.map(|m| m.median));
        match measured {
            Some(measured) if measured.median < self.median() => {
                self.found = Some((values, measured));
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn found(self, complete: bool) -> Option<Found> {
        let tried = self.known.len();
        self.found.map(|(values, measured)| Found { values, measured, tried, complete })
    }
}

/// Measures every candidate, as far as the budget allows, and the `first` ones whatever it allows. Takes one
/// measurement a candidate. `None` if no candidate could run.
///
/// # Errors
/// The first of `trial`.
pub fn exhaustive(
    space: &Space,
    (budget, first): (Budget, usize),
    trial: &mut Trial<'_>,
) -> Result<Option<Found>> {
    let mut best = Best::new();
    for values in space.all() {
        if budget.spent() && !best.known.is_empty() && best.known.len() >= first {
            return Ok(best.found(false));
        }
        best.consider(values, trial)?;
    }
    Ok(best.found(true))
}

/// Hill climbing along one axis at a time, from the candidate nearest to `start`: on each axis it continues
/// in the direction that improves, and ends when no axis does. The start is measured even if the budget is
/// zero. `None` if no candidate could run.
///
/// # Errors
/// The first of `trial`.
pub fn climb(
    space: &Space,
    start: &[usize],
    budget: Budget,
    trial: &mut Trial<'_>,
) -> Result<Option<Found>> {
    let mut best = Best::new();
    let mut here = space.nearest(start);
    if let Some(values) = space.at(&here) {
        best.consider(values, trial)?;
    }
    loop {
        let mut moved = false;
        for axis in 0..here.len() {
            for direction in [1, -1] {
                loop {
                    if budget.spent() {
                        return Ok(best.found(false));
                    }
                    let mut there = here.clone();
                    let Some(next) = there[axis].checked_add_signed(direction) else { break };
                    there[axis] = next;
                    let Some(values) = space.at(&there) else { break };
                    if !best.consider(values, trial)? {
                        break;
                    }
                    here = there;
                    moved = true;
                }
            }
        }
        if !moved {
            return Ok(best.found(true));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::tune::Axis;

    fn space() -> Space {
        let axis = |name| Axis { name, values: (0..10).collect() };
        Space::new(vec![axis("a"), axis("b")], |v| v != [6, 6])
    }

    /// A bowl with its minimum at (7, 2).
    fn bowl(values: &[usize]) -> Option<Measured> {
        let (a, b) = (values[0] as f64 - 7.0, values[1] as f64 - 2.0);
        let median = 1.0 + a * a + b * b;
        Some(Measured { median, least: median, runs: 1 })
    }

    #[test]
    fn climbing_finds_the_bottom_of_a_bowl_in_few_trials() {
        let budget = Budget::of(Duration::from_secs(60));
        let found = climb(&space(), &[1, 9], budget, &mut |v, _| Ok(bowl(v))).unwrap().unwrap();
        assert_eq!(found.values, [7, 2]);
        assert!(found.complete && found.tried < 30, "{found:?}");
        let all = exhaustive(&space(), (budget, 0), &mut |v, _| Ok(bowl(v))).unwrap().unwrap();
        assert_eq!((all.values, all.tried), (vec![7, 2], 99));
    }

    #[test]
    fn a_spent_budget_still_answers_and_wrong_candidates_never_win() {
        let spent = Budget::of(Duration::ZERO);
        let found = climb(&space(), &[1, 9], spent, &mut |v, _| Ok(bowl(v))).unwrap().unwrap();
        assert_eq!((found.values, found.tried, found.complete), (vec![1, 9], 1, false));
        let budget = Budget::of(Duration::from_secs(60));
        let wrong = |v: &[usize], _| Ok(bowl(v).filter(|_| v[0] != 7));
        let found = exhaustive(&space(), (budget, 0), &mut { wrong }).unwrap().unwrap();
        assert_ne!(found.values[0], 7);
        assert_eq!(exhaustive(&space(), (budget, 0), &mut |_, _| Ok(None)).unwrap(), None);
    }
}
