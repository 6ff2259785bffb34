//! A block of time levels cut into waves and tiles: a pure function of spec and policy.
//!
//! A *level* is one stage of one step. A block of levels is traversed by waves along Z and tiles
//! along a second axis, both tilted: level `l` lags `shift[l]` cells behind level 0, so whatever a
//! level reads was produced by an earlier wave, an earlier tile, or earlier in this wave, and
//! nothing is overwritten that is still to be read. There is no redundant work and no side buffer
//! (time skewing after Wonnacott, 2000; waves with one flag a tile as in wavefront temporal
//! blocking, Wellein et al., 2009).
//!
//! Why `shift[l] - shift[l - 1]` is the larger radius of the two levels: by its own radius level
//! `l` waits for what it reads; by level `l - 1`'s it lets that level finish reading what `l`
//! overwrites, be it in place or in the second array.
//!
//! Periodic axes among these two cannot be tilted around the seam. Their ghost cells are filled
//! as deep as all levels together read, and levels compute into them: `grow` cells beyond the
//! volume at each level.

use super::ghosts::Box4;

/// One stage of one step within a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Level {
    /// Number of the stage.
    pub stage: usize,
    /// Steps from the one that the block begins in to this level's.
    pub step: u64,
    /// Lag behind level 0, per tilted axis (waves, tiles).
    pub shift: [isize; 2],
    /// Cells to compute.
    pub range: Box4,
    /// Per field a bit: which of its two arrays holds the present values.
    pub present: u32,
    /// Fields that this level flips to the other array.
    pub flips: u32,
}

/// Several levels, traversed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The levels in order of time.
    pub levels: Vec<Level>,
    /// Depth of ghost cells to fill before, per tilted axis; 0 where it is not periodic.
    pub fill: [usize; 2],
    /// Planes of a wave.
    pub planes: usize,
    /// Number of waves.
    pub waves: usize,
    /// First plane of level 0.
    pub first: isize,
    /// Tiles at level 0.
    pub tiles: Vec<[isize; 2]>,
    /// The tilted axes.
    axes: [usize; 2],
}

/// What a block depends on, besides its length.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// The tilted axes: that of the waves, and that of the tiles.
    pub axes: [usize; 2],
    /// Their extents.
    pub extents: [usize; 2],
    /// Which of them are periodic.
    pub periodic: [bool; 2],
    /// Per stage, the larger radius along each tilted axis.
    pub radii: Vec<[usize; 2]>,
    /// Per stage, the fields it flips.
    pub flips: Vec<u32>,
    /// Cells of a tile along the tile axis.
    pub tile: usize,
    /// Planes of a wave.
    pub planes: usize,
    /// Workers.
    pub workers: usize,
}

impl Shape {
    /// The depth of ghost cells that a block of `levels` levels from `first_stage` on needs.
    pub fn depth(&self, axis: usize, first_stage: usize, levels: usize) -> usize {
        (0..levels).map(|l| self.radii[(first_stage + l) % self.radii.len()][axis]).sum()
    }

    /// The depth of ghost cells that blocks of `levels` levels need along each tilted axis; 0 where it is not periodic.
    pub fn filled(&self, levels: usize) -> [usize; 2] {
        std::array::from_fn(|axis| match self.periodic[axis] {
            true => {
                let stages = 0..self.radii.len();
                stages.map(|first| self.depth(axis, first, levels)).max().unwrap_or(0)
            }
            false => 0,
        })
    }

    /// At most `levels`, but no more than ghost cells as deep as a periodic axis is long allow: more
    /// would compute the volume over and over. A step is allowed always.
    pub fn shallow(&self, levels: usize) -> usize {
        let stages = self.radii.len();
        let mut levels = levels;
        for axis in (0..2).filter(|&axis| self.periodic[axis]) {
            if let Some(steps) = self.extents[axis].checked_div(self.depth(axis, 0, stages)) {
                levels = levels.min(steps.max(1) * stages);
            }
        }
        levels
    }

