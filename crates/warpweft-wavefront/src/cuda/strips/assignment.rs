//! Which GPU computes which tile-rows: they go round robin to the blocks of all GPUs, as those of one do to its SMs
//! (PeerWave, section 3.1). Not here: how a border passes from one GPU to the next (`movers.cuh`).

use std::ops::Range;

/// The blocks of one GPU among those of all, and what they compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    /// Its blocks are so many, from this one on of all.
    pub first: usize,
    pub blocks: usize,
    /// Blocks of all GPUs.
    pub all: usize,
}

/// The assignments to GPUs that hold so many blocks each, over `strips` tile-rows. Where there are fewer
/// tile-rows than blocks, every GPU has its share of them, which may be none.
pub(super) fn assignments(strips: usize, resident: &[usize]) -> Vec<Assignment> {
    let held: usize = resident.iter().sum();
    let all = held.min(strips);
    let mut before = 0;
    let cut = |before: usize| (all as u128 * before as u128 / held.max(1) as u128) as usize;
    let assignment = |&blocks: &usize| {
        let first = cut(before);
        before += blocks;
        Assignment { first, blocks: cut(before) - first, all }
    };
    resident.iter().map(assignment).collect()
}

impl Assignment {
    /// Rows of the domain that this GPU computes, of tile-rows of `height`; in order.
    pub fn rows(self, height: usize, rows: usize) -> impl Iterator<Item = Range<usize>> {
        let Self { first, blocks, all } = self;
        let ranges = (first..rows.div_ceil(height)).step_by(all.max(1));
        ranges.map(move |s| s * height..((s + blocks) * height).min(rows)).filter(|r| !r.is_empty())
    }

    /// Whether it computes tile-row `s`.
    pub fn has(self, s: usize) -> bool {
        let place = s % self.all.max(1);
        (self.first..self.first + self.blocks).contains(&place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_one_gpu() {
        for resident in [&[3, 3, 3][..], &[1], &[5, 1, 2, 7], &[132; 4]] {
            for (rows, height) in [(1, 64), (640, 64), (10_000, 32), (321, 32), (1_000_000, 1920)] {
                let strips = usize::div_ceil(rows, height);
                let all = assignments(strips, resident);
                let mut ranges: Vec<_> =
                    all.iter().flat_map(|assignment| assignment.rows(height, rows)).collect();
                ranges.sort_by_key(|range| range.start);
                assert_eq!(ranges[0].start, 0, "{resident:?} {rows}");
                assert_eq!(ranges[ranges.len() - 1].end, rows);
                assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
                for s in 0..strips {
                    let owners: Vec<_> =
                        all.iter().filter(|assignment| assignment.has(s)).collect();
                    let [assignment] = owners[..] else { panic!("{owners:?} have tile-row {s}") };
                    assert!(
                        assignment.rows(height, rows).any(|range| range.contains(&(s * height)))
                    );
                }
            }
        }
    }

    #[test]
    fn few_tile_rows_are_spread_over_all_gpus() {
        let blocks = |strips| assignments(strips, &[132; 4]).map_blocks();
        assert_eq!(blocks(4), [1; 4]);
        assert_eq!(blocks(2), [0, 1, 0, 1]);
        assert_eq!(blocks(1000), [132; 4]);
    }

    trait Blocks {
        fn map_blocks(self) -> Vec<usize>;
    }
    impl Blocks for Vec<Assignment> {
        fn map_blocks(self) -> Vec<usize> {
            self.into_iter().map(|assignment| assignment.blocks).collect()
        }
    }
}
