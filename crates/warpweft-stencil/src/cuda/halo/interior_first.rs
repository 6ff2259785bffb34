//! The first time block after a halo exchange as two launches: first the interior, concurrently
//! with the exchange, on which it does not depend; then the boundary. Pure functions of boxes. Not
//! here: the launches (`parts`), or the last launch before an exchange (`halves`).
//!
//! Together the two launches have the same tiles as a single launch, so they compute nothing more
//! than that. To find how many planes each launch gets, a simulation goes through the blocks in
//! the order in which multiprocessors take them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Region;
use crate::plan::halo::Span;

/// How many numbers of layers of the interior are tried, in addition to that of the policy's
/// chunk.
const LAYERS: usize = 3;

/// What the time of a launch depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    /// Tiles of a plane.
    pub tiles: usize,
    /// Planes that a block computes in addition to those that it stores.
    pub redundant: usize,
    /// Blocks that run at once.
    pub slots: usize,
    /// The time of a halo exchange, as a number of planes that a block computes meanwhile.
    pub exchange: usize,
    /// Planes per block of a single launch over all planes.
    pub chunk: usize,
}

/// The boxes of the two launches, each with its planes per block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InteriorFirst {
    pub interior: (Region, usize),
    /// One or two slabs.
    pub boundary: Vec<(Region, usize)>,
}

/// A way to deal planes out: layers and planes of a block of the interior, planes of each slab of the boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Deal {
    layers: usize,
    chunk: usize,
    slab: usize,
}

impl InteriorFirst {
    /// For a launch over `first`, whose cells depend on cells up to `deep` planes away along the
    /// slowest axis. The subdomain's own cells are `own`; the volume with its ghost zones has
    /// these `extents`. `None` if there are ghost zones along other axes, if there is no interior,
    /// or if a single launch after the exchange is predicted to be as fast.
    pub fn of(
        (own, first): (&Region, &Region),
        extents: &[usize],
        deep: [usize; 2],
        costs: &Costs,
    ) -> Option<Self> {
        let whole = |d: usize| own.low[d] == 0 && own.high[d] == extents[d];
        let sides = [own.low[0] > 0, own.high[0] < extents[0]];
        if !(1..extents.len()).all(whole) || sides == [false; 2] {
            return None;
        }
        let [begin, end] = [first.low[0], first.high[0]];
        // The interior's cone ends inside of the own cells.
        let least =
            [(own.low[0] + deep[0]).checked_sub(begin)?, (end + deep[1]).checked_sub(own.high[0])?];
        let least = least.into_iter().zip(sides).filter(|it| it.1).map(|it| it.0).max()?;
        let count = sides.iter().filter(|side| **side).count();
        let deal = best((end - begin, count), least.max(1), costs)?;
        let cut = |side: usize| if sides[side] { deal.slab } else { 0 };
        let inner = [begin + cut(0), end - cut(1)];
        // A box that ends within the steps of a face is stored up to the face.
        let clear = |at: usize| at >= deep[0] && at + deep[1] <= extents[0];
        if !(0..2).all(|side| !sides[side] || clear(inner[side])) {
            return None;
        }
        let slab = |[low, high]: [usize; 2]| {
            let mut region = *first;
            (region.low[0], region.high[0]) = (low, high);
            region
        };
        let slabs = [[begin, inner[0]], [inner[1], end]].map(slab);
        let boundary = slabs.into_iter().filter(|it| Span::from(*it).cells() > 0);
        let interior = (slab(inner), deal.chunk);
        Some(Self { interior, boundary: boundary.map(|it| (it, deal.slab)).collect() })
    }
}

