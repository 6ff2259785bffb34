//! The last launch before a swap in two parts: the rim, whose cells are sent, and the core, which is computed
//! while they are on their way. Pure functions of boxes. Not: what suits a GPU's trips (`cuda/halves.rs`).

use super::super::boundary::Face;
use super::super::halo::{Margin, Span};
use super::super::plan::Region;
use super::swap::Message;

/// The boxes of such a launch. None overlap, and together they are the cells that are computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Halves<const D: usize> {
    /// Steps that the launch takes.
    pub steps: u64,
    /// Boxes that hold all cells that are sent.
    pub rim: Vec<Region<D>>,
    /// The other cells; may be empty.
    pub core: Region<D>,
}

impl<const D: usize> Halves<D> {
    /// `own`, of which `core` is a box.
    pub fn of(own: Region<D>, core: Region<D>, steps: u64) -> Self {
        let (mut rim, mut left) = (Vec::new(), own);
        for axis in 0..D {
            let (mut low, mut high) = (left, left);
            (low.high[axis], high.low[axis]) = (core.low[axis], core.high[axis]);
            rim.extend([low, high].into_iter().filter(|it| Span::from(*it).cells() > 0));
            (left.low[axis], left.high[axis]) = (core.low[axis], core.high[axis]);
        }
        Self { steps, rim, core }
    }

    /// One step over `own` whose messages reach `sent` deep into it. The core is whole tiles of `tile` cells
    /// along axes where it has many.
    pub fn of_step(own: Region<D>, sent: &Margin<D>, tile: [usize; D]) -> Self {
        let mut core = own;
        for axis in 0..D {
            let (low, high) = (own.low[axis], own.high[axis]);
            core.low[axis] = high.min(low + sent[axis][0]);
            core.high[axis] = high.saturating_sub(sent[axis][1]).max(core.low[axis]);
            let length = core.high[axis] - core.low[axis];
            let rest = length % tile[axis].max(1);
            if length < TILES * tile[axis] {
                continue;
            }
            if core.high[axis] < high {
                core.high[axis] -= rest;
            } else if core.low[axis] > low {
                core.low[axis] += rest;
            }
        }
        Self::of(own, core, 1)
    }
}

/// Tiles along an axis from which on it pays to have no tile of the core in part: such tiles are slow, and
/// come last, when nothing else is left to do beside them.
const TILES: usize = 16;

/// How deep `messages` reach into the cells `own` of the part that sends them, in the frame of all parts.
pub(super) fn sent_depth<'m, const D: usize>(
    own: Region<D>,
    messages: impl Iterator<Item = &'m Message<D>>,
) -> Margin<D> {
    let own = Span::from(own);
    let mut sent = [[0; 2]; D];
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
    use super::super::super::halo::{Footprint, Reach};
    use super::super::super::partition::Partition;
    use super::super::swap::swap_messages;
    use super::*;
    use crate::{Boundaries, Boundary};
    use warpweft_core::element::{FieldInfo, ScalarKind};

    #[test]
    fn every_cell_is_in_one_box_and_what_is_sent_is_in_none_but_the_rim() {
        let fields = [FieldInfo { name: "", kind: ScalarKind::F32 }];
        for (extents, tile) in [([100, 130], [4, 5]), ([100, 130], [1, 1]), ([9, 12], [4, 4])] {
            let faces = Boundaries::all(Boundary::Periodic);
            let partition = Partition::grid(extents, [2, 3], &faces).unwrap();
            let stages = [Footprint { reads: vec![(0, [[1, 2]; 2])], writes: vec![0] }];
            let phases = swap_messages(&partition, &Reach::new(&stages, 1, 1), &fields, &[0]);
            for part in 0..6 {
                let sent = || phases.iter().flatten().filter(|message| message.from == part);
                let own = partition.region(part);
                let depth = sent_depth(own, sent());
                assert_eq!(depth, [[2, 1]; 2]);
                let Halves { rim, core, .. } = Halves::of_step(own, &depth, tile);
                for at in Span::from(own).iter() {
                    let holds = |it: &Region<2>| Span::from(*it).contains(at);
                    let holders = rim.iter().chain([&core]).filter(|it| holds(it));
                    assert_eq!(holders.count(), 1, "{at:?}");
                    let mut pieces = sent().flat_map(|message| &message.pieces);
                    assert!(!holds(&core) || !pieces.any(|piece| piece.read.contains(at)));
                }
                let [y, x] = Span::from(core).extents();
                assert!(
                    extents[0] < 100 || (y % tile[0], x % tile[1]) == (0, 0) || x < 16 * tile[1]
                );
            }
        }
    }

    #[test]
    fn a_part_of_which_all_is_sent_has_no_core() {
        let own = Region { low: [3, 5], high: [8, 9] };
        for sent in [[[3, 3], [0, 0]], [[5, 0], [1, 1]], [[0, 0], [2, 3]]] {
            let Halves { rim, core, .. } = Halves::of_step(own, &sent, [4; 2]);
            let cells = |it: &Region<2>| Span::from(*it).cells();
            assert_eq!((cells(&core), rim.iter().map(cells).sum::<usize>()), (0, 20), "{sent:?}");
        }
    }
}
