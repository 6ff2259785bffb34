//! The cells that strips leave in memory: of several sweeps all, else the last rows of each strip alone.

use crate::cpu::row::SharedRow;
use crate::frame::Frame;
use crate::recurrence::{Ranked, WavefrontElement};
use crate::spec::{Kept, Wavefront};
use warpweft_core::error::Result;
use warpweft_core::memory;

/// Cells that are handed from strip to strip and from sweep to sweep.
pub(super) struct Store<C> {
    cells: SharedRow<C>,
    frame: Frame,
    /// Rows of a strip that are kept, the last of each; all if none.
    last: Option<usize>,
}

impl<C: Ranked> Store<C> {
    /// What strips of `wavefront` need.
    ///
    /// # Errors
    /// Too little memory.
    pub fn new<E: WavefrontElement<Cell = C>>(
        wavefront: &Wavefront<'_, E>,
        frame: Frame,
    ) -> Result<Self> {
        if !E::OLD.is_empty() {
            let cells = SharedRow::new(frame.cells(wavefront)?.into_iter());
            return Ok(Self { cells, frame, last: None });
        }
        let last = frame.reach.north.max(1);
        let mut cells = memory::room(last * frame.columns, "take a domain of fewer columns")?;
        for up in (1..=last as isize).rev() {
            cells.extend((0..frame.columns).map(|j| wavefront.border.at(-up, j as isize)));
        }
        Ok(Self { cells: SharedRow::new(cells.into_iter()), frame, last: Some(last) })
    }

    /// Where column 0 of row `row` is, which is row `above` rows above the end of its strip.
    #[inline(always)]
    fn row(&self, row: isize, above: usize) -> usize {
        match self.last {
            Some(last) => (last - above) * self.frame.columns,
            None => self.frame.index(row, 0),
        }
    }

    /// Column 0 of the row `above` rows above row `end`, where a strip ends.
    #[inline(always)]
    pub fn above(&self, end: usize, above: usize) -> usize {
        self.row(end as isize - above as isize, above)
    }

    /// Of the rows before `end`, where a strip of `rows` rows ends, how many are stored.
    pub fn stored(&self, rows: usize) -> usize {
        self.last.map_or(rows, |last| last.min(rows))
    }

    /// The cell at `column` of the row whose column 0 is at `row`.
    ///
    /// # Safety
    /// No other worker may write it meanwhile.
    #[inline(always)]
    pub unsafe fn get(&self, row: usize, column: isize) -> C {
        // SAFETY: passed on to the caller.
        unsafe { self.cells.get(row.wrapping_add_signed(column)) }
    }

    /// Replaces that cell.
    ///
    /// # Safety
    /// No other worker may read or write it meanwhile.
    #[inline(always)]
    pub unsafe fn set(&self, row: usize, column: isize, cell: C) {
        // SAFETY: passed on to the caller.
        unsafe { self.cells.set(row.wrapping_add_signed(column), cell) }
    }

    /// Where `count` cells from that one on lie, which the row must have.
    #[inline(always)]
    pub fn several(&self, row: usize, column: isize, count: usize) -> *mut C {
        self.cells.several(row.wrapping_add_signed(column), count)
    }

    /// The last row of the domain.
    pub fn last_row(self) -> Vec<C> {
        let first = self.row(self.frame.rows as isize - 1, 1);
        let mut cells = self.cells.into_cells();
        cells.truncate(first + self.frame.columns);
        cells.split_off(first)
    }

    /// What was to be kept, where all cells are stored.
    ///
    /// # Errors
    /// Too little memory.
    pub fn kept<E: WavefrontElement<Cell = C>>(
        self,
        wavefront: &Wavefront<'_, E>,
    ) -> Result<Kept<C>> {
        let frame = self.frame;
        frame.kept(wavefront, wavefront.keep, &self.cells.into_cells())
    }
}
