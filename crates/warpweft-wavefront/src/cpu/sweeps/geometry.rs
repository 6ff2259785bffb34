//! What the vectors of a recurrence decide about its strips: numbers alone, no cells.
//!
//! Lane `l` of a strip owns row `l` and is `skew × l` columns behind lane 0, so that on front `f` it is at column
//! `f - skew × l`. A cell that it reads was computed a fixed number of fronts before, in a lane a fixed number of rows
//! above: all lanes read the same way.

use crate::frame::Frame;
use crate::recurrence::{Dependence, WavefrontElement, precedences, skew};
use warpweft_core::error::Result;

/// The vectors an element may have of either kind.
pub(super) const MOST: usize = 16;

/// Fronts whose old values and inputs are loaded at once, and whose cells are stored at once.
pub(super) const BLOCK: usize = 32;

/// How the lanes of a front read those of earlier fronts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    /// Rows and columns of the domain.
    pub extents: [usize; 2],
    /// Columns that a lane is behind the one above.
    pub skew: usize,
    /// Rows above a strip that are read.
    pub above: usize,
    /// Rows below a strip whose old values are read.
    pub below: usize,
    /// Columns outside the domain that are read, before and after it.
    pub sides: [usize; 2],
    /// How many fronts ago the cells at `DEPENDENCES` were computed.
    pub earlier: [usize; MOST],
    /// How many fronts ago the values at `OLD` were loaded.
    pub old: [usize; MOST],
    /// Fronts kept: of computed cells, and of old values.
    pub depth: [usize; 2],
    /// Columns that a lane's old values are loaded ahead of it.
    pub ahead: usize,
}

impl Geometry {
    /// Of the element `E` over a domain in `frame`.
    ///
    /// # Errors
    /// Illegal vectors.
    pub fn of<E: WavefrontElement>(frame: &Frame) -> Result<Self> {
        let skew = skew(&precedences(E::DEPENDENCES, E::OLD)?)?;
        let behind = |&[di, dj]: &Dependence| dj + di * skew as isize;
        let farthest = E::OLD.iter().map(behind).max().unwrap_or(0).max(0) as usize;
        // A strip below overwrites old values only after they were loaded.
        let ahead = farthest.max(skew * frame.reach.south);
        let (mut earlier, mut old) = ([0; MOST], [0; MOST]);
        for (to, vector) in earlier.iter_mut().zip(E::DEPENDENCES) {
            *to = behind(vector).unsigned_abs();
        }
        for (to, vector) in old.iter_mut().zip(E::OLD) {
            *to = ahead.saturating_add_signed(-behind(vector));
        }
        let deepest = |all: &[usize]| all.iter().max().map_or(1, |most| most + 1);
        Ok(Self {
            extents: [frame.rows, frame.columns],
            skew,
            above: frame.reach.north,
            below: frame.reach.south,
            sides: [frame.reach.west, frame.reach.east],
            earlier,
            old,
            depth: [deepest(&earlier), if E::OLD.is_empty() { 0 } else { deepest(&old) }],
            ahead,
        })
    }

    /// The front to begin with: before the first cell, as many as are looked back on.
    pub fn first_front(&self) -> isize {
        1 - self.depth[0].max(self.depth[1]) as isize
    }

    /// Fronts of a strip of so many rows, from 0 on.
    pub fn fronts(&self, rows: usize) -> usize {
        self.extents[1] + self.skew * (rows - 1)
    }

    /// Columns that the strip above must have computed, for this strip to go on to front `end`.
    pub fn wanted_above(&self, end: usize) -> usize {
        let lead = self.skew * self.above.max(self.below).max(1);
        (end + lead).min(self.extents[1])
    }

    /// Columns that the strip below must have computed in the sweep before: old values are loaded a block of fronts ahead.
    pub fn wanted_below(&self, end: usize) -> usize {
        (end + self.ahead + BLOCK).min(self.extents[1])
    }

    /// The lanes, of `lanes` in all, that are at columns `from..to` on front `front`.
    #[inline(always)]
    pub fn lanes_at(
        &self,
        front: isize,
        [from, to]: [isize; 2],
        lanes: usize,
    ) -> std::ops::Range<usize> {
        // Lane l is at column front - skew * l. Most skews are 1, and a division takes as long as many cells.
        let lane = |behind: isize| match self.skew {
            1 => behind,
            skew => behind.div_euclid(skew as isize),
        };
        let clamp = |lane: isize| lane.clamp(0, lanes as isize) as usize;
        let first = clamp(lane(front - to) + 1);
        let end = clamp(lane(front - from) + 1);
        first..end.max(first)
    }
}

/// The inputs of all columns in the order in which the lanes of a front read them: one after another, by their
/// remainder modulo the skew, the last column first.
pub(super) struct ByLane<C> {
    columns: Vec<C>,
    /// Where the columns of each remainder begin, and how many there are.
    of: Vec<[usize; 2]>,
    skew: usize,
}

impl<C: Copy> ByLane<C> {
    /// Orders `columns` into `room`, which is empty and has room for all.
    pub fn new(columns: &[C], skew: usize, mut room: Vec<C>) -> Self {
        let mut of = Vec::with_capacity(skew);
        for remainder in 0..skew {
            let begin = room.len();
            let these = columns.iter().skip(remainder).step_by(skew);
            room.extend(these.rev());
            of.push([begin, room.len() - begin]);
        }
        Self { columns: room, of, skew }
    }

    /// Those of `count` lanes from `lane` on, which are all inside the domain on front `front`.
    #[inline(always)]
    pub fn front(&self, front: usize, lane: usize, count: usize) -> &[C] {
        let [begin, all] = self.of[front % self.skew];
        // Lane l is at the column with quotient front / skew - l.
        let first = begin + all + lane - 1 - front / self.skew;
        &self.columns[first..first + count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_read_the_inputs_of_their_columns() {
        for (skew, count) in [(1, 7), (2, 7), (3, 10), (3, 2)] {
            let columns: Vec<_> = (0..count).collect();
            let by_lane = ByLane::new(&columns, skew, Vec::new());
            let frame = Frame { rows: 5, columns: count, reach: Default::default(), pitch: count };
            let geometry = Geometry {
                extents: [frame.rows, frame.columns],
                skew,
                above: 1,
                below: 0,
                sides: [1, 0],
                earlier: [1; MOST],
                old: [0; MOST],
                depth: [2, 0],
                ahead: 0,
            };
            for front in 0..geometry.fronts(5) {
                let lanes = geometry.lanes_at(front as isize, [0, count as isize], 5);
                let expect =
                    (0..5).filter(|l| (0..count).contains(&(front.wrapping_sub(skew * l))));
                assert_eq!(lanes.clone().collect::<Vec<_>>(), expect.collect::<Vec<_>>());
                let expect: Vec<_> = lanes.clone().map(|l| front - skew * l).collect();
                if !lanes.is_empty() {
                    assert_eq!(by_lane.front(front, lanes.start, lanes.len()), expect);
                }
            }
        }
    }
}
