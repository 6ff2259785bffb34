//! How deep the next swap is, and whether the last time block before it is taken in two parts: fixed, or found while the
//! run goes on.

use crate::drive::depth::overlap::{SWAPS, Ways};
use crate::drive::depth::search::{DepthSearch, Trial};
use warpweft_core::cluster::{Transport, broadcast, gather};
use warpweft_core::error::Result;

/// Seconds between two checks whether kernels are compiled.
const LOOK: f64 = 0.02;

/// What all ranks do until the next order of rank 0.
#[derive(Clone, Copy)]
struct Order {
    depth: usize,
    /// Halo exchanges until then; 0 for all that are left.
    swaps: usize,
    apart: bool,
    overlaps: bool,
    /// Whether ranks wait for kernels.
    awaiting: bool,
}

impl Order {
    /// Time blocks in two parts.
    fn of(depth: usize, swaps: usize) -> Self {
        Self { depth, swaps, apart: true, overlaps: true, awaiting: false }
    }

    fn bytes(self) -> Vec<u8> {
        let flags = [self.apart, self.overlaps, self.awaiting].map(u8::from);
        let numbers = [self.depth as u64, self.swaps as u64].map(u64::to_le_bytes);
        [numbers.concat(), flags.to_vec()].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Self {
        let number = |at: usize| {
            let bytes = bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u64::from_le_bytes) as usize
        };
        let flag = |at: usize| bytes.get(at) == Some(&1);
        let [apart, overlaps, awaiting] = [16, 17, 18].map(flag);
        Self { depth: number(0), swaps: number(8), apart, overlaps, awaiting }
    }
}

/// The depths of one rank's swaps. Rank 0 searches and times; the others follow.
pub(crate) struct Pace<'a> {
    search: Option<Box<dyn DepthSearch + 'a>>,
    /// What is tried at the depth that is kept.
    ways: Option<Ways>,
    apart: bool,
    overlaps: bool,
    /// Whether any rank's fused kernels may still be compiling. Timings of single steps do not
    /// predict theirs.
    awaiting: bool,
    /// Whether the depth or the way may still change.
    open: bool,
    depth: usize,
    swaps_left: usize,
    /// The depth of the present swap, and the deepest since `depth` was chosen.
    taken: usize,
    deepest: usize,
    /// Steps and seconds of the present trial.
    trial: (u64, f64),
}

impl<'a> Pace<'a> {
    /// Always `depth`.
    pub(crate) fn fixed(depth: usize) -> Self {
        Self {
            search: None,
            ways: None,
            apart: true,
            overlaps: true,
            awaiting: false,
            open: false,
            depth,
            swaps_left: 0,
            taken: 0,
            deepest: 0,
            trial: (0, 0.0),
        }
    }

    /// What `search` says; all ranks must come here, and only rank 0's search is asked.
    pub(crate) fn searching(search: Box<dyn DepthSearch + 'a>) -> Self {
        Self { search: Some(search), open: true, ..Self::fixed(1) }
    }

    /// After the search, the overlap trial times the time blocks next to a halo exchange with and
    /// without the split into boundary and interior. Without a trial they are split. The search
    /// and the trial begin when the kernels of so many fused steps are compiled on all ranks.
    pub(crate) fn trying_both_ways(self, fused_steps: usize) -> Self {
        let depth = if self.search.is_some() { fused_steps } else { self.depth };
        Self { ways: Some(Ways::default()), awaiting: true, open: true, depth, ..self }
    }

    /// What to time next, on rank 0.
    fn order(&mut self) -> Order {
        let (steps, seconds) = self.trial;
        let mut timed = (steps > 0).then_some(seconds / steps as f64);
        if let Some(search) = &mut self.search {
            timed.take().into_iter().for_each(|seconds| search.record(seconds));
            if let Some(Trial { depth, swaps }) = search.next() {
                // A trial's last time block is whole, so that all are, to be alike, where both ways are tried after.
                return Order { apart: self.ways.is_none(), ..Order::of(depth, swaps) };
            }
            self.depth = search.best();
            self.search = None;
        }
        let Some(ways) = &mut self.ways else { return Order::of(self.depth, 0) };
        timed.into_iter().for_each(|seconds| ways.record(seconds));
        let (swaps, apart) = ways.next().map_or_else(|| (0, ways.apart()), |apart| (SWAPS, apart));
        Order { apart, overlaps: apart, ..Order::of(self.depth, swaps) }
    }

