//! The last launch before a swap in two parts: the boundary, whose cells are sent, and the interior, which is computed
//! while they are on their way. Pure functions of boxes. Not: what suits a GPU's time blocks (`cuda/halo/halves.rs`).

use crate::exchange::HaloMessage;
use crate::plan::Region;
use crate::plan::halo::{Margin, Span};
use crate::spec::boundary::Face;
use warpweft_core::grid::Axes;

/// The boxes of such a launch. None overlap, and together they are the cells that are computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundarySplit {
    /// Steps that the launch takes.
    pub steps: u64,
    /// Boxes that hold all cells that are sent.
    pub boundary: Vec<Region>,
    /// The other cells; may be empty.
    pub interior: Region,
}

impl BoundarySplit {
    /// `own`, of which `interior` is a box.
    pub fn of(own: Region, interior: Region, steps: u64) -> Self {
        let dims = own.rank();
        let (mut boundary, mut left) = (Vec::new(), own);
        for axis in 0..dims {
            let (mut low, mut high) = (left, left);
            (low.high[axis], high.low[axis]) = (interior.low[axis], interior.high[axis]);
            boundary.extend([low, high].into_iter().filter(|it| Span::from(*it).cells() > 0));
            (left.low[axis], left.high[axis]) = (interior.low[axis], interior.high[axis]);
        }
        Self { steps, boundary, interior }
    }

    /// One step over `own` whose messages reach `sent` deep into it. The interior is whole tiles of `tile` cells
    /// along axes where it has many.
    pub fn of_step(own: Region, sent: &Margin, tile: Axes<usize>) -> Self {
        let dims = own.rank();
        let mut interior = own;
        for axis in 0..dims {
            let (low, high) = (own.low[axis], own.high[axis]);
            interior.low[axis] = high.min(low + sent[axis][0]);
            interior.high[axis] = high.saturating_sub(sent[axis][1]).max(interior.low[axis]);
            let length = interior.high[axis] - interior.low[axis];
            let rest = length % tile[axis].max(1);
            if length < TILES * tile[axis] {
                continue;
            }
            if interior.high[axis] < high {
                interior.high[axis] -= rest;
            } else if interior.low[axis] > low {
                interior.low[axis] += rest;
            }
        }
        Self::of(own, interior, 1)
    }
}

/// Tiles along an axis from which on it pays to have no tile of the interior in part: such tiles are slow, and
/// come last, when nothing else is left to do next to them.
const TILES: usize = 16;

/// How deep `messages` reach into the cells `own` of the part that sends them, in the frame of all parts.
pub(crate) fn sent_depth<'m>(
    own: Region,
    messages: impl Iterator<Item = &'m HaloMessage>,
) -> Margin {
    let dims = own.rank();
    let own = Span::from(own);
    let mut sent = Axes::filled(dims, [0; 2]);
    for message in messages {
        let axis = message.axis;
        for piece in &message.pieces {
            let (side, deep) = match message.face {
                // The receiver's high ghosts are this part's low end, and the other way about.
                Face::High => (0, piece.read.high[axis] - own.low[axis]),
                Face::Low => (1, own.high[axis] - piece.read.low[axis]),
            };
            let most = own.high[axis] - own.low[axis];
            sent[axis][side] = deep.clamp(sent[axis][side] as isize, most) as usize;
        }
    }
    sent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::halo_messages;
    use crate::plan::halo::{Footprint, Reach};
    use crate::plan::partition::Partition;
    use crate::{Boundaries, Boundary};
    use warpweft_core::element::{FieldInfo, ScalarKind};

    #[test]
    fn every_cell_is_in_one_box_and_what_is_sent_is_in_none_but_the_rim() {
        let fields = [FieldInfo { name: "", kind: ScalarKind::F32 }];
        for (extents, tile) in [([100, 130], [4, 5]), ([100, 130], [1, 1]), ([9, 12], [4, 4])] {
            let faces = Boundaries::all(2, Boundary::Periodic);
            let partition = Partition::grid(extents, [2, 3], &faces).unwrap();
            let stages = [Footprint { reads: vec![(0, [[1, 2]; 2].into())], writes: vec![0] }];
            let phases = halo_messages(&partition, &Reach::new(2, &stages, 1, 1), &fields, &[0]);
            for part in 0..6 {
                let sent = || phases.iter().flatten().filter(|message| message.from == part);
                let own = partition.region(part);
                let depth = sent_depth(own, sent());
                assert_eq!(depth, [[2, 1]; 2]);
                let BoundarySplit { boundary, interior, .. } =
                    BoundarySplit::of_step(own, &depth, tile.into());
                for at in Span::from(own).iter() {
                    let holds = |it: &Region| Span::from(*it).contains(at);
                    let holders = boundary.iter().chain([&interior]).filter(|it| holds(it));
                    assert_eq!(holders.count(), 1, "{at:?}");
                    let mut pieces = sent().flat_map(|message| &message.pieces);
                    assert!(!holds(&interior) || !pieces.any(|piece| piece.read.contains(at)));
                }
                let [y, x] = Span::from(interior).extents().array();
                assert!(
                    extents[0] < 100 || (y % tile[0], x % tile[1]) == (0, 0) || x < 16 * tile[1]
                );
            }
        }
    }

    #[test]
    fn a_part_of_which_all_is_sent_has_no_core() {
        let own = Region { low: [3, 5].into(), high: [8, 9].into() };
        for sent in [[[3, 3], [0, 0]], [[5, 0], [1, 1]], [[0, 0], [2, 3]]] {
            let BoundarySplit { boundary, interior, .. } =
                BoundarySplit::of_step(own, &sent.into(), [4; 2].into());
            let cells = |it: &Region| Span::from(*it).cells();
            assert_eq!(
                (cells(&interior), boundary.iter().map(cells).sum::<usize>()),
                (0, 20),
                "{sent:?}"
            );
        }
    }
}
