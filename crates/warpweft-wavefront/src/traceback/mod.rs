//! The path that leads to a cell: by directions, or in linear space.
//!
//! Aligned sequences, warped series: what is wanted of a recurrence is often not a number but the
//! choices behind it. Where memory holds a few bits a cell, the executor records every cell's choice
//! in one pass, and the path is read off them (`directions`). In linear space the domain is partitioned into
//! blocks of which only the edges are kept (`grid`); from the end on, each block that the path crosses
//! is computed again, partitioned into smaller ones, until one is
//! small enough to be kept whole and walked through on the host (`follow`). So it works with any
//! executor: FastLSA (Driga, Lu, Schaeffer, Charter and Parsons 2006), after Hirschberg (1975) and
//! Myers and Miller (1988). The edges of a row of blocks can be saved, for long runs (`checkpoint`).
//!
//! With b blocks each way of m rows and n columns: b·(m + n) cells in memory and one matrix of a given
//! size; the cells of the blocks crossed, 2/b of all at most, are computed again, and 2/b of these.
//!
//! Not here: sweeps, inputs of cells, and vectors that reach further than one row or column.

mod batch;
mod checkpoint;
mod directions;
mod follow;
mod grid;
mod partition;
mod trail;

pub use crate::executor::{Choices, Need, Paths, TakePaths, Walk};
pub use crate::recurrence::{Choice, Stored, Traced};
pub(crate) use batch::trace_one;
pub use batch::{trace_batch, trace_batch_with};
pub use checkpoint::{Checkpoint, holds_rows};
pub use directions::trace;
pub use follow::Score;
pub use partition::Partition;
pub(crate) use trail::path_from;

use crate::executor::other;
use crate::recurrence::{Dependence, Ranked};
use crate::spec::{Keep, Kept};
use warpweft_core::error::Result;

/// How a path is looked for. Changes time and memory, never the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// By directions where they fit and are known to be faster, else in linear space.
    #[default]
    Auto,
    /// Every cell's choice is recorded in one pass.
    Directions,
    /// Blocks of which the edges are kept, computed again where the path crosses them.
    LinearSpace,
}

/// Where a path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At the greatest score.
    Best,
    /// At the last cell of the last row.
    Corner,
}

impl End {
    /// The score and the place of the end of a path through a domain of `extents`, of which `kept` is what
    /// [`End::keep`] says; none where no cell has a number for a score.
    ///
    /// # Errors
    /// Something else kept.
    pub(crate) fn of<C: Ranked>(
        self,
        kept: &Kept<C>,
        [rows, columns]: [usize; 2],
    ) -> Result<Option<(C::Score, [usize; 2])>> {
        match (self, kept) {
            (Self::Best, Kept::Best(best)) => {
                Ok(best.map(|best| (best.score, [best.row, best.column])))
            }
            (Self::Corner, Kept::LastRow(row)) => {
                Ok(row.last().map(|cell| (cell.score(), [rows - 1, columns - 1])))
            }
            _ => Err(other(self.keep())),
        }
    }

    /// What tells the end.
    pub(crate) fn keep(self) -> Keep {
        match self {
            Self::Best => Keep::Best,
            Self::Corner => Keep::LastRow,
        }
    }
}

/// A number of moves along the same vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moves {
    /// From a cell to the one before it.
    pub vector: Dependence,
    /// How many, at least 1.
    pub count: usize,
}

/// How a cell came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Path<S> {
    /// The score of the cell at the end.
    pub score: S,
    /// Row and column of the end.
    pub end: [usize; 2],
    /// Row and column where it begins, the cell that no move leaves. One that leaves the domain begins
    /// outside, where row or column is −1.
    pub start: [isize; 2],
    /// The moves, from the start to the end; no two neighbours have the same vector.
    pub moves: Vec<Moves>,
}