    /// What to do while ranks wait for kernels, on rank 0: halo exchanges for about [`LOOK`].
    fn wait(&self) -> Order {
        let (steps, seconds) = self.trial;
        let swaps = LOOK * steps as f64 / (seconds * self.depth as f64).max(1e-9);
        Order { awaiting: true, ..Order::of(self.depth, swaps.clamp(1.0, 1e4) as usize) }
    }

    /// The depth of the next halo exchange, at most `most`. `awaits` says whether this rank waits
    /// for a kernel. An exchange that `most` cuts short does not count in a trial. Ranks
    /// communicate only between two trials.
    ///
    /// # Errors
    /// As [`Transport::receive`].
    pub(crate) fn next(&mut self, net: &dyn Transport, most: u64, awaits: bool) -> Result<usize> {
        if self.open && self.swaps_left == 0 {
            let before = self.depth;
            let order = self.agreed(net, awaits)?;
            (self.depth, self.swaps_left) = (order.depth.max(1), order.swaps);
            (self.apart, self.overlaps) = (order.apart, order.overlaps);
            self.awaiting = order.awaiting;
            self.open = self.swaps_left > 0;
            self.trial = (0, 0.0);
            if self.depth != before {
                self.deepest = 0;
            }
        }
        self.taken = most.min(self.depth as u64) as usize;
        self.deepest = self.deepest.max(self.taken);
        if self.taken == self.depth {
            self.swaps_left = self.swaps_left.saturating_sub(1);
        }
        Ok(self.taken)
    }

    /// Rank 0's order, on all ranks.
    fn agreed(&mut self, net: &dyn Transport, awaits: bool) -> Result<Order> {
        // All ranks know whether any may be waiting.
        let all = if self.awaiting { gather(net, vec![u8::from(awaits)])? } else { Vec::new() };
        let mut order = Vec::new();
        if net.rank() == 0 {
            let of_this = if all.iter().any(|one| one == &[1]) {
                self.wait()
            } else {
                if self.awaiting {
                    self.trial = (0, 0.0);
                }
                self.order()
            };
            order = of_this.bytes();
        }
        Ok(Order::from_bytes(&broadcast(net, order)?))
    }

    /// What the present swap and its steps took, and nothing else, in seconds; none for steps after no swap.
    pub(crate) fn took(&mut self, seconds: Option<f64>) {
        if let Some(seconds) = seconds
            && self.taken == self.depth
        {
            self.trial.0 += self.taken as u64;
            self.trial.1 += seconds;
        }
    }

    /// Whether all that the present steps left to a device must be through before [`Pace::took`]: where a trial counts
    /// not both the swap before them, if one was `swapped`, and the one after, which is `following` deep.
    pub(crate) fn settles(&self, swapped: bool, following: usize) -> bool {
        let both = swapped && self.taken == self.depth && following == self.depth;
        self.open && !both
    }

    /// Whether the last time block before the next swap is taken in two parts.
    pub(crate) fn apart(&self) -> bool {
        self.apart
    }

    /// Whether time blocks may begin while the halo exchange before them is under way.
    pub(crate) fn overlaps(&self) -> bool {
        self.overlaps
    }

    /// The depth of the swap after this, if that is known already.
    pub(crate) fn following(&self) -> Option<usize> {
        (!self.open || self.swaps_left > 0).then_some(self.depth)
    }

