//! What cells outside the domain hold, and what cells outside a band do.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// What cells outside the domain hold: row −1 and column −1, and whatever else the vectors reach.
#[derive(Clone, Debug)]
pub enum Border<C> {
    /// The same everywhere.
    Value(C),
    /// Cell by cell, for vectors that reach one row up and one column to the west.
    Lines {
        /// Cell `[-1, -1]`.
        corner: C,
        /// Cells `[-1, 0..columns]`.
        top: Vec<C>,
        /// Cells `[0..rows, -1]`.
        left: Vec<C>,
    },
    /// One value at `[-1, -1]`, where paths begin, and another for all other cells outside.
    Corner {
        /// Cell `[-1, -1]`.
        corner: C,
        /// All other cells outside.
        rest: C,
    },
    /// A function of row and column.
    Function(BorderFunction<C>),
}

/// A function of row and column, one of which at least is outside the domain.
#[derive(Clone)]
pub struct BorderFunction<C>(Arc<dyn Fn(isize, isize) -> C + Send + Sync>);

impl<C> BorderFunction<C> {
    /// A number that it shares with its clones alone, as long as one of them lives.
    pub(crate) fn number(&self) -> usize {
        Arc::as_ptr(&self.0).cast::<()>() as usize
    }
}

impl<C> fmt::Debug for BorderFunction<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a function of row and column")
    }
}

impl<C: Copy> Border<C> {
    /// Cell by cell from a function of row and column, of which one at least is −1.
    pub fn from_fn(rows: usize, columns: usize, cell: impl Fn(isize, isize) -> C) -> Self {
        Self::Lines {
            corner: cell(-1, -1),
            top: (0..columns as isize).map(|j| cell(-1, j)).collect(),
            left: (0..rows as isize).map(|i| cell(i, -1)).collect(),
        }
    }

    /// A function of row and column, called for every cell outside that a vector reaches.
    pub fn function(cell: impl Fn(isize, isize) -> C + Send + Sync + 'static) -> Self {
        Self::Function(BorderFunction(Arc::new(cell)))
    }

    /// Cell `[i, j]`, which is outside the domain.
    pub(crate) fn at(&self, i: isize, j: isize) -> C {
        match self {
            Self::Value(value) => *value,
            Self::Corner { corner, rest } => {
                if (i, j) == (-1, -1) {
                    *corner
                } else {
                    *rest
                }
            }
            Self::Function(BorderFunction(cell)) => cell(i, j),
            Self::Lines { corner, top, left } => match (usize::try_from(i), usize::try_from(j)) {
                (Ok(i), _) => left[i],
                (_, Ok(j)) => top[j],
                _ => *corner,
            },
        }
    }
}

/// A band about the main diagonal: cells `[i, j]` with `lower ≤ j − i ≤ upper` are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band<C> {
    /// The least `j − i`.
    pub lower: isize,
    /// The greatest.
    pub upper: isize,
    /// What the other cells hold; they are never the best.
    pub outside: C,
}

impl<C> Band<C> {
    /// Whether no cell of these rows and columns is computed.
    pub(crate) fn misses(&self, rows: &Range<usize>, columns: &Range<usize>) -> bool {
        let [top, bottom] = [rows.start, rows.end - 1].map(|i| i as isize);
        let [left, right] = [columns.start, columns.end - 1].map(|j| j as isize);
        right - top < self.lower || self.upper < left - bottom
    }

    /// Whether cell `[i, j]` is computed.
    #[inline(always)]
    pub fn holds(&self, i: usize, j: usize) -> bool {
        let diagonal = j as isize - i as isize;
        self.lower <= diagonal && diagonal <= self.upper
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_misses_the_blocks_none_of_whose_cells_it_holds() {
        let band = Band { lower: -2, upper: 1, outside: () };
        for (rows, columns) in
            [(0..3, 0..3), (4..9, 0..2), (4..9, 0..3), (0..2, 2..7), (0..2, 3..7)]
        {
            let held = rows.clone().any(|i| columns.clone().any(|j| band.holds(i, j)));
            assert_eq!(band.misses(&rows, &columns), !held, "{rows:?} {columns:?}");
        }
    }
}
