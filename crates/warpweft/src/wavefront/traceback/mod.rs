//! The path that leads to a cell, in linear space.
//!
//! Aligned sequences, warped series: what is wanted of a recurrence is often not a number but the
//! choices behind it. The domain is cut into blocks of which only the edges are kept (`grid`); from
//! the end on, each block that the path crosses is computed again, cut into smaller ones, until one is
//! small enough to be kept whole and walked through on the host (`follow`). So it works with any
//! executor: FastLSA (Driga, Lu, Schaeffer, Charter and Parsons 2006), after Hirschberg (1975) and
//! Myers and Miller (1988). The edges of a row of blocks can be saved, for long runs (`checkpoint`).
//!
//! With b blocks each way of m rows and n columns: b·(m + n) cells in memory and one matrix of a given
//! size; the cells of the blocks crossed, 2/b of all at most, are computed again, and 2/b of these.
//!
//! Not here: bands, sweeps, inputs of cells, and vectors that reach further than one row or column.

mod checkpoint;
mod cut;
mod follow;
mod grid;

pub use checkpoint::{Checkpoint, Stored};
pub use cut::Cut;
pub use follow::trace;

use super::dependence::Dependence;
use super::earlier::Earlier;
use super::element::WavefrontElement;
use super::rank::Ranked;

/// A recurrence whose choices can be read off its cells.
pub trait Traced: WavefrontElement<Input = (), Cell: Stored + Ranked<Score: Stored>> {
    /// What must be known beside the cell to go on from it, such as which of three numbers the path
    /// goes through; the default at the path's end.
    type State: Copy + Default;

    /// From `cell`, of which the path reached what `state` says, to the cell that it was made from:
    /// one of `[-1, -1]`, `[-1, 0]` and `[0, -1]`. None where the path begins. Of equal choices the
    /// function takes the same whatever the rest of the domain.
    fn back(
        &self,
        state: Self::State,
        earlier: Earlier<'_, Self::Cell>,
        cell: Self::Cell,
        a: Self::Row,
        b: Self::Column,
    ) -> Option<(Dependence, Self::State)>;
}

/// Where a path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At the greatest score.
    Best,
    /// At the last cell of the last row.
    Corner,
}

/// A number of moves along the same vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
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
    pub runs: Vec<Run>,
}
