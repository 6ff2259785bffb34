//! Dependences on rows above alone: one row after the other by one worker, its columns in vectors.
//!
//! Cells of a row do not wait for one another, so there is no front: all that is read lies side by side in memory. The
//! last rows lie in a ring, next to each the cells outside the domain that are read. Rows are computed whole, one by one: of
//! several rows at once, the inputs come from as many places in memory, which takes longer. Not here: bands, and old values.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::front::{Loops, Read, Score, Write};
use super::geometry::MOST;
use super::prefetch::prefetch;
use crate::cpu::output::{Filled, Outcome};
use crate::cpu::thread_group::{Stopped, ThreadGroup};
use crate::frame::allocate;
use crate::recurrence::{Best, Extreme, Reach, WavefrontElement, is_nan};
use crate::spec::{Keep, Wavefront};
use warpweft_core::cpu::{Aborted, Simd, Worker};
use warpweft_core::error::Result;
use warpweft_core::run::Done;

/// Whether `E` reads cells of rows above, and no others.
pub(in crate::cpu) const fn reads_rows_above<E: WavefrontElement>() -> bool {
    let mut k = 0;
    while k < E::DEPENDENCES.len() {
        if E::DEPENDENCES[k][0] >= 0 {
            return false;
        }
        k += 1;
    }
    k > 0 && E::OLD.is_empty()
}

/// A wavefront without a band, ready to run.
pub(in crate::cpu) struct Rows<'a, 'w, E: WavefrontElement> {
    wavefront: &'a Wavefront<'w, E>,
    loops: Loops<E>,
    extreme: Option<Extreme>,
    reach: Reach,
    state: Mutex<State<'a, E>>,
}

/// What the rows leave.
struct State<'a, E: WavefrontElement> {
    /// The last rows, with what is outside on either side.
    ring: Vec<E::Cell>,
    /// A row's input and, where cells have none, theirs: for each column of a piece.
    row: Vec<E::Row>,
    none: Vec<E::Input>,
    /// Of each column the winning score, and its row.
    winning: Vec<Score<E>>,
    found: Vec<u32>,
    filled: &'a mut Filled<E::Cell>,
    sum: i128,
}

/// Columns of a piece at most. Seam carving on a core of an EPYC with AVX2, one row at a time: 5.4 Gcells/s at 8192 squared and 5.1 at 64 x 2^20, in pieces of
/// any length; eight rows at a time: 3.1 and 1.0.
const PIECE: usize = 2048;

/// Stands for: no cell was better than the worst score that there is.
const NOT_FOUND: u32 = u32::MAX;

impl<'a, 'w, E: WavefrontElement> Rows<'a, 'w, E> {
    /// With the rows above the domain.
    ///
    /// # Errors
    /// Too little memory.
    pub fn new(
        wavefront: &'a Wavefront<'w, E>,
        simd: Simd,
        filled: &'a mut Filled<E::Cell>,
    ) -> Result<Self> {
        let [_, columns] = wavefront.extents();
        let (reach, extreme) = (Reach::of(E::DEPENDENCES), wavefront.keep.extreme());
        let pitch = reach.west + columns + reach.east;
        let mut winning = allocate(if extreme.is_some() { columns } else { 0 })?;
        winning.fill(extreme.map_or_else(Default::default, Extreme::worst));
        let mut found = allocate(winning.len())?;
        found.fill(NOT_FOUND);
        let mut state = State {
            ring: allocate((reach.north + 1) * pitch)?,
            row: allocate(PIECE)?,
            none: allocate(if size_of::<E::Input>() == 0 { PIECE } else { 0 })?,
            winning,
            found,
            filled,
            sum: 0,
        };
        for up in 1..=reach.north as isize {
            let row = &mut state.ring[slot(&reach, -up) * pitch..][..pitch];
            for (j, cell) in (-(reach.west as isize)..).zip(row) {
                *cell = wavefront.border.at(-up, j);
            }
        }
        let loops = Loops::of(simd, extreme);
        Ok(Self { wavefront, loops, extreme, reach, state: Mutex::new(state) })
    }

    /// Computes all rows on the first worker of `group`.
    ///
    /// # Errors
    /// As [`ThreadGroup::compute`].
    pub fn run(&self, group: &dyn ThreadGroup) -> Result<(), Stopped> {
        let done = group.done();
        group.compute(&|worker, first, _| if first == 0 { self.all(worker, done) } else { Ok(()) })
    }

