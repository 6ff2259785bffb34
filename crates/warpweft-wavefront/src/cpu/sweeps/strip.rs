//! One strip of rows in one sweep, in flight: the cells of its last fronts, in lanes.
//!
//! A front is one cell a lane. The last few fronts lie in a ring, next to each the cells of the rows above the strip that
//! its lanes read, and what is outside the domain: so every lane reads everything the same way, and the loop over lanes
//! vectorises. Old values come from a ring of their own, each loaded once.
//!
//! Rows lie far apart in memory, and where the distance is a power of two their cells compete for the same places in caches. So
//! what comes from all rows or goes there (old values, inputs, and cells that all are stored) does so a few fronts at a time: then
//! each row is visited once for a line of its cells.

use super::front::{Loops, Read, Score, Write};
use super::geometry::{BLOCK, ByLane, Geometry, MOST};
use super::prefetch::prefetch;
use super::ring::Ring;
use super::store::Store;
use super::transpose::{SIDE, Transpose};
use crate::cpu::output::TileRowOutput;
use crate::recurrence::{Best, Extreme, WavefrontElement, is_nan};
use crate::spec::{Keep, Wavefront};

/// What all strips share.
pub(super) struct Shared<'a, 'w, E: WavefrontElement> {
    pub wavefront: &'a Wavefront<'w, E>,
    pub geometry: Geometry,
    pub columns: ByLane<E::Column>,
    pub store: Store<E::Cell>,
    pub loops: Loops<E>,
    /// How blocks of cells go to and from memory, if not cell by cell.
    pub transpose: Option<Transpose<E::Cell>>,
    /// Which scores are compared on the way.
    pub extreme: Option<Extreme>,
}

/// A strip.
pub(super) struct Strip<'s, 'a, 'w, E: WavefrontElement> {
    shared: &'s Shared<'a, 'w, E>,
    first_row: usize,
    lanes: usize,
    /// Of cells that are stored block by block: the first lane whose cells anybody reads.
    stored: usize,
    /// The front to be computed next.
    front: isize,
    computed: Ring<E::Cell>,
    loaded: Ring<E::Cell>,
    /// The cells' own inputs on a block of fronts, front by front.
    inputs: Vec<E::Input>,
    /// Fronts of the present block that are done, the number of which is less than a block's, and how many computed ones have
    /// not been stored.
    begun: usize,
    unstored: usize,
    winning: Vec<Score<E>>,
    found: Vec<u32>,
}

/// Stands for: no cell was better than the worst score that there is.
const NOT_FOUND: u32 = u32::MAX;

impl<'s, 'a, 'w, E: WavefrontElement> Strip<'s, 'a, 'w, E> {
    /// The strip of the rows `rows`. `last`: in the last sweep.
    pub fn new(shared: &'s Shared<'a, 'w, E>, rows: std::ops::Range<usize>, last: bool) -> Self {
        let Geometry { above, below, depth, .. } = shared.geometry;
        let lanes = rows.len();
        // Cells wait for the rest of their block; old values come with those of the block.
        let (waiting, coming) = if E::OLD.is_empty() { (0, 0) } else { (BLOCK + 1, BLOCK - 1) };
        let inputs = if size_of::<E::Input>() > 0 { BLOCK * lanes } else { lanes };
        let tracked = if shared.extreme.is_some() { lanes } else { 0 };
        let worst = shared.extreme.map_or_else(Default::default, Extreme::worst);
        // Of the last sweep's cells the strip below reads the last rows, and so does who wants the last row.
        let few = last && shared.wavefront.keep == Keep::LastRow;
        let stored = if few { lanes.saturating_sub(above.max(1)) } else { 0 };
        Self {
            shared,
            first_row: rows.start,
            lanes,
            stored: stored / SIDE * SIDE,
            front: shared.geometry.first_front(),
            computed: Ring::new(depth[0].max(waiting), above + lanes),
            loaded: Ring::new(depth[1] + coming, lanes + below),
            inputs: vec![E::Input::default(); inputs],
            begun: 0,
            unstored: 0,
            winning: vec![worst; tracked],
            found: vec![NOT_FOUND; tracked],
        }
    }

