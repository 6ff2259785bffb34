//! Even shares: EQ1, the same for every node, and EQ2, the same for every unit (TuCCompi, section 3.4).

use std::collections::BTreeMap;
use std::ops::Range;

use super::guided::pack;
use super::{Ask, Scheduler};
use crate::policy::PackSize;
use crate::ranges::Ranges;

/// How many of so many tasks each unit gets, by the node of each.
type Rule = fn(u64, &[usize]) -> Vec<u64>;

/// EQ1: every node has the same number of `tasks`, and its units that evenly; numbers differ by one where they
/// must. `nodes` is the node of each unit; what is returned adds up to `tasks`.
pub fn eq1(tasks: u64, nodes: &[usize]) -> Vec<u64> {
    let mut units: BTreeMap<usize, u64> = BTreeMap::new();
    nodes.iter().for_each(|&node| *units.entry(node).or_default() += 1);
    let count = units.len() as u64;
    let mut shares: BTreeMap<usize, (u64, u64, u64)> = BTreeMap::new();
    for (p, (&node, &units)) in units.iter().enumerate() {
        shares.insert(node, (part(tasks, count, p as u64), units, 0));
    }
    let next = nodes.iter().map(|node| {
        shares.get_mut(node).map_or(0, |(tasks, units, unit)| {
            *unit += 1;
            part(*tasks, *units, *unit - 1)
        })
    });
    next.collect()
}

/// EQ2: every unit has the same number of `tasks`, or one more where it must. What is returned adds up to
/// `tasks`.
pub fn eq2(tasks: u64, nodes: &[usize]) -> Vec<u64> {
    (0..nodes.len() as u64).map(|unit| part(tasks, nodes.len() as u64, unit)).collect()
}

/// Part number `k` of `tasks` in `parts`.
fn part(tasks: u64, parts: u64, k: u64) -> u64 {
    let until = |k: u64| u128::from(tasks) * u128::from(k) / u128::from(parts);
    (until(k + 1) - until(k)) as u64
}

/// Shares by a rule, handed out in packs. What has no owner is shared among the units there are, by the same
/// rule: everything at first, later what lost units leave.
#[derive(Debug)]
pub struct Equal {
    rule: Rule,
    pack: PackSize,
    seconds: f64,
    /// What each unit has still to get.
    shares: Vec<Ranges>,
}

impl Equal {
    /// Shares by `rule`.
    pub fn new(rule: Rule, pack: PackSize, seconds: f64) -> Self {
        Self { rule, pack, seconds, shares: Vec::new() }
    }

    fn share(&mut self, ask: &Ask<'_>) {
        let mut unowned = ask.free.clone();
        for range in self.shares.iter().flat_map(Ranges::iter) {
            unowned.remove(range);
        }
        let there: Vec<_> = (0..ask.units.len()).filter(|&unit| !ask.units[unit].lost).collect();
        let nodes: Vec<_> = there.iter().map(|&unit| ask.units[unit].unit.node).collect();
        for (unit, mut tasks) in there.into_iter().zip((self.rule)(unowned.count(), &nodes)) {
            while let Some(first) = unowned.first().filter(|_| tasks > 0) {
                let piece = first.start..first.end.min(first.start.saturating_add(tasks));
                tasks -= piece.end - piece.start;
                unowned.remove(piece.clone());
                self.shares[unit].insert(piece);
            }
        }
    }
}

impl Scheduler for Equal {
    fn next(&mut self, ask: &Ask<'_>) -> Option<Range<u64>> {
        self.shares.resize(ask.units.len(), Ranges::default());
        for (share, unit) in self.shares.iter_mut().zip(ask.units) {
            if unit.lost {
                *share = Ranges::default();
            }
        }
        if self.shares.iter().map(Ranges::count).sum::<u64>() < ask.free.count() {
            self.share(ask);
        }
        let first = self.shares[ask.unit].first()?;
        let tasks = pack(ask, self.pack, self.seconds, f64::INFINITY).min(first.end - first.start);
        let pack = first.start..first.start + tasks;
        self.shares[ask.unit].remove(pack.clone());
        Some(pack)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn shares_cover_all_tasks_and_are_even(tasks in 0u64..100_000, nodes in prop::collection::vec(0usize..5, 1..40)) {
            let units = eq2(tasks, &nodes);
            prop_assert_eq!(units.iter().sum::<u64>(), tasks);
            prop_assert!(units.iter().max().unwrap() - units.iter().min().unwrap() <= 1);
            let units = eq1(tasks, &nodes);
            prop_assert_eq!(units.iter().sum::<u64>(), tasks);
            let of = |node: usize| -> Vec<u64> {
                units.iter().zip(&nodes).filter(|(_, of)| **of == node).map(|(n, _)| *n).collect()
            };
            let there: Vec<Vec<u64>> = (0..5).map(of).filter(|units| !units.is_empty()).collect();
            let sums: Vec<u64> = there.iter().map(|units| units.iter().sum()).collect();
            prop_assert!(sums.iter().max().unwrap() - sums.iter().min().unwrap() <= 1);
            for units in there {
                prop_assert!(units.iter().max().unwrap() - units.iter().min().unwrap() <= 1);
            }
        }
    }

    /// Table 3: 48 units of ten nodes in the small cluster, 180 of nineteen in the big one, Pegaso being the
    /// first of either, with eight.
    #[test]
    fn the_papers_clusters_are_shared_as_its_figure_15_has_it() {
        let big = [8, 4, 4, 4, 16, 2, 2, 2, 2, 4, 4, 4, 16, 16, 24, 16, 4, 24, 24];
        for (nodes, units) in [(10, 48), (19, 180)] {
            let nodes_of: Vec<usize> =
                (0..nodes).flat_map(|node| std::iter::repeat_n(node, big[node])).collect();
            assert_eq!(nodes_of.len(), units);
            let tasks = 720 * 19;
            let pegaso = |rule: Rule| rule(tasks, &nodes_of)[..8].iter().sum::<u64>();
            assert_eq!(pegaso(eq1), tasks / nodes as u64);
            assert_eq!(pegaso(eq2), 8 * tasks / units as u64);
        }
    }

    #[test]
    fn shares_of_huge_farms_do_not_overflow() {
        assert_eq!(eq2(u64::MAX, &[0; 3]), [u64::MAX / 3; 3]);
        assert_eq!(eq1(u64::MAX, &[0, 1, 1, 2]).iter().sum::<u64>(), u64::MAX);
    }
}
