//! One strip of rows in one sweep, in flight: the cells of its last fronts, in lanes.
//!
//! A front is one cell a lane. The last few fronts lie in a ring, next to each the cells of the rows above the strip that
//! its lanes read, and what is outside the domain: so every lane reads everything the same way, and the loop over lanes
//! vectorises. Old values come from a ring of their own, each loaded once.

use super::front::{Loops, Read, Score, Write};
use super::geometry::{ByLane, Geometry, MOST};
use super::store::Store;
use crate::cpu::output::TileRowOutput;
use crate::recurrence::{Best, Extreme, WavefrontElement, is_nan};
use crate::spec::Wavefront;

/// What all strips share.
pub(super) struct Shared<'a, 'w, E: WavefrontElement> {
    pub wavefront: &'a Wavefront<'w, E>,
    pub geometry: Geometry,
    pub columns: ByLane<E::Column>,
    pub store: Store<E::Cell>,
    pub loops: Loops<E>,
    /// Which scores are compared on the way.
    pub extreme: Option<Extreme>,
}

/// Fronts in a ring: a row of cells each.
struct Ring<C> {
    cells: Vec<C>,
    depth: usize,
    width: usize,
    /// Where the present front is.
    slot: usize,
}

impl<C: Copy + Default> Ring<C> {
    fn new(depth: usize, width: usize) -> Self {
        Self { cells: vec![C::default(); depth * width], depth, width, slot: 0 }
    }

    fn next(&mut self) {
        self.slot = if self.slot + 1 == self.depth { 0 } else { self.slot + 1 };
    }

    /// The present front.
    fn front(&mut self) -> &mut [C] {
        &mut self.cells[self.slot * self.width..][..self.width]
    }

    /// Where the front so many before the present one begins.
    #[inline(always)]
    fn before(&self, fronts: usize) -> usize {
        let slot = match self.slot >= fronts {
            true => self.slot - fronts,
            false => self.slot + self.depth - fronts,
        };
        slot * self.width
    }
}

/// A strip.
pub(super) struct Strip<'s, 'a, 'w, E: WavefrontElement> {
    shared: &'s Shared<'a, 'w, E>,
    first_row: usize,
    lanes: usize,
    /// The front to be computed next.
    front: isize,
    computed: Ring<E::Cell>,
    loaded: Ring<E::Cell>,
    /// The cells' own inputs on the present front.
    inputs: Vec<E::Input>,
    winning: Vec<Score<E>>,
    found: Vec<u32>,
}

/// Stands for: no cell was better than the worst score that there is.
const NOT_FOUND: u32 = u32::MAX;

impl<'s, 'a, 'w, E: WavefrontElement> Strip<'s, 'a, 'w, E> {
    /// The strip of the rows `rows`.
    pub fn new(shared: &'s Shared<'a, 'w, E>, rows: std::ops::Range<usize>) -> Self {
        let Geometry { above, below, depth, .. } = shared.geometry;
        let lanes = rows.len();
        let tracked = if shared.extreme.is_some() { lanes } else { 0 };
        let worst = shared.extreme.map_or_else(Default::default, Extreme::worst);
        Self {
            shared,
            first_row: rows.start,
            lanes,
            front: shared.geometry.first_front(),
            computed: Ring::new(depth[0], above + lanes),
            loaded: Ring::new(depth[1], lanes + below),
            inputs: vec![E::Input::default(); lanes],
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
                self.load_old();
            }
            self.fill_sides();
            if let Ok(front) = usize::try_from(self.front) {
                let [_, columns] = self.shared.geometry.extents;
                let lanes =
                    self.shared.geometry.lanes_at(self.front, [0, columns as isize], self.lanes);
                if !lanes.is_empty() {
                    self.compute(front, lanes.clone());
                    // SAFETY: passed on to the caller.
                    unsafe { self.store(front, lanes.clone()) };
                    if let Some(output) = output.as_deref_mut().filter(|output| output.keeps()) {
                        self.keep(front, lanes, output);
                    }
                }
            }
            self.front += 1;
            self.computed.next();
            if !E::OLD.is_empty() {
                self.loaded.next();
            }
        }
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

    /// What cells, each at a fixed distance ahead of its lane, held before this sweep.
    ///
    /// # Safety
    /// As [`Strip::advance`].
    unsafe fn load_old(&mut self) {
        if const { E::OLD.is_empty() } {
            return;
        }
        let Shared { geometry, store, .. } = self.shared;
        let Geometry { extents: [rows, columns], sides: [west, east], .. } = *geometry;
        let ahead = self.front + geometry.ahead as isize;
        let columns = [-(west as isize), (columns + east) as isize];
        // All rows of the frame, with those below the domain.
        let lanes =
            self.lanes + geometry.below.min(rows + geometry.below - self.first_row - self.lanes);
        let lanes = geometry.lanes_at(ahead, columns, lanes);
        let stride = store.pitch() - geometry.skew;
        let mut at = store.above(self.first_row + lanes.start + 1, 1);
        let column = ahead - (geometry.skew * lanes.start) as isize;
        for to in &mut self.loaded.front()[lanes] {
            // SAFETY: in the frame. This strip has not overwritten it, as it is ahead; the sweep before is through with it,
            // and a strip below overwrites it only when this one is a row of lanes further.
            *to = unsafe { store.get(at, column) };
            at += stride;
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
        if size_of::<E::Input>() > 0 {
            let stride = geometry.extents[1] as isize - geometry.skew as isize;
            let first = (self.first_row * geometry.extents[1] + front) as isize;
            for (lane, input) in self.inputs[inside.clone()].iter_mut().enumerate() {
                let at = first + (inside.start + lane) as isize * stride;
                *input = wavefront.inputs[at as usize];
            }
        }
        let rows = self.first_row + inside.start..self.first_row + inside.end;
        let now = self.computed.before(0) + above + inside.start;
        let (cells, old) = (self.computed.cells.as_mut_ptr(), self.loaded.cells.as_ptr());
        let mut read = Read::<E> {
            earlier: [std::ptr::null(); MOST],
            old: [std::ptr::null(); MOST],
            rows: &wavefront.rows[rows],
            columns: columns.front(front, inside.start, inside.len()),
            cells: &self.inputs[inside.clone()],
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

    /// Puts the cells of `lanes` where later strips and sweeps find them.
    ///
    /// # Safety
    /// As [`Strip::advance`].
    unsafe fn store(&mut self, front: usize, lanes: std::ops::Range<usize>) {
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