    /// Computes all fronts before `end`, and hands what is kept to `output`.
    ///
    /// # Safety
    /// The strip above must have computed the columns that [`Geometry::wanted_above`] says for `end`, and the strip below
    /// those of [`Geometry::wanted_below`] in the sweep before; no other worker may be at this strip.
    pub unsafe fn advance(
        &mut self,
        end: usize,
        mut output: Option<&mut TileRowOutput<'_, E::Cell>>,
    ) {
        while self.front < end as isize {
            // SAFETY: passed on to the caller.
            unsafe {
                self.load_above();
                if self.begun == 0 {
                    self.load_old();
                    self.load_inputs();
                }
            }
            self.fill_sides();
            if let Ok(front) = usize::try_from(self.front) {
                let [_, columns] = self.shared.geometry.extents;
                let lanes =
                    self.shared.geometry.lanes_at(self.front, [0, columns as isize], self.lanes);
                if !lanes.is_empty() {
                    self.compute(front, lanes.clone());
                    if const { E::OLD.is_empty() } {
                        // SAFETY: passed on to the caller.
                        unsafe { self.store_last_rows(front, lanes.clone()) };
                    }
                    if let Some(output) = output.as_deref_mut().filter(|output| output.keeps()) {
                        self.keep(front, lanes, output);
                    }
                }
            }
            self.front += 1;
            self.begun = (self.begun + 1) % BLOCK;
            self.computed.next();
            if !E::OLD.is_empty() {
                self.loaded.next();
                self.unstored += 1;
                if self.unstored == BLOCK {
                    // SAFETY: passed on to the caller.
                    unsafe { self.store_block() };
                }
            }
        }
        // SAFETY: passed on to the caller.
        unsafe { self.store_block() };
    }

    /// The cells of the rows above on this front.
    ///
    /// # Safety
    /// As [`Strip::advance`].
    unsafe fn load_above(&mut self) {
        let Shared { wavefront, geometry, store, .. } = self.shared;
        let Geometry { extents: [_, columns], sides: [west, east], above, skew, .. } = *geometry;
        for up in 1..=above {
            let column = self.front + (skew * up) as isize;
            if column < -(west as isize) || column >= (columns + east) as isize {
                continue;
            }
            let cell = match usize::try_from(column) {
                // SAFETY: the strip above has computed this column and does not write it again before this strip has
                // published it.
                Ok(inside) if inside < columns => unsafe {
                    store.get(store.above(self.first_row, up), column)
                },
                _ => wavefront.border.at(self.first_row as isize - up as isize, column),
            };
            self.computed.front()[above - up] = cell;
        }
    }

