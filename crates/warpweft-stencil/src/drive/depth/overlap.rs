//! Whether the last time block before a swap is better taken in two parts: tried while the run goes on. Not: how
//! deep swaps are (`search`), or what the two parts are (`halves`).
//!
//! Two parts cost a time block what their rim computes twice, and hide messages behind their core. Which of the two is more
//! depends on how halos travel, so it is timed.

/// Swaps of a trial. The last one's time block is whole either way, as no trial knows what comes after it.
pub(crate) const SWAPS: usize = 4;
/// Trials of each way: a hiccup spoils one.
const ROUNDS: usize = 2;

/// Trials in turn, first of two parts, then of one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ways {
    /// Seconds a step of each.
    seconds: Vec<f64>,
}

impl Ways {
    /// Whether the next trial is of two parts; none after the last.
    pub fn next(&self) -> Option<bool> {
        let done = self.seconds.len();
        (done < 2 * ROUNDS).then_some(done.is_multiple_of(2))
    }

    /// Takes in the seconds a step of that trial.
    pub fn record(&mut self, seconds: f64) {
        self.seconds.push(seconds);
    }

    /// Whether two parts were at least as fast.
    pub fn apart(&self) -> bool {
        let least = |way: usize| {
            self.seconds.iter().skip(way).step_by(2).copied().fold(f64::INFINITY, f64::min)
        };
        least(0) <= least(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What trials of these seconds come to, and how many of the two kinds there were.
    fn tried(seconds: [[f64; 2]; ROUNDS]) -> (bool, [usize; 2]) {
        let (mut ways, mut counts) = (Ways::default(), [0; 2]);
        while let Some(apart) = ways.next() {
            let way = usize::from(!apart);
            ways.record(seconds[counts[way]][way]);
            counts[way] += 1;
        }
        (ways.apart(), counts)
    }

    #[test]
    fn the_faster_way_is_kept_whatever_one_hiccup_says() {
        assert_eq!(tried([[1.7, 2.6], [1.7, 2.7]]), (true, [2, 2]));
        assert!(!tried([[1.02, 1.0], [1.03, 1.01]]).0);
        assert!(tried([[9.0, 2.6], [1.7, 2.6]]).0);
        assert!(!tried([[1.02, 5.0], [1.02, 1.0]]).0);
        assert!(Ways::default().apart(), "two parts, before anything is known");
    }
}
