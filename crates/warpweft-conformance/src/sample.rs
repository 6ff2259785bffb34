//! Which cases of a suite are run: all of them, or as many as time allows in an order that a seed gives.
//!
//! A suite asks its [`Pick`] before every case, in the same order whatever is picked, so that a case has a number.

use std::time::Instant;

use super::wavefront::Inputs;

/// What a suite asks whether to run its next case.
pub struct Pick<'a> {
    which: Which<'a>,
    met: usize,
    ran: usize,
}

enum Which<'a> {
    All,
    None,
    /// One of so many in turn: this number.
    Share(usize, usize),
    /// Those marked, until the clock says so.
    These(&'a [bool], Instant),
}

impl<'a> Pick<'a> {
    fn of(which: Which<'a>) -> Self {
        Self { which, met: 0, ran: 0 }
    }

    /// Every case.
    pub fn all() -> Self {
        Self::of(Which::All)
    }

    /// No case: to learn how many there are.
    pub fn none() -> Self {
        Self::of(Which::None)
    }

    /// Case number `first`, and every `of`th after it: a share of all cases for each of `of` threads.
    pub fn share(first: usize, of: usize) -> Self {
        Self::of(Which::Share(first, of))
    }

    /// Whether the next case is to be run. It is passed.
    pub fn take(&mut self) -> bool {
        let taken = self.wants(1);
        self.met += 1;
        self.ran += usize::from(taken);
        taken
    }

    /// Whether one of the next `count` cases is to be run; they are still to come.
    pub fn wants(&self, count: usize) -> bool {
        match self.which {
            Which::All => true,
            Which::None => false,
            Which::Share(first, of) => {
                (self.met..self.met + count).any(|case| case % of.max(1) == first)
            }
            Which::These(chosen, until) => {
                let next = self.met.min(chosen.len())..(self.met + count).min(chosen.len());
                chosen[next].contains(&true) && (self.ran == 0 || Instant::now() < until)
            }
        }
    }

    /// Passes the next `count` cases.
    pub fn pass(&mut self, count: usize) {
        self.met += count;
    }

    /// Whether cases are only counted.
    pub fn counts(&self) -> bool {
        matches!(self.which, Which::None)
    }

    /// How many cases have been passed, run or not.
    pub fn met(&self) -> usize {
        self.met
    }

    /// How many were to be run.
    pub fn ran(&self) -> usize {
        self.ran
    }
}

/// So many cases tell how long one takes.
const FIRST: usize = 4;

/// Has `suite`, which has so many cases, run them in the order of `seed` until `until`, at least one; how many it
/// ran. The suite is gone through several times, each time for some of its cases.
pub fn sample(
    cases: usize,
    seed: u64,
    until: Instant,
    mut suite: impl FnMut(&mut Pick<'_>),
) -> usize {
    let order = shuffled(cases, seed);
    let begin = Instant::now();
    let (mut done, mut ran, mut batch) = (0, 0, FIRST.min(cases));
    while batch > 0 {
        let mut chosen = vec![false; cases];
        order[done..done + batch].iter().for_each(|&case| chosen[case] = true);
        let mut pick = Pick::of(Which::These(&chosen, until));
        suite(&mut pick);
        ran += pick.ran();
        done += batch;
        // Less than there may be time for, since cases differ.
        let each = begin.elapsed().as_secs_f64() / done as f64;
        let left = until.saturating_duration_since(Instant::now()).as_secs_f64();
        batch = ((0.75 * left / each) as usize).min(8 * done).min(cases - done);
    }
    ran
}

/// The numbers below `count` in an order of `seed`'s (Fisher and Yates).
fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut random = Inputs(seed);
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, (random.bits() % (last as u64 + 1)) as usize);
    }
    order
}