    /// What cells, each at a fixed distance ahead of its lane, held before this sweep: of the next block of fronts.
    ///
    /// # Safety
    /// As [`Strip::advance`].
    unsafe fn load_old(&mut self) {
        if const { E::OLD.is_empty() } {
            return;
        }
        let Shared { geometry, store, .. } = self.shared;
        let Geometry { extents: [rows, columns], sides: [west, east], skew, .. } = *geometry;
        let ahead = self.front + geometry.ahead as isize;
        // All rows of the frame, with those below the domain.
        let lanes =
            self.lanes + geometry.below.min(rows + geometry.below - self.first_row - self.lanes);
        let places = self.loaded.ahead();
        let inside = [-(west as isize), (columns + east) as isize];
        let mut lane = 0;
        while lane < lanes {
            // Below: in the frame. This strip has not overwritten it, as it is ahead; the sweep before is through with it, and a
            // strip below overwrites it only when this one is a row of lanes further.
            if let Some(transpose) = self.whole_block(ahead, lane..lanes, inside) {
                // The next block's: rows lie far apart, so nothing else would guess them.
                for row in self.rows_of_block(lane, ahead) {
                    prefetch(row.wrapping_add(BLOCK), BLOCK * size_of::<E::Cell>());
                }
                for (at, fronts) in (0..).step_by(SIDE).zip(places.chunks_exact(SIDE)) {
                    let from = self.rows_of_block(lane, ahead + at).map(<*mut E::Cell>::cast_const);
                    let to: [_; SIDE] = std::array::from_fn(|k| {
                        self.loaded.cells[fronts[k] + lane..][..SIDE].as_mut_ptr()
                    });
                    // SAFETY: see above; these fronts of the ring are this strip's own.
                    unsafe { transpose(from, to) };
                }
                lane += SIDE;
                continue;
            }
            let column = ahead - (skew * lane) as isize;
            let row = store.above(self.first_row + lane + 1, 1);
            let fronts = within(column, inside);
            for (place, column) in
                places[fronts.clone()].iter().zip(column + fronts.start as isize..)
            {
                // SAFETY: see above.
                self.loaded.cells[place + lane] = unsafe { store.get(row, column) };
            }
            lane += 1;
        }
    }

    /// How to copy the cells of the first lanes of `lanes` on a block of fronts, if all of them are in the columns `inside`;
    /// lane 0 is at `column` on the first front.
    #[inline(always)]
    fn whole_block(
        &self,
        column: isize,
        lanes: std::ops::Range<usize>,
        [from, to]: [isize; 2],
    ) -> Option<Transpose<E::Cell>> {
        let skew = self.shared.geometry.skew;
        let [first, last] =
            [lanes.start, lanes.start + SIDE - 1].map(|lane| column - (skew * lane) as isize);
        let whole = lanes.len() >= SIDE && last >= from && first + BLOCK as isize <= to;
        self.shared.transpose.filter(|_| whole)
    }

    /// Where the cells of the lanes of a block from `lane` on lie, of which lane 0 would be at `column`.
    #[inline(always)]
    fn rows_of_block(&self, lane: usize, column: isize) -> [*mut E::Cell; SIDE] {
        let Shared { geometry, store, .. } = self.shared;
        std::array::from_fn(|i| {
            let row = store.above(self.first_row + lane + i + 1, 1);
            store.several(row, column - (geometry.skew * (lane + i)) as isize, SIDE)
        })
    }

    /// The cells' own inputs, of the next block of fronts.
    fn load_inputs(&mut self) {
        if const { size_of::<E::Input>() == 0 } {
            return;
        }
        let Shared { wavefront, geometry, .. } = self.shared;
        let Geometry { extents: [_, columns], skew, .. } = *geometry;
        let rows = wavefront.inputs[self.first_row * columns..].chunks_exact(columns);
        for (lane, row) in (0..self.lanes).zip(rows) {
            let column = self.front - (skew * lane) as isize;
            for k in within(column, [0, columns as isize]) {
                self.inputs[k * self.lanes + lane] = row[(column + k as isize) as usize];
            }
        }
    }

    /// What is outside the domain, to the west and to the east of the lanes on this front.
    fn fill_sides(&mut self) {
        let Shared { wavefront, geometry, .. } = self.shared;
        let Geometry { extents: [_, columns], sides: [west, east], above, skew, .. } = *geometry;
        for columns in [[-(west as isize), 0], [columns as isize, (columns + east) as isize]] {
            for lane in geometry.lanes_at(self.front, columns, self.lanes) {
                let column = self.front - (skew * lane) as isize;
                let row = (self.first_row + lane) as isize;
                self.computed.front()[above + lane] = wavefront.border.at(row, column);
            }
        }
    }

