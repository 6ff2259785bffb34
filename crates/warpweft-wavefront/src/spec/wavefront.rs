//! What must be computed: the recurrence, its inputs, its border and what to keep.

use super::{Band, Border};
use crate::recurrence::{Best, Extreme, Ranked, WavefrontElement};
use warpweft_core::error::Result;

/// The most rows or columns of a domain: fronts are counted in 32 bits.
pub const MAX_EXTENT: usize = (i32::MAX as usize) - (1 << 20);

/// What a run returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The greatest score and where it is.
    Best,
    /// The least score and where it is.
    Least,
    /// The greatest score, not where it is, which costs less.
    Score,
    /// The last row.
    LastRow,
    /// The last column.
    LastColumn,
    /// Every cell, row by row.
    Matrix,
    /// The sum of all scores. Scores must be integers or `bool`; for `bool` it is the number of cells that are true.
    ///
    /// The sum is exact and can't overflow, even with 64-bit scores, so it does not depend on the order. Sums of floats would
    /// depend on the order and are refused.
    ///
    /// ```
    /// use warpweft::prelude::*;
    /// use warpweft::wavefront::Kept;
    ///
    /// /// In how many ways one gets here from the corner, down and to the right.
    /// #[wavefront]
    /// fn paths(p: Earlier<u64>) -> u64 {
    ///     p.n + p.w
    /// }
    ///
    /// # fn main() -> warpweft::Result<()> {
    /// let border = Border::function(|row, column| ((row, column) == (-1, 0)) as u64);
    /// let table = Wavefront::of(paths()).over([4, 4]).border(border).keep(Keep::Sum);
    /// // Pascal's triangle, as far as it lies in a square: C(8, 4) - 1.
    /// assert_eq!(table.run(&Machine::detect()?)?.0, Kept::Sum(69));
    /// # Ok(())
    /// # }
    /// ```
    Sum,
}

impl Keep {
    /// Which scores win, where one is looked for.
    pub(crate) fn extreme(self) -> Option<Extreme> {
        match self {
            Self::Best | Self::Score => Some(Extreme::Greatest),
            Self::Least => Some(Extreme::Least),
            Self::LastRow | Self::LastColumn | Self::Matrix | Self::Sum => None,
        }
    }

    /// What is kept of the scores in addition to the last row and the last column, if anything: see
    /// [`Edges`].
    ///
    /// [`Edges`]: super::Edges
    pub(crate) fn with_edges(self) -> Option<Self> {
        match self {
            Self::Best | Self::Score => Some(Self::Best),
            Self::Least | Self::Sum => Some(self),
            Self::LastRow | Self::LastColumn | Self::Matrix => None,
        }
    }
}

/// What a run returned, as [`Keep`] asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept<C: Ranked> {
    /// The best cell, or `None` if all scores are NaN.
    Best(Option<Best<C::Score>>),
    /// The greatest score, likewise.
    Score(Option<C::Score>),
    /// One cell a column.
    LastRow(Vec<C>),
    /// One cell a row.
    LastColumn(Vec<C>),
    /// Rows × columns cells, row by row.
    Matrix(Vec<C>),
    /// The sum of all scores: 2⁶² of 64 bits fit.
    Sum(i128),
}

/// A recurrence over rows × columns cells: what to compute, not how.
#[derive(Clone, Debug)]
pub struct Wavefront<'a, E: WavefrontElement> {
    pub(crate) element: E,
    pub(crate) rows: &'a [E::Row],
    pub(crate) columns: &'a [E::Column],
    pub(crate) inputs: &'a [E::Input],
    #[doc(hidden)]
    pub border: Border<E::Cell>,
    #[doc(hidden)]
    pub band: Option<Band<E::Cell>>,
    pub(crate) initial: &'a [E::Cell],
    #[doc(hidden)]
    pub sweeps: usize,
    #[doc(hidden)]
    pub keep: Keep,
}

/// As many nothings: the inputs of `n` rows or columns that have none.
pub fn no_inputs(n: usize) -> &'static [()] {
    // What has no size takes no memory.
    vec![(); n].leak()
}

impl Keep {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Best,
        Self::Least,
        Self::Score,
        Self::LastRow,
        Self::LastColumn,
        Self::Matrix,
        Self::Sum,
    ];
}