    /// The block of `count` levels from `first_stage` on; `present` as in [`Level`]. Of the volume,
    /// level `l` computes `within(l)`, which is all of it along periodic axes.
    pub fn block(
        &self,
        first_stage: usize,
        count: usize,
        mut present: u32,
        within: impl Fn(usize) -> Box4,
    ) -> Block {
        let stages = self.radii.len();
        let stage = |l: usize| (first_stage + l) % stages;
        let mut levels: Vec<Level> = Vec::with_capacity(count);
        for l in 0..count {
            let mut shift = [0; 2];
            let mut range = within(l);
            for axis in 0..2 {
                if let Some(before) = levels.last() {
                    let lag = self.radii[stage(l)][axis].max(self.radii[stage(l - 1)][axis]);
                    shift[axis] = before.shift[axis] + lag as isize;
                }
                let later = || self.depth(axis, stage(l + 1), count - l - 1) as isize;
                let grow = if self.periodic[axis] { later() } else { 0 };
                let [low, high] = &mut range[self.axes[axis]];
                (*low, *high) = (*low - grow, *high + grow);
            }
            let flips = self.flips[stage(l)];
            let step = ((first_stage + l) / stages) as u64;
            levels.push(Level { stage: stage(l), step, shift, range, present, flips });
            present ^= flips;
        }
        let fill = [0, 1]
            .map(|axis| if self.periodic[axis] { self.depth(axis, first_stage, count) } else { 0 });
        // Extent of the tilted axes as level 0 would have to cover them.
        let cover = |axis: usize| {
            let end = |side: usize| {
                levels.iter().map(move |l| l.range[self.axes[axis]][side] + l.shift[axis])
            };
            [end(0).min().unwrap_or(0), end(1).max().unwrap_or(0)]
        };
        let [first, last] = cover(0);
        // No wave is longer than all planes: sums with its length must not overflow.
        let planes = self.planes.clamp(1, ((last - first) as usize).max(1));
        let waves = ((last - first) as usize).div_ceil(planes);
        let tiles = self.tiles(cover(1));
        Block { fill, planes, waves, first, tiles, levels, axes: self.axes }
    }

    /// Tiles of equal width; as many as keep all workers busy to the end.
    fn tiles(&self, [low, high]: [isize; 2]) -> Vec<[isize; 2]> {
        let span = (high - low) as usize;
        let mut count = span.div_ceil(self.tile.max(1));
        if count > 1 {
            count = count.next_multiple_of(self.workers).min(span);
        }
        let cut = |i: usize| low + (span * i / count) as isize;
        (0..count).map(|i| [cut(i), cut(i + 1)]).collect()
    }
}

