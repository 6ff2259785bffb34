//! What must be computed: the recurrence, its inputs, its border and what to keep.

use super::dependence;
use super::element::{Earlier, WavefrontElement};
use super::rank::{Best, Ranked};
use crate::element::{Scalar, ScalarKind};
use crate::error::{Error, Result};

/// The most rows or columns of a domain: fronts are counted in 32 bits.
pub const MAX_EXTENT: usize = (i32::MAX as usize) - (1 << 20);

/// What cells outside the domain hold: row −1 and column −1.
#[derive(Clone, Debug, PartialEq)]
pub enum Border<C> {
    /// The same everywhere.
    Value(C),
    /// Cell by cell.
    Lines {
        /// Cell `[-1, -1]`.
        corner: C,
        /// Cells `[-1, 0..columns]`.
        top: Vec<C>,
        /// Cells `[0..rows, -1]`.
        left: Vec<C>,
    },
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

    /// Cell `[-1, j]`; `j` may be −1.
    pub(super) fn top(&self, j: isize) -> C {
        match self {
            Self::Value(value) => *value,
            Self::Lines { corner, top, .. } => usize::try_from(j).map_or(*corner, |j| top[j]),
        }
    }

    /// Cell `[i, -1]`; `i` may be −1.
    pub(super) fn left(&self, i: isize) -> C {
        match self {
            Self::Value(value) => *value,
            Self::Lines { corner, left, .. } => usize::try_from(i).map_or(*corner, |i| left[i]),
        }
    }
}

/// What a run returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The greatest score and where it is.
    Best,
    /// The last row.
    LastRow,
    /// The last column.
    LastColumn,
    /// Every cell, row by row.
    Matrix,
}

/// What a run returned, as [`Keep`] asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept<C: Ranked> {
    /// The winner, or none when no cell has a number for a score.
    Best(Option<Best<C::Score>>),
    /// One cell a column.
    LastRow(Vec<C>),
    /// One cell a row.
    LastColumn(Vec<C>),
    /// Rows × columns cells, row by row.
    Matrix(Vec<C>),
}

/// A recurrence over rows × columns cells: what to compute, not how.
#[derive(Clone, Debug)]
pub struct Wavefront<'a, E: WavefrontElement> {
    pub(super) element: E,
    pub(super) rows: &'a [E::Row],
    pub(super) columns: &'a [E::Column],
    pub(super) border: Border<E::Cell>,
    pub(super) keep: Keep,
}

impl<'a, E: WavefrontElement> Wavefront<'a, E> {
    /// The recurrence of `element`; the border is the cell's default and the best cell is kept
    /// until told otherwise.
    pub fn of(element: E) -> Self {
        let border = Border::Value(E::Cell::default());
        Self { element, rows: &[], columns: &[], border, keep: Keep::Best }
    }

    /// One input a row.
    pub fn rows(mut self, rows: &'a [E::Row]) -> Self {
        self.rows = rows;
        self
    }

    /// One input a column.
    pub fn columns(mut self, columns: &'a [E::Column]) -> Self {
        self.columns = columns;
        self
    }

    /// What cells outside the domain hold.
    pub fn border(mut self, border: Border<E::Cell>) -> Self {
        self.border = border;
        self
    }

    /// What to return.
    pub fn keep(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    /// Rows and columns.
    pub fn extents(&self) -> [usize; 2] {
        [self.rows.len(), self.columns.len()]
    }

    /// Number of cells.
    pub fn cells(&self) -> u64 {
        self.rows.len() as u64 * self.columns.len() as u64
    }

    /// Whether the computation is well posed.
    ///
    /// # Errors
    /// No rows or columns, or too many; border lines of other lengths; dependences that are illegal
    /// or not supported; scores that may overflow; a matrix that memory can't address.
    pub fn check(&self) -> Result<()> {
        dependence::check(E::DEPENDENCES)?;
        for (name, n) in ["rows", "columns"].into_iter().zip(self.extents()) {
            if n == 0 || n > MAX_EXTENT {
                return Err(Error::spec(
                    format!("{n} {name} for {}", E::NAME),
                    format!("give 1 to {MAX_EXTENT}"),
                ));
            }
        }
        if let Border::Lines { top, left, .. } = &self.border
            && [left.len(), top.len()] != self.extents()
        {
            return Err(Error::spec(
                format!(
                    "border lines of {} columns and {} rows around {:?} cells",
                    top.len(),
                    left.len(),
                    self.extents()
                ),
                "give one cell a column on top and one a row on the left",
            ));
        }
        if self.keep == Keep::Matrix
            && usize::try_from(self.cells())
                .ok()
                .and_then(|n| n.checked_mul(size_of::<E::Cell>()))
                .is_none_or(|n| n > isize::MAX as usize)
        {
            return Err(Error::spec(
                format!("a matrix of {:?} cells", self.extents()),
                "keep the best cell or the last row",
            ));
        }
        self.check_overflow()
    }

    fn check_overflow(&self) -> Result<()> {
        type Score<E> = <<E as WavefrontElement>::Cell as Ranked>::Score;
        let kind = <Score<E> as Scalar>::KIND;
        let Some([least, greatest]) =
            self.element.bounds(self.rows.len() as u64, self.columns.len() as u64)
        else {
            return Ok(());
        };
        let Some([low, high]) = range(kind) else { return Ok(()) };
        if least < low || greatest > high {
            return Err(Error::spec(
                format!(
                    "scores of {} over {:?} cells may reach {least}..{greatest}, and {} holds {low}..{high}",
                    E::NAME,
                    self.extents(),
                    kind.name()
                ),
                "use a wider cell type, smaller weights or shorter inputs",
            ));
        }
        Ok(())
    }

    /// The cell at `[i, j]` from what is before it.
    #[inline(always)]
    pub(super) fn cell(&self, earlier: Earlier<E::Cell>, i: usize, j: usize) -> E::Cell {
        self.element.cell(earlier, self.rows[i], self.columns[j])
    }
}

/// Least and greatest value of an integer scalar.
fn range(kind: ScalarKind) -> Option<[f64; 2]> {
    let signed = match kind {
        ScalarKind::I8
        | ScalarKind::I16
        | ScalarKind::I32
        | ScalarKind::I64
        | ScalarKind::Isize => true,
        ScalarKind::U8
        | ScalarKind::U16
        | ScalarKind::U32
        | ScalarKind::U64
        | ScalarKind::Usize => false,
        ScalarKind::Bool | ScalarKind::F32 | ScalarKind::F64 => return None,
    };
    let bits = kind.size() as i32 * 8;
    Some(match signed {
        true => [-(2f64.powi(bits - 1)), 2f64.powi(bits - 1) - 1.0],
        false => [0.0, 2f64.powi(bits) - 1.0],
    })
}
