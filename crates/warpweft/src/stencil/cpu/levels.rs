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

/// One stage of one step within a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Level {
    /// Number of the stage.
    pub stage: usize,
    /// Steps from the one that the block begins in to this level's.
    pub step: u64,
    /// Lag behind level 0, per tilted axis (waves, tiles).
    pub shift: [isize; 2],
    /// Cells to compute, per tilted axis.
    pub range: [[isize; 2]; 2],
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
}

/// What a block depends on, besides its length.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// Extents of the tilted axes.
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

    /// The block of `count` levels from `first_stage` on; `present` as in [`Level`].
    pub fn block(&self, first_stage: usize, count: usize, mut present: u32) -> Block {
        let stages = self.radii.len();
        let stage = |l: usize| (first_stage + l) % stages;
        let mut levels: Vec<Level> = Vec::with_capacity(count);
        for l in 0..count {
            let mut shift = [0; 2];
            let mut range = [[0; 2]; 2];
            for axis in 0..2 {
                if let Some(before) = levels.last() {
                    let lag = self.radii[stage(l)][axis].max(self.radii[stage(l - 1)][axis]);
                    shift[axis] = before.shift[axis] + lag as isize;
                }
                let later = || self.depth(axis, stage(l + 1), count - l - 1) as isize;
                let grow = if self.periodic[axis] { later() } else { 0 };
                range[axis] = [-grow, self.extents[axis] as isize + grow];
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
            let low = levels.iter().map(|l| l.range[axis][0] + l.shift[axis]).min();
            let high = levels.iter().map(|l| l.range[axis][1] + l.shift[axis]).max();
            [low.unwrap_or(0), high.unwrap_or(0)]
        };
        let [first, last] = cover(0);
        // No wave is longer than all planes: sums with its length must not overflow.
        let planes = self.planes.clamp(1, ((last - first) as usize).max(1));
        let waves = ((last - first) as usize).div_ceil(planes);
        Block { fill, planes, waves, first, tiles: self.tiles(cover(1)), levels }
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
    /// The cells that level `l` computes in wave `wave` and tile `tile`, per tilted axis; `None`
    /// when there are none.
    pub fn cells(&self, l: usize, wave: usize, tile: usize) -> Option<[[isize; 2]; 2]> {
        let level = &self.levels[l];
        let plane = self.first + (wave * self.planes) as isize;
        let whole = [[plane, plane + self.planes as isize], self.tiles[tile]];
        let mut cells = [[0; 2]; 2];
        for axis in 0..2 {
            let low = (whole[axis][0] - level.shift[axis]).max(level.range[axis][0]);
            let high = (whole[axis][1] - level.shift[axis]).min(level.range[axis][1]);
            if low >= high {
                return None;
            }
            cells[axis] = [low, high];
        }
        Some(cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(periodic: [bool; 2], radii: Vec<[usize; 2]>) -> Shape {
        let flips = radii.iter().map(|_| 1).collect();
        Shape { extents: [9, 11], periodic, radii, flips, tile: 4, planes: 2, workers: 2 }
    }

    /// Replays a block in the two extreme orders that workers may run it in, one tile far ahead
    /// of the next and all abreast, and checks every read against a clock.
    fn check(shape: &Shape, count: usize) {
        let block = shape.block(0, count, 0);
        let (tiles, waves) = (block.tiles.len(), block.waves);
        let ahead = (0..tiles).flat_map(|tile| (0..waves).map(move |wave| (tile, wave)));
        let abreast = (0..waves).flat_map(|wave| (0..tiles).map(move |tile| (tile, wave)));
        replay(shape, count, &block, ahead);
        replay(shape, count, &block, abreast);
    }

    fn replay(
        shape: &Shape,
        count: usize,
        block: &Block,
        order: impl Iterator<Item = (usize, usize)>,
    ) {
        let mut when = std::collections::HashMap::new();
        let mut clock = 0;
        for (tile, wave) in order {
            for l in 0..count {
                let Some([z, y]) = block.cells(l, wave, tile) else { continue };
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
                    // What is read was written before, and is overwritten after.
                    if l > 0
                        && let Some(&t) = when.get(&(l - 1, neighbour.0, neighbour.1))
                    {
                        assert!(t < time, "level {l} cell {z},{y} reads {neighbour:?} too early");
                    }
                    if let Some(&t) = when.get(&(l + 1, neighbour.0, neighbour.1)) {
                        assert!(t > time, "level {l} cell {z},{y} reads {neighbour:?} too late");
                    }
                }
            }
        }
        let volume = (0..9).flat_map(|z| (0..11).map(move |y| (count - 1, z, y)));
        assert!(volume.into_iter().all(|cell| when.contains_key(&cell)), "not all computed");
    }

    #[test]
    fn every_read_finds_what_it_should_in_any_block() {
        for periodic in [[false, false], [true, false], [false, true], [true, true]] {
            for count in 1..6 {
                check(&shape(periodic, vec![[1, 1]]), count);
                check(&shape(periodic, vec![[2, 1], [0, 3]]), count);
                check(&shape(periodic, vec![[0, 0]]), count);
            }
        }
    }

    #[test]
    fn tiles_are_whole_rounds_for_the_workers() {
        let block = shape([false; 2], vec![[1, 1]]).block(0, 3, 0);
        assert_eq!(block.tiles.len() % 2, 0);
        assert_eq!((block.tiles[0][0], block.tiles.last().map(|t| t[1])), (0, Some(13)));
    }
}