impl Block {
    /// The cells that level `l` computes in wave `wave` and tile `tile`; `None` when there are none.
    pub fn cells(&self, l: usize, wave: usize, tile: usize) -> Option<Box4> {
        let level = &self.levels[l];
        let plane = self.first + (wave * self.planes) as isize;
        let whole = [[plane, plane + self.planes as isize], self.tiles[tile]];
        let mut cells = level.range;
        for axis in 0..2 {
            let [low, high] = &mut cells[self.axes[axis]];
            *low = (whole[axis][0] - level.shift[axis]).max(*low);
            *high = (whole[axis][1] - level.shift[axis]).min(*high);
            if low >= high {
                return None;
            }
        }
        Some(cells)
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::{Y, Z};
    use super::*;

    fn shape(periodic: [bool; 2], radii: Vec<[usize; 2]>) -> Shape {
        let flips = radii.iter().map(|_| 1).collect();
        let axes = [Z, Y];
        Shape { axes, extents: [9, 11], periodic, radii, flips, tile: 4, planes: 2, workers: 2 }
    }

    const WHOLE: Box4 = [[0, 9], [0, 11], [0, 1], [0, 1]];

    /// Replays a block in the two extreme orders that workers may run it in, one tile far ahead
    /// of the next and all abreast, and checks every read against a clock. Given how far `below` the
    /// middle of the volume its last level begins, levels compute only what that one depends on.
    fn check(shape: &Shape, count: usize, below: Option<isize>) {
        let within = |l: usize| {
            let Some(below) = below else { return WHOLE };
            let mut range = WHOLE;
            for axis in (0..2).filter(|&axis| !shape.periodic[axis]) {
                let reach = shape.depth(axis, l + 1, count - l - 1) as isize;
                let end = shape.extents[axis] as isize;
                let middle = end / 2;
                range[axis] = [(middle - below - reach).max(0), (middle + 1 + reach).min(end)];
            }
            range
        };
        let block = shape.block(0, count, 0, within);
        let (tiles, waves) = (block.tiles.len(), block.waves);
        let ahead = (0..tiles).flat_map(|tile| (0..waves).map(move |wave| (tile, wave)));
        let abreast = (0..waves).flat_map(|wave| (0..tiles).map(move |tile| (tile, wave)));
        replay(shape, &block, within, ahead);
        replay(shape, &block, within, abreast);
    }

    fn replay(
        shape: &Shape,
        block: &Block,
        within: impl Fn(usize) -> Box4,
        order: impl Iterator<Item = (usize, usize)>,
    ) {
        let count = block.levels.len();
        let mut when = std::collections::HashMap::new();
        let mut clock = 0;
        for (tile, wave) in order {
            for l in 0..count {
                let Some([z, y, ..]) = block.cells(l, wave, tile) else { continue };
                clock += 1;
                for z in z[0]..z[1] {
                    for y in y[0]..y[1] {
                        assert!(when.insert((l, z, y), clock).is_none(), "computed twice");
                    }
                }
            }
        }
        for (&(l, z, y), &time) in &when {
            let radius = shape.radii[l % shape.radii.len()].map(|r| r as isize);
            for dz in -radius[0]..=radius[0] {
                for dy in -radius[1]..=radius[1] {
                    let neighbour = (z + dz, y + dy);
                    let outside = [neighbour.0, neighbour.1]
                        .iter()
                        .zip(shape.extents)
                        .any(|(&at, n)| at < 0 || at >= n as isize);
                    // What is read was written before, and is overwritten after.
                    match when.get(&(l.wrapping_sub(1), neighbour.0, neighbour.1)) {
                        Some(&t) => {
                            assert!(t < time, "level {l} cell {z},{y} reads {neighbour:?} early")
                        }
                        None => assert!(l == 0 || outside, "{l} {z},{y} reads {neighbour:?}"),
                    }
                    if let Some(&t) = when.get(&(l + 1, neighbour.0, neighbour.1)) {
                        assert!(t > time, "level {l} cell {z},{y} reads {neighbour:?} too late");
                    }
                }
            }
        }
        for l in 0..count {
            let [z, y, ..] = within(l);
            let mut all = (z[0]..z[1]).flat_map(|z| (y[0]..y[1]).map(move |y| (l, z, y)));
            assert!(all.all(|cell| when.contains_key(&cell)), "not all computed");
            let beyond = |axis: usize, at: isize, within: [isize; 2]| {
                !shape.periodic[axis] && (at < within[0] || at >= within[1])
            };
            let too_many = |&&(of, row, column): &&(usize, isize, isize)| {
                of == l && (beyond(0, row, z) || beyond(1, column, y))
            };
            assert_eq!(when.keys().find(too_many), None, "computed without need");
        }
    }

    #[test]
    fn every_read_finds_what_it_should_in_any_block() {
        for periodic in [[false, false], [true, false], [false, true], [true, true]] {
            for count in 1..6 {
                for below in [None, Some(0), Some(3)] {
                    check(&shape(periodic, vec![[1, 1]]), count, below);
                    check(&shape(periodic, vec![[2, 1], [0, 3]]), count, below);
                    check(&shape(periodic, vec![[0, 0]]), count, below);
                }
            }
        }
    }

    #[test]
    fn tiles_are_whole_rounds_for_the_workers() {
        let block = shape([false; 2], vec![[1, 1]]).block(0, 3, 0, |_| WHOLE);
        assert_eq!(block.tiles.len() % 2, 0);
        assert_eq!((block.tiles[0][0], block.tiles.last().map(|t| t[1])), (0, Some(13)));
    }
}