    fn all(&self, worker: &Worker<'_>, done: Option<&Done>) -> Result<(), Aborted> {
        let [rows, columns] = self.wavefront.extents();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for i in 0..rows {
            worker.abort.check()?;
            self.sides(&mut state, i);
            for first in (0..columns).step_by(PIECE) {
                self.piece(&mut state, i, first..(first + PIECE).min(columns));
            }
            self.keep(&mut state, i);
            if let Some(done) = done {
                done.add(columns as u64);
            }
        }
        Ok(())
    }

    /// Cells of the ring from one row to the next.
    fn pitch(&self) -> usize {
        self.reach.west + self.wavefront.extents()[1] + self.reach.east
    }

    /// What is outside the domain on either side of row `i`.
    fn sides(&self, state: &mut State<'_, E>, i: usize) {
        let Self { wavefront, reach, .. } = self;
        let [_, columns] = wavefront.extents();
        let begin = slot(reach, i as isize) * self.pitch();
        for side in (0..reach.west).chain(reach.west + columns..self.pitch()) {
            let j = side as isize - reach.west as isize;
            state.ring[begin + side] = wavefront.border.at(i as isize, j);
        }
    }

    /// Computes some columns of row `i`, a piece at most.
    fn piece(&self, state: &mut State<'_, E>, i: usize, these: Range<usize>) {
        let Self { wavefront, loops, reach, .. } = self;
        let [_, columns] = wavefront.extents();
        let pitch = self.pitch();
        let place = |i: isize| slot(reach, i) * pitch + reach.west + these.start;
        state.row[..these.len()].fill(wavefront.rows[i]);
        let inputs = match state.none.len() {
            0 => &wavefront.inputs[i * columns..][these.clone()],
            _ => &state.none[..these.len()],
        };
        // The next piece's. Memory's own guesses end with each of its pages.
        prefetch(inputs.as_ptr_range().end, size_of_val(inputs));
        let ring = state.ring.as_mut_ptr();
        let mut earlier = [ring.cast_const(); MOST];
        for (from, [di, dj]) in earlier.iter_mut().zip(E::DEPENDENCES) {
            // SAFETY: column `dj` of a row of the ring, of which there are `reach` on either side.
            *from = unsafe { ring.add(place(i as isize + di).wrapping_add_signed(*dj)) };
        }
        // SAFETY: row `i` of the ring, which no pointer of `earlier` leads to: those are of rows above, of which the ring has
        // one more than are read.
        let cells =
            unsafe { std::slice::from_raw_parts_mut(ring.add(place(i as isize)), these.len()) };
        let read = Read {
            earlier,
            old: earlier,
            rows: &state.row[..these.len()],
            columns: &wavefront.columns[these.clone()],
            cells: inputs,
        };
        let tracked = if self.extreme.is_some() { these.clone() } else { 0..0 };
        let winning = &mut state.winning[tracked.clone()];
        let found = &mut state.found[tracked];
        // SAFETY: pointers lead to as many cells as there are columns; see above.
        unsafe {
            loops.front(&wavefront.element, &read, Write { cells, winning, found }, i as u32)
        };
    }

    /// Keeps of row `i` what is to be kept.
    fn keep(&self, state: &mut State<'_, E>, i: usize) {
        let Self { wavefront, loops, reach, .. } = self;
        let [_, columns] = wavefront.extents();
        let begin = slot(reach, i as isize) * self.pitch() + reach.west;
        let cells = &state.ring[begin..][..columns];
        match wavefront.keep {
            Keep::Matrix => state.filled.matrix[i * columns..][..columns].copy_from_slice(cells),
            Keep::Sum => state.sum += loops.sum(cells),
            _ => {}
        }
        if let Some(to) = state.filled.last_column.get_mut(i) {
            *to = cells[columns - 1];
        }
    }

    /// What the rows left in addition to what they filled.
    pub fn outcome(self) -> Outcome<E::Cell> {
        let [rows, columns] = self.wavefront.extents();
        let pitch = self.pitch();
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut best = None;
        for (column, (&score, &row)) in state.winning.iter().zip(&state.found).enumerate() {
            let row = if row == NOT_FOUND { 0 } else { row as usize };
            if let Some(extreme) = self.extreme.filter(|_| !is_nan(score)) {
                best = Best::of(best, Some(Best { score, row, column }), extreme);
            }
        }
        let last = slot(&self.reach, rows as isize - 1) * pitch + self.reach.west;
        let sum = (self.wavefront.keep == Keep::Sum).then_some(state.sum);
        Outcome { best, sum, row: state.ring[last..last + columns].to_vec() }
    }
}

/// Where row `i` lies in the ring.
fn slot(reach: &Reach, i: isize) -> usize {
    i.rem_euclid((reach.north + 1) as isize) as usize
}
