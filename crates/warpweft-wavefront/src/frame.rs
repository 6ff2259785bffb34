//! The whole matrix with the cells around it that vectors reach, in one array.
//!
//! For executors that keep every cell in memory: one sweep after another overwrites it in place.

use crate::recurrence::{Best, Dependence, Extreme, Ranked, Reach, WavefrontElement, is_nan, sum};
use crate::spec::{Keep, Kept, Wavefront};
use warpweft_core::error::Result;
use warpweft_core::memory::room;

/// Where the cells of a domain with its surroundings lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Rows of the domain.
    pub rows: usize,
    /// Columns of the domain.
    pub columns: usize,
    /// Rows and columns around it.
    pub reach: Reach,
    /// Cells from a row to the next.
    pub pitch: usize,
}

impl Frame {
    /// The frame of `wavefront`.
    pub fn of<E: WavefrontElement>(wavefront: &Wavefront<'_, E>) -> Self {
        let [rows, columns] = wavefront.extents();
        let reach = Reach::of(E::DEPENDENCES).with(Reach::of(E::OLD));
        Self { rows, columns, reach, pitch: reach.west + columns + reach.east }
    }

    /// Cells in all.
    pub fn len(&self) -> usize {
        self.pitch * (self.reach.north + self.rows + self.reach.south)
    }

    /// Whether there are none: never, for a domain that was checked.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where cell `[i, j]` of the domain or around it is.
    #[inline(always)]
    pub fn index(&self, i: isize, j: isize) -> usize {
        let row = i + self.reach.north as isize;
        (row * self.pitch as isize + j + self.reach.west as isize) as usize
    }

    /// From a cell to the one at `vector`.
    #[inline(always)]
    pub fn offset(&self, [di, dj]: Dependence) -> isize {
        di * self.pitch as isize + dj
    }

    /// The cells before the first sweep: initial values, and the border around them.
    ///
    /// # Errors
    /// Too little memory.
    pub fn cells<E: WavefrontElement>(&self, wavefront: &Wavefront<'_, E>) -> Result<Vec<E::Cell>> {
        let mut cells = allocate(self.len())?;
        let [m, n] = [self.rows as isize, self.columns as isize];
        let Reach { north, south, west, east } = self.reach;
        for i in -(north as isize)..m + south as isize {
            if !(0..m).contains(&i) {
                for j in -(west as isize)..n + east as isize {
                    cells[self.index(i, j)] = wavefront.border.at(i, j);
                }
                continue;
            }
            for j in (-(west as isize)..0).chain(n..n + east as isize) {
                cells[self.index(i, j)] = wavefront.border.at(i, j);
            }
            if !wavefront.initial.is_empty() {
                let first = i as usize * self.columns;
                let at = self.index(i, 0);
                cells[at..at + self.columns]
                    .copy_from_slice(&wavefront.initial[first..first + self.columns]);
            }
        }
        Ok(cells)
    }

    /// What `keep` says of `cells`.
    ///
    /// # Errors
    /// Too little memory.
    pub fn kept<E: WavefrontElement>(
        &self,
        wavefront: &Wavefront<'_, E>,
        keep: Keep,
        cells: &[E::Cell],
    ) -> Result<Kept<E::Cell>> {
        let row = |i: usize| {
            let at = self.index(i as isize, 0);
            &cells[at..at + self.columns]
        };
        let best = |extreme: Extreme| {
            let mut best = None;
            for i in 0..self.rows {
                for (j, cell) in row(i).iter().enumerate() {
                    let score = cell.score();
                    if !is_nan(score) && wavefront.computes(i, j) {
                        let here = Best { score, row: i, column: j };
                        best = Best::of(best, Some(here), extreme);
                    }
                }
            }
            best
        };
        let row_sum = |i: usize| {
            let inside = row(i).iter().enumerate().filter(|&(j, _)| wavefront.computes(i, j));
            sum(inside.map(|(_, cell)| cell.score()))
        };
        Ok(match keep {
            Keep::Best => Kept::Best(best(Extreme::Greatest)),
            Keep::Least => Kept::Best(best(Extreme::Least)),
            Keep::Score => Kept::Score(best(Extreme::Greatest).map(|best| best.score)),
            Keep::Sum => Kept::Sum((0..self.rows).map(row_sum).sum()),
            Keep::LastRow => Kept::LastRow(row(self.rows - 1).to_vec()),
            Keep::LastColumn => {
                Kept::LastColumn((0..self.rows).map(|i| row(i)[self.columns - 1]).collect())
            }
            Keep::Matrix => {
                let mut matrix = allocate(self.rows * self.columns)?;
                for (i, to) in matrix.chunks_mut(self.columns).enumerate() {
                    to.copy_from_slice(row(i));
                }
                Kept::Matrix(matrix)
            }
        })
    }
}

/// `count` cells that hold the default, or an error.
pub(crate) fn allocate<C: Copy + Default>(count: usize) -> Result<Vec<C>> {
    let mut cells = room(count, "keep the best cell or the last row, or take a smaller domain")?;
    cells.resize(count, C::default());
    Ok(cells)
}