    /// The depth of the last swaps, but for those cut short; before the first one that which it would have.
    pub(crate) fn depth(&self) -> usize {
        if self.deepest == 0 { self.depth } else { self.deepest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpweft_core::cluster::Alone;

    /// Two swaps of depth 4, then one of 2; what was recorded.
    #[derive(Default)]
    struct Listed(std::rc::Rc<std::cell::RefCell<Vec<f64>>>);

    impl DepthSearch for Listed {
        fn next(&mut self) -> Option<Trial> {
            let trials = [Trial { depth: 4, swaps: 2 }, Trial { depth: 2, swaps: 1 }];
            trials.get(self.0.borrow().len()).copied()
        }
        fn record(&mut self, seconds: f64) {
            self.0.borrow_mut().push(seconds);
        }
        fn best(&self) -> usize {
            2
        }
    }

    #[test]
    fn swaps_cut_short_are_none_of_a_trials_and_no_other_time_is() {
        let listed = Listed::default();
        let recorded = listed.0.clone();
        let mut pace = Pace::searching(Box::new(listed));
        let mut swap = |most: u64, seconds: f64| {
            let depth = pace.next(&Alone, most, false).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(2)); // a checkpoint, say
            pace.took(Some(seconds));
            (depth, pace.depth(), pace.following())
        };
        assert_eq!(swap(3, 9.0), (3, 3, Some(4)), "never ran 4 deep yet");
        assert_eq!(swap(10, 4.0), (4, 4, Some(4)));
        assert_eq!(swap(1, 9.0), (1, 4, Some(4)), "4 is what the last full swap had");
        assert_eq!(swap(10, 12.0), (4, 4, None), "the trial ends here");
        assert!(recorded.borrow().is_empty());
        assert_eq!(swap(10, 1.0), (2, 2, None));
        assert_eq!(*recorded.borrow(), [2.0], "16 seconds for 8 steps");
        assert_eq!(swap(10, 5.0), (2, 2, Some(2)));
        assert_eq!(*recorded.borrow(), [2.0, 0.5]);
    }

    #[test]
    fn both_ways_are_timed_at_the_depth_that_is_kept_and_the_faster_one_stays() {
        for (searched, faster) in [(true, true), (false, false), (true, false), (false, true)] {
            let pace = match searched {
                true => Pace::searching(Box::new(Listed::default())),
                false => Pace::fixed(2),
            };
            let mut pace = pace.trying_both_ways(2);
            let mut swap = || {
                let depth = pace.next(&Alone, 10, false).unwrap();
                let slow = if pace.apart() == faster { 1.0 } else { 1.1 };
                pace.took(Some(slow * depth as f64));
                (depth, pace.apart(), pace.following().is_some())
            };
            // Depths are compared by whole time blocks, and no trial knows what comes after it.
            let mut trials = if searched { vec![(4, false, 2), (2, false, 1)] } else { Vec::new() };
            trials.extend([true, false, true, false].map(|apart| (2, apart, SWAPS)));
            for (depth, apart, swaps) in trials {
                for left in (0..swaps).rev() {
                    assert_eq!(swap(), (depth, apart, left > 0), "{searched}, {faster}");
                }
            }
            for _ in 0..9 {
                assert_eq!(swap(), (2, faster, true), "{searched}");
            }
        }
    }

    #[test]
    fn nothing_is_timed_before_all_kernels_are_there() {
        let listed = Listed::default();
        let recorded = listed.0.clone();
        let mut pace = Pace::searching(Box::new(listed)).trying_both_ways(3);
        let mut steps = 0;
        // Single steps of a millisecond: ranks ask one another after every twenty of them.
        let mut asked = 0;
        while steps < 90 {
            asked += u32::from(pace.following().is_none() || steps == 0);
            assert_eq!(pace.next(&Alone, 100, true).unwrap(), 3);
            assert!(pace.apart() && pace.overlaps());
            pace.took((steps > 0).then_some(3e-3));
            steps += 3;
        }
        assert!((4..9).contains(&asked), "asked {asked} times");
        while pace.following().is_some() {
            pace.next(&Alone, 100, false).unwrap();
        }
        assert_eq!(pace.next(&Alone, 100, false).unwrap(), 4, "the search begins");
        assert!(recorded.borrow().is_empty());
    }

    #[test]
    fn depths_of_single_steps_are_searched_as_they_are_taken() {
        let mut pace = Pace::searching(Box::new(Listed::default()));
        for _ in 0..5 {
            pace.next(&Alone, 10, false).unwrap();
            pace.took(Some(1.0));
            assert!(pace.apart());
        }
    }

    #[test]
    fn trials_of_both_ways_keep_the_depth_that_is_reported() {
        let mut pace = Pace::fixed(5).trying_both_ways(2);
        for _ in 0..SWAPS {
            assert_eq!((pace.next(&Alone, 9, false).unwrap(), pace.depth()), (5, 5));
            pace.took(Some(1.0));
        }
        assert_eq!(
            (pace.next(&Alone, 2, false).unwrap(), pace.depth()),
            (2, 5),
            "what is left of a run"
        );
    }

    #[test]
    fn a_trial_waits_for_what_only_one_of_two_swaps_would_be_charged() {
        let mut pace = Pace::fixed(5).trying_both_ways(2);
        pace.next(&Alone, 9, false).unwrap();
        assert!(pace.settles(false, 5), "no swap came before these steps");
        assert!(!pace.settles(true, 5));
        assert!(pace.settles(true, 3), "a swap that is cut short is not counted");
        pace.next(&Alone, 3, false).unwrap();
        assert!(pace.settles(true, 5), "nor is this one");
        let mut settled = Pace::fixed(5);
        settled.next(&Alone, 9, false).unwrap();
        assert!(!settled.settles(false, 3), "nothing is timed");
    }
}