impl<'a, E: WavefrontElement> Wavefront<'a, E> {
    /// The recurrence of `element`; the border is the cell's default and the best cell is kept
    /// unless [`Wavefront::keep`] says otherwise.
    pub fn of(element: E) -> Self {
        Self {
            element,
            rows: &[],
            columns: &[],
            inputs: &[],
            border: Border::Value(E::Cell::default()),
            band: None,
            initial: &[],
            sweeps: 1,
            keep: Keep::Best,
        }
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

    /// One input a cell, row by row.
    pub fn inputs(mut self, inputs: &'a [E::Input]) -> Self {
        self.inputs = inputs;
        self
    }

    /// What cells outside the domain hold.
    pub fn border(mut self, border: Border<E::Cell>) -> Self {
        self.border = border;
        self
    }

    /// Computes only cells `[i, j]` with `lower ≤ j − i ≤ upper`; the others hold `outside`, are never
    /// the best and not in the sum.
    pub fn band(mut self, lower: isize, upper: isize, outside: E::Cell) -> Self {
        self.band = Some(Band { lower, upper, outside });
        self
    }

    /// What the cells hold before the first sweep, row by row: for elements that read old values.
    pub fn initial(mut self, cells: &'a [E::Cell]) -> Self {
        self.initial = cells;
        self
    }

    /// The number of sweeps over all cells; each sweep starts from the cells of the sweep before.
    pub fn sweeps(mut self, sweeps: usize) -> Self {
        self.sweeps = sweeps;
        self
    }

    /// What to return.
    pub fn keep(mut self, keep: Keep) -> Self {
        self.keep = keep;
        self
    }

    /// The same of another element with the same inputs, of which cells have none.
    pub(crate) fn with<O>(&self, element: O) -> Wavefront<'a, O>
    where
        O: WavefrontElement<Cell = E::Cell, Row = E::Row, Column = E::Column, Input = ()>,
    {
        Wavefront {
            element,
            rows: self.rows,
            columns: self.columns,
            inputs: &[],
            border: self.border.clone(),
            band: self.band,
            initial: self.initial,
            sweeps: self.sweeps,
            keep: self.keep,
        }
    }

    /// Rows and columns.
    pub fn extents(&self) -> [usize; 2] {
        [self.rows.len(), self.columns.len()]
    }

    /// Number of cells of the domain.
    pub fn cells(&self) -> u64 {
        self.rows.len() as u64 * self.columns.len() as u64
    }

    /// Number of calls of the element function: cells in the band, times sweeps.
    pub fn updates(&self) -> u64 {
        self.erased().updates()
    }

    /// Whether the computation is well posed.
    ///
    /// # Errors
    /// No rows or columns, or too many; inputs, initial cells or border lines of other lengths; no
    /// sweep, or several of an element that reads no old value; an empty band; dependences that are
    /// illegal; scores that may overflow; a sum of floats; a matrix that memory can't address.
    pub fn check(&self) -> Result<()> {
        self.erased().check()
    }

    /// Whether cell `[i, j]` is in the band.
    #[inline(always)]
    pub(crate) fn computes(&self, i: usize, j: usize) -> bool {
        self.band.as_ref().is_none_or(|band| band.holds(i, j))
    }

    /// The input of cell `[i, j]`.
    #[inline(always)]
    pub(crate) fn input(&self, i: usize, j: usize) -> E::Input {
        match size_of::<E::Input>() {
            0 => E::Input::default(),
            _ => self.inputs[i * self.columns.len() + j],
        }
    }

    /// The cell at `[i, j]` from what is before it.
    #[inline(always)]
    pub(crate) fn cell(&self, earlier: E::Earlier, old: E::Old, i: usize, j: usize) -> E::Cell {
        match self.band {
            Some(band) if !band.holds(i, j) => band.outside,
            _ => {
                let (a, b) = (self.rows[i], self.columns[j]);
                self.element.cell(earlier, old, a, b, self.input(i, j))
            }
        }
    }
}

impl<E: WavefrontElement<Row = (), Column = ()>> Wavefront<'_, E> {
    /// Rows and columns, of a recurrence that has inputs for neither.
    pub fn over(mut self, [rows, columns]: [usize; 2]) -> Self {
        self.rows = no_inputs(rows);
        self.columns = no_inputs(columns);
        self
    }
}