    /// Those of `lanes` whose cells are in the band on this front.
    fn banded(&self, lanes: &std::ops::Range<usize>) -> std::ops::Range<usize> {
        let Some(band) = &self.shared.wavefront.band else { return lanes.clone() };
        // Lane l is at row `first_row + l` and column `front - skew * l`.
        let step = self.shared.geometry.skew as i128 + 1;
        let diagonal = self.front as i128 - self.first_row as i128;
        let clamp = |lane: i128| lane.clamp(lanes.start as i128, lanes.end as i128) as usize;
        let first = clamp((diagonal - band.upper as i128 - 1).div_euclid(step) + 1);
        let end = clamp((diagonal - band.lower as i128).div_euclid(step) + 1);
        first..end.max(first)
    }

    /// The cells of `lanes` on front `front`.
    fn compute(&mut self, front: usize, lanes: std::ops::Range<usize>) {
        let Shared { wavefront, geometry, columns, loops, .. } = self.shared;
        let inside = self.banded(&lanes);
        let above = geometry.above;
        if let Some(band) = &wavefront.band {
            self.computed.front()[above + lanes.start..above + lanes.end].fill(band.outside);
        }
        if inside.is_empty() {
            return;
        }
        let given = if size_of::<E::Input>() > 0 { self.begun * self.lanes } else { 0 };
        let rows = self.first_row + inside.start..self.first_row + inside.end;
        let now = self.computed.before(0) + above + inside.start;
        let (cells, old) = (self.computed.cells.as_mut_ptr(), self.loaded.cells.as_ptr());
        let mut read = Read::<E> {
            earlier: [std::ptr::null(); MOST],
            old: [std::ptr::null(); MOST],
            rows: &wavefront.rows[rows],
            columns: columns.front(front, inside.start, inside.len()),
            cells: &self.inputs[given..][inside.clone()],
        };
        for (k, &[up, _]) in E::DEPENDENCES.iter().enumerate() {
            let lane = (above + inside.start).wrapping_add_signed(up);
            read.earlier[k] = cells.wrapping_add(self.computed.before(geometry.earlier[k]) + lane);
        }
        for (k, &[down, _]) in E::OLD.iter().enumerate() {
            let lane = inside.start.wrapping_add_signed(down);
            read.old[k] = old.wrapping_add(self.loaded.before(geometry.old[k]) + lane);
        }
        let tracked = if self.winning.is_empty() { 0..0 } else { inside.clone() };
        // SAFETY: these lanes are in the present front's row of the ring, and what they read is in other rows of it or in
        // the other ring: a dependence is at least one front back, and fewer than there are.
        unsafe {
            let write = Write {
                cells: std::slice::from_raw_parts_mut(cells.add(now), inside.len()),
                winning: &mut self.winning[tracked.clone()],
                found: &mut self.found[tracked],
            };
            loops.front(&wavefront.element, &read, write, front as u32);
        }
    }

    /// Puts those of the cells of `lanes` that strips below read where they find them.
    ///
    /// # Safety
    /// As [`Strip::advance`].
    unsafe fn store_last_rows(&mut self, front: usize, lanes: std::ops::Range<usize>) {
        let Shared { geometry, store, .. } = self.shared;
        let Geometry { above, skew, .. } = *geometry;
        let end = self.first_row + self.lanes;
        let stored = self.lanes - store.stored(self.lanes)..self.lanes;
        let cells = self.computed.front();
        for lane in lanes.start.max(stored.start)..lanes.end {
            let row = store.above(end, self.lanes - lane);
            // SAFETY: this strip alone computes the cell, and has read what was there; who else reads it has done so or
            // waits for this strip to publish it.
            unsafe { store.set(row, front as isize - (skew * lane) as isize, cells[above + lane]) };
        }
    }

