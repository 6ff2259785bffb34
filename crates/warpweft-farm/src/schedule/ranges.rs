//! Sets of task numbers, as ranges. Not a general interval map: it keeps nothing but the numbers.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of numbers, held as the fewest ranges that make it up.
///
/// A step costs O(log r) for r ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ranges {
    /// The end of each range by its beginning; no two touch.
    ends: BTreeMap<u64, u64>,
    count: u64,
}

impl Ranges {
    /// The numbers of `range`.
    pub fn of(range: Range<u64>) -> Self {
        let mut ranges = Self::default();
        ranges.insert(range);
        ranges
    }

    /// How many numbers there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The first range, if there is any.
    pub fn first(&self) -> Option<Range<u64>> {
        self.iter().next()
    }

    /// The ranges in order; no two touch.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.ends.iter().map(|(&begin, &end)| begin..end)
    }

    /// Whether all of `range`, which is not empty, is in the set.
    pub fn holds(&self, range: &Range<u64>) -> bool {
        let around = self.ends.range(..=range.start).next_back();
        range.start < range.end && around.is_some_and(|(_, &end)| range.end <= end)
    }

    /// Whether anything of `range` is in the set.
    pub fn touches(&self, range: &Range<u64>) -> bool {
        let last = self.ends.range(..range.end).next_back();
        range.start < range.end && last.is_some_and(|(_, &end)| end > range.start)
    }

    /// The parts of `range` that are in the set, in order.
    pub fn within(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let around = self.ends.range(..=range.start).next_back();
        if around.is_some_and(|(_, &end)| range.end <= end) && range.start < range.end {
            return vec![range.clone()];
        }
        let first = around.map_or(range.start, |(&at, _)| at);
        let there = self.ends.range(first..range.end.max(first));
        let cut = there.map(|(&start, &end)| start.max(range.start)..end.min(range.end));
        cut.filter(|part| part.start < part.end).collect()
    }

    /// Takes out what there is of `range`, and returns it in order.
    pub fn take(&mut self, range: &Range<u64>) -> Vec<Range<u64>> {
        if self.remove(range.clone()) {
            return vec![range.clone()];
        }
        let parts = self.within(range);
        for part in &parts {
            self.remove(part.clone());
        }
        parts
    }

    /// Adds what is not there yet of `range`.
    pub fn add(&mut self, range: Range<u64>) {
        self.take(&range);
        self.insert(range);
    }

    /// Adds `range`; returns whether it was not empty and all new, and changes nothing otherwise.
    pub fn insert(&mut self, range: Range<u64>) -> bool {
        let Range { start, end } = range;
        if range.is_empty() {
            return false;
        }
        // The range before it grows where it stands; a search of the tree is most of a step.
        let mut grown = None;
        if let Some((&begin, before)) = self.ends.range_mut(..end).next_back() {
            if *before > start {
                return false;
            }
            if *before == start {
                *before = end;
                grown = Some(begin);
            }
        }
        self.count += end - start;
        let after = self.ends.remove(&end);
        if grown.is_none() || after.is_some() {
            self.ends.insert(grown.unwrap_or(start), after.unwrap_or(end));
        }
        true
    }

    /// Takes `range` out; returns whether all of it was there, and changes nothing otherwise.
    pub fn remove(&mut self, range: Range<u64>) -> bool {
        let Some((&start, last)) = self.ends.range_mut(..=range.start).next_back() else {
            return false;
        };
        let end = *last;
        if range.is_empty() || end < range.end {
            return false;
        }
        if start < range.start {
            *last = range.start;
        } else {
            self.ends.remove(&start);
        }
        if range.end < end {
            self.ends.insert(range.end, end);
        }
        self.count -= range.end - range.start;
        true
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Any sequence of steps leaves what a set of single numbers has.
        #[test]
        fn a_set_of_ranges_is_a_set_of_numbers(
            steps in prop::collection::vec((any::<bool>(), 0u64..40, 0u64..12), 0..60)
        ) {
            let (mut ranges, mut numbers) = (Ranges::default(), BTreeSet::new());
            for (add, start, length) in steps {
                let range = start..start + length;
                let there = range.clone().filter(|k| numbers.contains(k)).count() as u64;
                prop_assert_eq!(ranges.touches(&range), there > 0);
                prop_assert_eq!(ranges.holds(&range), length > 0 && there == length);
                let within: Vec<_> = ranges.within(&range).into_iter().flatten().collect();
                let expect: Vec<_> = range.clone().filter(|k| numbers.contains(k)).collect();
                prop_assert_eq!(within, expect);
                let mut copy = ranges.clone();
                copy.add(range.clone());
                prop_assert_eq!(copy.count(), ranges.count() + length - there);
                copy.take(&range);
                prop_assert!(!copy.touches(&range));
                prop_assert_eq!(copy.count(), ranges.count() - there);
                if add && length > 0 && there == 0 {
                    prop_assert!(ranges.insert(range.clone()));
                    numbers.extend(range);
                } else if add {
                    prop_assert!(!ranges.insert(range));
                } else if length > 0 && there == length {
                    prop_assert!(ranges.remove(range.clone()));
                    range.for_each(|k| { numbers.remove(&k); });
                } else {
                    prop_assert!(!ranges.remove(range));
                }
                prop_assert_eq!(ranges.count(), numbers.len() as u64);
                let all: Vec<_> = ranges.iter().flatten().collect();
                prop_assert_eq!(all, numbers.iter().copied().collect::<Vec<_>>());
                let gaps = ranges.iter().zip(ranges.iter().skip(1)).all(|(a, b)| a.end < b.start);
                prop_assert!(gaps);
            }
        }
    }
}
