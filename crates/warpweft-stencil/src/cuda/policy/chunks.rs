//! How long chunks of streaming kernels should be, by a small model of their time (docs/models.md).

use crate::{CudaPolicy, Spec};
use warpweft_core::grid::Axes;

/// Planes that a chunk costs next to those that it computes: filling and draining the stream.
const START: usize = 6;

/// Blocks side by side across a plane, for tiles of `x` by `y` cells.
fn tiles(extents: Axes<usize>, [x, y]: [usize; 2]) -> usize {
    let dims = extents.rank();
    extents[dims - 1].div_ceil(x) * extents[dims - 2].div_ceil(y)
}

/// Blocks that are resident at once.
fn slots(sms: u32, cuda: &CudaPolicy) -> usize {
    (sms * cuda.min_blocks) as usize
}

/// The chunks of [`chunks_of`] for planes of `extents` in Planes' tiles of `cuda` on `sms` multiprocessors.
pub fn chunks_of_planes(
    stencil: &Spec,
    extents: Axes<usize>,
    cuda: &CudaPolicy,
    sms: u32,
) -> Vec<u32> {
    let [vx, vy, _] = cuda.cells.map(|cells| cells as usize);
    let tiles = tiles(extents, [32 * vx, cuda.warps as usize * vy]);
    let [below, above] = stencil.radius()[0];
    chunks_of(extents[0], tiles, slots(sms, cuda), below + above + START)
}

/// Layers of chunks beyond which nobody looks, and lengths that are tried for a number of layers.
const LAYERS: usize = 1 << 12;
const LENGTHS: usize = 32;

/// The chunks for which `planes` planes of `tiles` tiles take least time on `slots` blocks, each of
/// which computes or brings in `redundant` planes next to its chunk: the best, the best of layers that are
/// alike, and one more, of different numbers of turns.
///
/// A last layer may be shorter than the others: short chunks fill up what long ones leave.
pub(crate) fn chunks_of(planes: usize, tiles: usize, slots: usize, redundant: usize) -> Vec<u32> {
    let slots = slots.max(1);
    let turns = |chunk: usize| (tiles * planes.div_ceil(chunk)).div_ceil(slots);
    let mut known: Vec<_> = spans(planes, tiles, slots, redundant).collect();
    known.sort_by_key(|&(span, _)| span);
    let alike = |chunk: usize| chunk == planes.div_ceil(planes.div_ceil(chunk));
    let mut found: Vec<usize> = Vec::new();
    for n in 0..3 {
        let new = |chunk: usize| found.iter().all(|&other| turns(other) != turns(chunk));
        let fits = |&&(_, chunk): &&(usize, usize)| new(chunk) && (n != 1 || alike(chunk));
        found.extend(known.iter().find(fits).map(|&(_, chunk)| chunk));
    }
    found.into_iter().map(|chunk| chunk as u32).collect()
}

/// The first of [`chunks_of`], and planes' time until the last of all blocks ends.
pub(crate) fn shortest_of(
    planes: usize,
    tiles: usize,
    slots: usize,
    redundant: usize,
) -> Option<(usize, usize)> {
    spans(planes, tiles, slots.max(1), redundant).min_by_key(|&(span, _)| span)
}

/// Chunks with their [`span`]. Shorter ones than `redundant` planes only where there are slots for all their blocks.
fn spans(
    planes: usize,
    tiles: usize,
    slots: usize,
    redundant: usize,
) -> impl Iterator<Item = (usize, usize)> {
    let long = planes / redundant.max(1);
    let most = long.max(2 * slots / tiles.max(1)).max(1);
    (1..=planes.div_ceil(4).min(LAYERS).min(most))
        .flat_map(move |layers| lengths(planes, layers))
        .map(move |chunk| (span(planes, tiles, slots, redundant, chunk), chunk))
}

/// Chunks that cut `planes` planes into `layers` layers, all alike first.
fn lengths(planes: usize, layers: usize) -> impl Iterator<Item = usize> {
    let even = planes.div_ceil(layers).max(1);
    // The longest of which the last layer still has a plane.
    let longest = if layers == 1 { even } else { (planes - 1) / (layers - 1) };
    (even..=longest.max(even)).step_by((longest.saturating_sub(even) / LENGTHS).max(1))
}

/// Planes' time until the last of all blocks ends, if they take the next free slot in the order of layers.
fn span(planes: usize, tiles: usize, slots: usize, redundant: usize, chunk: usize) -> usize {
    let (long, rest) = (planes / chunk, planes % chunk);
    let (turn, blocks) = (chunk + redundant, long * tiles);
    // Some slots have had a block more than the others.
    let (mut late, mut early) = (blocks % slots, slots - blocks % slots);
    let (mut late_end, mut early_end) = ((blocks / slots + 1) * turn, blocks / slots * turn);
    let mut last = if late > 0 { late_end } else { early_end };
    let mut left = if rest > 0 { tiles } else { 0 };
    while left > 0 {
        if late > 0 && late_end < early_end {
            std::mem::swap(&mut late, &mut early);
            std::mem::swap(&mut late_end, &mut early_end);
        }
        left = left.saturating_sub(early);
        early_end += rest + redundant;
        last = last.max(early_end);
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    fn redundant(temporal_depth: usize) -> usize {
        2 * temporal_depth + START
    }

    #[test]
    fn chunks_fill_the_multiprocessors_with_little_redundant_work() {
        // 90 tiles on 132 blocks: of 102 and 26 planes, those of 26 fill up what 90 leave. Four chunks
        // of 32 take three turns of 44 planes, five of 26 four of 38.
        assert_eq!(chunks_of(128, 90, 132, redundant(3)), [102, 32, 31]);
        // As many tiles as blocks: one chunk.
        assert_eq!(chunks_of(256, 132, 132, redundant(3))[0], 256);
        assert_eq!(chunks_of(64, 27, 132, redundant(3))[0], 16);
        assert_eq!(chunks_of(1, 5, 132, redundant(8)), [1]);
    }

    /// Blocks that take the first free slot, one by one.
    fn played(planes: usize, tiles: usize, slots: usize, redundant: usize, chunk: usize) -> usize {
        let mut ends = vec![0; slots];
        for low in (0..planes).step_by(chunk) {
            for _ in 0..tiles {
                let first = ends.iter_mut().min().unwrap();
                *first += chunk.min(planes - low) + redundant;
            }
        }
        ends.into_iter().max().unwrap()
    }

    #[test]
    fn spans_are_those_of_a_schedule_played() {
        for (planes, tiles, slots) in
            [(128, 90, 132), (200, 10, 396), (61, 27, 16), (64, 350, 132), (33, 3, 1), (40, 7, 7)]
        {
            for chunk in 1..=planes {
                let found = span(planes, tiles, slots, 12, chunk);
                let right = played(planes, tiles, slots, 12, chunk);
                assert_eq!(found, right, "{planes} planes, {tiles} tiles, {slots} slots, {chunk}");
            }
            let best = chunks_of(planes, tiles, slots, 12)[0] as usize;
            let best = played(planes, tiles, slots, 12, best);
            let least = (4..=planes).map(|chunk| played(planes, tiles, slots, 12, chunk)).min();
            assert!(best <= least.unwrap() + least.unwrap() / 50, "{best} {least:?}");
        }
    }
}
