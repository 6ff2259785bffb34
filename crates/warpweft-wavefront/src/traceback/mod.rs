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
pub use crate::path::{End, Moves, Path, Score};
pub use crate::recurrence::{Choice, Stored, Traced};
pub(crate) use batch::trace_one;
pub use batch::{trace_batch, trace_batch_with};
pub use checkpoint::{Checkpoint, holds_rows};
pub use directions::trace;
pub use partition::Partition;
pub(crate) use trail::path_from;

/// How a path is looked for. Changes time and memory, never the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// Directions if they fit into memory and are expected to be faster, otherwise linear space.
    #[default]
    Auto,
    /// Every cell's choice is recorded in one pass.
    Directions,
    /// Blocks of which the edges are kept, computed again where the path crosses them.
    LinearSpace,
}