/// The fastest way to deal `planes` planes out to an interior and `count` slabs, each slab with at
/// least so many planes; `None` if a single launch after the exchange is as fast.
fn best((planes, count): (usize, usize), least: usize, costs: &Costs) -> Option<Deal> {
    let Costs { exchange, chunk, .. } = *costs;
    let all = planes.div_ceil(chunk.max(1));
    let layers = all.saturating_sub(count + LAYERS).max(1)..=all + LAYERS;
    let deals = layers.flat_map(|layers| {
        let even = planes.div_ceil(layers + count);
        // Slabs begin later by an exchange and end with the interior.
        let late = ((planes + count * exchange) / (layers + count)).saturating_sub(exchange);
        // Or the interior keeps the policy's chunk.
        let rest = planes.saturating_sub(layers * chunk) / count;
        [least, even, late, rest].map(|slab| (layers, slab.max(least)))
    });
    let deals = deals.filter_map(|(layers, slab)| {
        let left = planes.checked_sub(count * slab).filter(|left| *left >= layers)?;
        Some(Deal { layers, chunk: left.div_ceil(layers), slab })
    });
    let (time, deal) =
        deals.map(|deal| (span(planes, count, deal, costs), deal)).min_by_key(|it| it.0)?;
    (time < exchange + one_launch(planes, costs)).then_some(deal)
}

/// Blocks that run at once take the next as soon as they are free: when each is.
fn free_slots(slots: usize) -> BinaryHeap<Reverse<usize>> {
    (0..slots.max(1)).map(|_| Reverse(0)).collect()
}

/// Lengths of the blocks of a launch, in the order in which they begin.
fn blocks(planes: usize, chunk: usize, costs: &Costs) -> impl Iterator<Item = usize> {
    let Costs { tiles, redundant, .. } = *costs;
    let chunk = chunk.max(1);
    (0..planes.div_ceil(chunk)).flat_map(move |layer| {
        let length = chunk.min(planes - layer * chunk) + redundant;
        std::iter::repeat_n(length, tiles)
    })
}

/// Planes per block for a single launch over `planes`: the policy's, or a number of `others` if it
/// is predicted to make the launch at least a fiftieth faster. One layer more than the policy was
/// measured with may cost a whole wave of blocks more.
pub(crate) fn chunk_of(planes: usize, others: &[u32], costs: &Costs) -> usize {
    let time = |chunk: usize| one_launch(planes, &Costs { chunk, ..*costs });
    let best = others.iter().map(|&chunk| (time(chunk as usize), chunk as usize)).min();
    best.filter(|it| 50 * it.0 < 49 * time(costs.chunk)).map_or(costs.chunk, |it| it.1)
}

/// Planes' time of one launch.
fn one_launch(planes: usize, costs: &Costs) -> usize {
    let mut slots = free_slots(costs.slots);
    let mut last = 0;
    for length in blocks(planes, costs.chunk, costs) {
        let Some(Reverse(free)) = slots.pop() else { continue };
        last = last.max(free + length);
        slots.push(Reverse(free + length));
    }
    last
}

/// How far the exchange has come: packing and unpacking need a free slot each, before any block that waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exchange {
    Packs,
    /// Unpacks from then on.
    Travels(usize),
    /// Done then.
    Unpacked(usize),
}