    /// Puts the cells of the fronts that have not been stored where later strips and sweeps find them.
    ///
    /// # Safety
    /// As [`Strip::advance`].
    unsafe fn store_block(&mut self) {
        if self.unstored == 0 {
            return;
        }
        let Shared { geometry, store, .. } = self.shared;
        let Geometry { extents: [_, columns], above, skew, .. } = *geometry;
        let first = self.front - self.unstored as isize;
        let places: [usize; BLOCK] =
            std::array::from_fn(|k| self.computed.before(self.unstored.saturating_sub(k)) + above);
        let inside = [0, columns as isize];
        let mut lane = self.stored;
        while lane < self.lanes {
            let whole = self.whole_block(first, lane..self.lanes, inside);
            if let Some(transpose) = whole.filter(|_| self.unstored == BLOCK) {
                for (at, fronts) in (0..).step_by(SIDE).zip(places.chunks_exact(SIDE)) {
                    let from: [_; SIDE] = std::array::from_fn(|k| {
                        self.computed.cells[fronts[k] + lane..][..SIDE].as_ptr()
                    });
                    // SAFETY: as for `store_last_rows`; eight cells each of eight rows.
                    unsafe { transpose(from, self.rows_of_block(lane, first + at)) };
                }
                lane += SIDE;
                continue;
            }
            let column = first - (skew * lane) as isize;
            let row = store.above(self.first_row + lane + 1, 1);
            let fronts = within(column, inside);
            let fronts = fronts.start..fronts.end.min(self.unstored).max(fronts.start);
            for (place, column) in
                places[fronts.clone()].iter().zip(column + fronts.start as isize..)
            {
                // SAFETY: as for `store_last_rows`.
                unsafe { store.set(row, column, self.computed.cells[place + lane]) };
            }
            lane += 1;
        }
        self.unstored = 0;
    }

    /// Hands the cells of `lanes` to `output`.
    fn keep(
        &mut self,
        front: usize,
        lanes: std::ops::Range<usize>,
        output: &mut TileRowOutput<'_, E::Cell>,
    ) {
        let inside = self.banded(&lanes);
        let Shared { geometry, loops, .. } = self.shared;
        let Geometry { above, skew, extents: [_, columns], .. } = *geometry;
        let cells = self.computed.front();
        if !output.matrix.is_empty() {
            for lane in lanes.clone() {
                output.matrix[lane * columns + front - skew * lane] = cells[above + lane];
            }
        }
        if !output.last_column.is_empty() && front - skew * lanes.start + 1 == columns {
            output.last_column[lanes.start] = cells[above + lanes.start];
        }
        if let Some(all) = &mut output.sum {
            *all += loops.sum(&cells[above + inside.start..above + inside.end]);
        }
    }

    /// The best of all cells, once the strip is done.
    pub fn best(&self) -> Option<Best<Score<E>>> {
        let extreme = self.shared.extreme?;
        let mut best = None;
        for (lane, (&score, &front)) in self.winning.iter().zip(&self.found).enumerate() {
            let row = self.first_row + lane;
            let column = match front {
                NOT_FOUND => self.first_column(row),
                front => Some(front as usize - self.shared.geometry.skew * lane),
            };
            if let Some(column) = column.filter(|_| !is_nan(score)) {
                best = Best::of(best, Some(Best { score, row, column }), extreme);
            }
        }
        best
    }

    /// The first column of `row` that is computed.
    fn first_column(&self, row: usize) -> Option<usize> {
        let columns = self.shared.geometry.extents[1];
        let first = match &self.shared.wavefront.band {
            None => 0,
            Some(band) => row.saturating_add_signed(band.lower),
        };
        (first < columns && self.shared.wavefront.computes(row, first)).then_some(first)
    }
}

/// The fronts of a block, of a lane that is at `column` on the first of them, on which it is at one of `columns`.
#[inline(always)]
fn within(column: isize, [from, to]: [isize; 2]) -> std::ops::Range<usize> {
    let clamp = |front: isize| front.clamp(0, BLOCK as isize) as usize;
    let first = clamp(from - column);
    first..clamp(to - column).max(first)
}
