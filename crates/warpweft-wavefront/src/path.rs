//! A path through a domain: where it ends, its score and its moves. Not: how it is found (`traceback`).

use crate::recurrence::{Dependence, Ranked, WavefrontElement};
use crate::spec::{Keep, Kept};
use warpweft_core::error::{Error, Result};

/// What the cells of `E` are compared by.
pub type Score<E> = <<E as WavefrontElement>::Cell as Ranked>::Score;

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

/// A path through the table, from its start to the cell where it ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Path<S> {
    /// The score of the cell at the end.
    pub score: S,
    /// Row and column of the end.
    pub end: [usize; 2],
    /// Row and column of the first cell of the path. If the path begins outside the domain, row or column
    /// is −1.
    pub start: [isize; 2],
    /// The moves, from the start to the end; no two neighbours have the same vector.
    pub moves: Vec<Moves>,
}

/// An executor that kept something else than the spec says.
pub(crate) fn other(wanted: Keep) -> Error {
    Error::spec(format!("something else kept than {wanted:?}"), "report this as a bug")
}
