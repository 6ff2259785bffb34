//! Which of the kernels that are there takes the next sweep. A kernel that arrives is tried in a few sweeps, then the
//! one that was fastest goes on. Not: how kernels come (`arrivals`).

/// Sweeps in which a kernel is tried: the first also makes its graph.
const TRIALS: u32 = 3;
/// The kernel of single steps.
pub(in crate::cuda) const SINGLE: usize = 0;

/// Kernels by the order in which they came; [`SINGLE`] was there before the others.
#[derive(Clone, Debug)]
pub(in crate::cuda) struct Contest {
    kernels: Vec<Tried>,
}

#[derive(Clone, Copy, Debug)]
struct Tried {
    sweeps: u32,
    /// Seconds a step: the least of all its sweeps.
    seconds: f64,
}

impl Contest {
    /// Of single steps alone, which take no less than `least` seconds each.
    pub fn new(least: f64) -> Self {
        Self { kernels: vec![Tried { sweeps: 0, seconds: least }] }
    }

    /// A kernel more; its number.
    pub fn enter(&mut self) -> usize {
        self.kernels.push(Tried { sweeps: 0, seconds: f64::INFINITY });
        self.kernels.len() - 1
    }

    /// The first kernel that was not tried enough. Single steps were to be seen before others came, or need not be while
    /// others are faster than they can be.
    fn untried(&self) -> Option<usize> {
        (1..self.kernels.len()).find(|&at| self.kernels[at].sweeps < TRIALS)
    }

    /// Whether the next sweep tries a kernel.
    pub fn tries(&self) -> bool {
        self.untried().is_some()
    }

    /// The kernel that takes the next sweep.
    pub fn next(&self) -> usize {
        if let Some(new) = self.untried() {
            return new;
        }
        let seconds = |at: &usize| self.kernels[*at].seconds;
        let all = 0..self.kernels.len();
        all.min_by(|a, b| seconds(a).total_cmp(&seconds(b))).unwrap_or(SINGLE)
    }

    /// Notes that a sweep by this kernel took so many seconds a step.
    pub fn took(&mut self, kernel: usize, seconds: f64) {
        let Some(it) = self.kernels.get_mut(kernel) else { return };
        // What single steps were guessed to take at least gives way to what they took.
        let guessed = kernel == SINGLE && it.sweeps == 0;
        it.seconds = if guessed { seconds } else { it.seconds.min(seconds) };
        it.sweeps += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sweeps by kernels that take so many seconds; the kernels that took them.
    fn played(contest: &mut Contest, seconds: &[f64], sweeps: usize) -> Vec<usize> {
        let one = |_| {
            let next = contest.next();
            contest.took(next, seconds[next]);
            next
        };
        (0..sweeps).map(one).collect()
    }

    #[test]
    fn a_kernel_that_arrives_is_tried_and_the_fastest_goes_on() {
        let mut contest = Contest::new(1.0);
        assert_eq!(played(&mut contest, &[2.0], 2), [0, 0]);
        assert!(!contest.tries());
        contest.enter();
        assert!(contest.tries());
        assert_eq!(played(&mut contest, &[2.0, 0.5], 5), [1; 5]);
        assert!(!contest.tries());
        contest.enter();
        assert_eq!(played(&mut contest, &[2.0, 0.5, 0.7], 5), [2, 2, 2, 1, 1]);
        contest.enter();
        assert_eq!(played(&mut contest, &[2.0, 0.5, 0.7, 0.3], 5), [3; 5]);
    }

    #[test]
    fn single_steps_come_back_where_nothing_is_faster() {
        let mut contest = Contest::new(1.0);
        contest.enter();
        // Slower than single steps can be: these are seen again, and are slower still.
        assert_eq!(played(&mut contest, &[3.0, 1.5], 5), [1, 1, 1, 0, 1]);
        let mut contest = Contest::new(1.0);
        contest.enter();
        assert_eq!(played(&mut contest, &[1.2, 1.5], 6), [1, 1, 1, 0, 0, 0]);
    }
}