/// Planes' time until both launches are done.
fn span(planes: usize, count: usize, deal: Deal, costs: &Costs) -> usize {
    let mut slots = free_slots(costs.slots);
    let mut interior = blocks(planes - count * deal.slab, deal.chunk, costs).peekable();
    let mut boundary = (0..count).flat_map(|_| blocks(deal.slab, deal.slab, costs)).peekable();
    let half = costs.exchange.div_ceil(2);
    let (mut exchange, mut last) = (Exchange::Packs, 0);
    while let Some(Reverse(free)) = slots.pop() {
        // The interior is there at once, and packing just after.
        exchange = match exchange {
            Exchange::Packs if free > 0 || interior.peek().is_none() => {
                Exchange::Travels(free + half)
            }
            Exchange::Travels(then) if then <= free => Exchange::Unpacked(free + half),
            other => other,
        };
        // Both launches have one priority: the blocks of the first go first.
        let next = match exchange {
            Exchange::Unpacked(then) if then <= free => interior.next().or_else(|| boundary.next()),
            _ => interior.next(),
        };
        match (next, exchange) {
            (Some(length), _) => {
                last = last.max(free + length);
                slots.push(Reverse(free + length));
            }
            // Nothing is left but what the exchange holds up.
            (None, Exchange::Travels(then) | Exchange::Unpacked(then))
                if boundary.peek().is_some() =>
            {
                slots.push(Reverse(then.max(free)));
            }
            _ => {}
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A half of 256³ cells on one of two H200s.
    const SMALL: Costs = Costs { tiles: 35, redundant: 18, slots: 132, exchange: 10, chunk: 39 };

    fn of(planes: [usize; 4], costs: &Costs) -> Option<InteriorFirst> {
        // Ghosts from `high` on, and cells up to `computed`.
        let [low, high, computed, all] = planes;
        let region = |low, high| Region { low: [low, 0].into(), high: [high, 9].into() };
        let first = region(low, computed);
        InteriorFirst::of((&region(low, high), &first), &[all, 9], [6, 6], costs)
    }

    #[test]
    fn the_boxes_are_all_cells_once_and_the_interior_reads_no_ghosts() {
        for (high, computed, all) in [(128, 128, 140), (128, 134, 140), (250, 256, 262)] {
            let found = of([0, high, computed, all], &SMALL).unwrap();
            let (interior, _) = found.interior;
            let [(slab, planes)] = found.boundary[..] else { panic!("one side has ghosts") };
            assert_eq!((interior.low[0], interior.high[0]), (0, slab.low[0]));
            assert_eq!((slab.high[0], slab.high[0] - slab.low[0]), (computed, planes));
            assert!(interior.high[0] + 6 <= high, "{found:?}");
        }
        let both = InteriorFirst::of(
            (
                &Region { low: [12, 0].into(), high: [412, 9].into() },
                &Region { low: [6, 0].into(), high: [418, 9].into() },
            ),
            &[424, 9],
            [6, 6],
            &SMALL,
        );
        let found = both.unwrap();
        assert_eq!(found.boundary.len(), 2);
        assert!(found.interior.0.low[0] >= 18 && found.interior.0.high[0] <= 406, "{found:?}");
    }

    #[test]
    fn what_is_no_slab_or_all_boundary_is_left_whole() {
        assert_eq!(of([0, 140, 140, 140], &SMALL), None, "no ghosts");
        assert_eq!(of([0, 8, 8, 20], &SMALL), None, "all boundary");
        let narrow = Region { low: [0, 0].into(), high: [128, 7].into() };
        assert_eq!(InteriorFirst::of((&narrow, &narrow), &[140, 9], [6, 6], &SMALL), None);
    }

    #[test]
    fn a_few_planes_more_are_no_turn_more() {
        // A half of 4096² cells: 29 layers of 71 rows run at once, 30 do not.
        let costs = Costs { tiles: 18, redundant: 50, slots: 528, exchange: 20, chunk: 71 };
        assert_eq!(chunk_of(2048, &[72], &costs), 71);
        assert_eq!(chunk_of(2084, &[72], &costs), 72);
    }

    #[test]
    fn an_exchange_hides_behind_the_interior() {
        let time = |planes: usize, costs: &Costs| {
            let deal = best((planes, 1), 12, costs).unwrap();
            span(planes, 1, deal, costs)
        };
        // Where all blocks run at once the boundary is shorter by the exchange.
        let alone = one_launch(134, &SMALL);
        assert!(time(134, &SMALL) <= alone, "{} of {alone}", time(134, &SMALL));
        // Where multiprocessors take several blocks one after another the blocks are those of one launch.
        let large = Costs { tiles: 560, redundant: 16, slots: 132, exchange: 60, chunk: 438 };
        let alone = one_launch(517, &large);
        assert!(time(517, &large) <= alone, "{} of {alone}", time(517, &large));
    }
}
