//! A rectangle of the domain with the cells around it, and its blocks with the edges between them.

use std::iter::repeat_n;
use std::ops::Range;

use crate::executor::Edges;
use crate::recurrence::{Best, Extreme, Ranked, WavefrontElement};
use crate::spec::{Band, Border, Keep, Kept, Wavefront};
use warpweft_core::error::Result;
use warpweft_core::memory::{filled, grow};
use warpweft_core::report::Report;

/// What to do where memory does not hold the edges.
pub(super) const HINT: &str = "take a smaller domain, of shorter sequences or series";

fn copied<C: Copy>(cells: &[C]) -> Result<Vec<C>> {
    filled(cells.iter().copied(), HINT)
}

/// Rows and columns of the domain, and the cells above and to the left of them.
#[derive(Clone, Debug)]
pub(super) struct Rectangle<C> {
    pub rows: Range<usize>,
    pub columns: Range<usize>,
    pub corner: C,
    pub top: Vec<C>,
    pub left: Vec<C>,
}

impl<C: Ranked> Rectangle<C> {
    /// The whole domain.
    ///
    /// # Errors
    /// Too little memory.
    pub fn whole<E: WavefrontElement<Cell = C>>(wavefront: &Wavefront<'_, E>) -> Result<Self> {
        let [m, n] = wavefront.extents();
        let border = &wavefront.border;
        Ok(Self {
            rows: 0..m,
            columns: 0..n,
            corner: border.at(-1, -1),
            top: filled((0..n).map(|j| border.at(-1, j as isize)), HINT)?,
            left: filled((0..m).map(|i| border.at(i as isize, -1)), HINT)?,
        })
    }

    /// The part up to and with cell `[i, j]`, which is in it.
    pub fn up_to(mut self, [i, j]: [usize; 2]) -> Self {
        self.rows.end = i + 1;
        self.columns.end = j + 1;
        self.top.truncate(self.columns.len());
        self.left.truncate(self.rows.len());
        self
    }

    /// Rows and columns.
    pub fn extents(&self) -> [usize; 2] {
        [self.rows.len(), self.columns.len()]
    }

    /// What an executor computes it from.
    ///
    /// # Errors
    /// Too little memory.
    pub fn wavefront<'w, E: WavefrontElement<Cell = C>>(
        &self,
        of: &Wavefront<'w, E>,
        keep: Keep,
    ) -> Result<Wavefront<'w, E>> {
        let (top, left) = (copied(&self.top)?, copied(&self.left)?);
        let mut part = Wavefront::of(of.element)
            .rows(&of.rows[self.rows.clone()])
            .columns(&of.columns[self.columns.clone()])
            .border(Border::Lines { corner: self.corner, top, left })
            .keep(keep);
        if let Some(Band { lower, upper, outside }) = of.band {
            // Diagonals are counted from the rectangle's own corner.
            let shift = self.columns.start as isize - self.rows.start as isize;
            let [lower, upper] = [lower, upper].map(|diagonal| diagonal.saturating_sub(shift));
            part = part.band(lower, upper, outside);
        }
        Ok(part)
    }
}

/// How far a path got.
pub(super) enum Reached {
    /// It begins here.
    Start([isize; 2]),
    /// It goes on from here, which is outside.
    Beyond([isize; 2]),
}

/// What the search for a path needs of a problem. It is compiled for each recurrence, the search for each kind of cell.
pub(super) trait Problem<C: Ranked> {
    /// What all cells of `block` hold, if none is in the band.
    fn missed(&self, block: &Rectangle<C>) -> Option<C>;
    /// The edges of `block`, and what else is to be kept.
    ///
    /// # Errors
    /// Too little memory; the executor's.
    fn edges(&mut self, block: &Rectangle<C>, keep: Keep) -> Result<(Edges<C>, Report)>;
    /// All cells of `block`.
    ///
    /// # Errors
    /// Too little memory; the executor's.
    fn all(&mut self, block: &Rectangle<C>) -> Result<(Kept<C>, Report)>;
    /// From the last cell of `block`, all `cells` of which are known.
    ///
    /// # Errors
    /// A choice that is none; a path that leaves the band.
    fn walk(&mut self, block: &Rectangle<C>, cells: &[C]) -> Result<Reached>;
}

/// What a row of blocks leaves behind.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BlockRow<C: Ranked> {
    /// Its last row.
    pub bottom: Vec<C>,
    /// The last columns of its blocks.
    pub rights: Vec<Vec<C>>,
    /// The best cell of it and of all rows of blocks above, if it was asked for.
    pub best: Option<Best<C::Score>>,
}

/// A rectangle cut into blocks, the edges of which are known row by row of blocks.
pub(super) struct Grid<C: Ranked> {
    within: Rectangle<C>,
    /// Where rows and columns of blocks begin, and where the last ends.
    rows: Vec<usize>,
    columns: Vec<usize>,
    /// One a row of blocks that has been computed.
    pub lines: Vec<BlockRow<C>>,
}

impl<C: Ranked> Grid<C> {
    /// `within` cut into so many rows and columns of blocks of nearly the same size.
    pub fn new(within: Rectangle<C>, [rows, columns]: [usize; 2]) -> Self {
        let cuts = |range: &Range<usize>, parts: usize| {
            let at =
                |part| range.start + (range.len() as u128 * part as u128 / parts as u128) as usize;
            (0..=parts).map(at).collect()
        };
        let (rows, columns) = (cuts(&within.rows, rows), cuts(&within.columns, columns));
        Self { within, rows, columns, lines: Vec::new() }
    }

    /// Rows and columns.
    pub fn extents(&self) -> [usize; 2] {
        self.within.extents()
    }

    /// Rows and columns of blocks.
    pub fn blocks(&self) -> [usize; 2] {
        [self.rows.len() - 1, self.columns.len() - 1]
    }

    /// Rows of row of blocks `at`, and columns of each column of blocks.
    pub fn sizes(&self, at: usize) -> [usize; 2] {
        [self.rows[at + 1] - self.rows[at], self.within.columns.len()]
    }

    /// Block `[p, q]`, the blocks above and to the left of which are computed; `lefts` are the last
    /// columns of those in its own row.
    ///
    /// # Errors
    /// Too little memory.
    fn block(&self, [p, q]: [usize; 2], lefts: &[Vec<C>]) -> Result<Rectangle<C>> {
        let within = &self.within;
        let (rows, columns) =
            (self.rows[p]..self.rows[p + 1], self.columns[q]..self.columns[q + 1]);
        let (first_row, first) =
            (rows.start - within.rows.start, columns.start - within.columns.start);
        let above = match p {
            0 => &within.top,
            _ => &self.lines[p - 1].bottom,
        };
        let corner = match (p, q) {
            (0, 0) => within.corner,
            (_, 0) => within.left[first_row - 1],
            _ => above[first - 1],
        };
        let left = match q {
            0 => copied(&within.left[first_row..first_row + rows.len()])?,
            _ => copied(&lefts[q - 1])?,
        };
        let top = copied(&above[first..first + columns.len()])?;
        Ok(Rectangle { rows, columns, corner, top, left })
    }

    /// Computes the next row of blocks. Without `best` the last block of all is left out: no other
    /// needs its edges.
    pub fn advance(
        &mut self,
        problem: &mut dyn Problem<C>,
        best: bool,
        total: &mut Option<Report>,
    ) -> Result<()> {
        let p = self.lines.len();
        let [rows, columns] = self.blocks();
        let before = self.lines.last().and_then(|line| line.best);
        let mut line = BlockRow { bottom: Vec::new(), rights: Vec::new(), best: before };
        for q in 0..columns {
            if !best && [p + 1, q + 1] == [rows, columns] {
                break;
            }
            let block = self.block([p, q], &line.rights)?;
            if let Some(outside) = problem.missed(&block) {
                let [rows, columns] = block.extents();
                grow(&mut line.bottom, columns, HINT)?;
                line.bottom.extend(repeat_n(outside, columns));
                line.rights.push(filled(repeat_n(outside, rows), HINT)?);
                continue;
            }
            let keep = if best { Keep::Best } else { Keep::LastRow };
            let (edges, report) = problem.edges(&block, keep)?;
            let Edges { row, column, best: found, .. } = edges;
            report.add_to(total);
            let found = found.map(|found| Best {
                row: found.row + block.rows.start,
                column: found.column + block.columns.start,
                ..found
            });
            line.best = Best::of(line.best, found, Extreme::Greatest);
            grow(&mut line.bottom, row.len(), HINT)?;
            line.bottom.extend(row);
            line.rights.push(column);
        }
        self.lines.push(line);
        Ok(())
    }

    /// The block that holds cell `[i, j]`; none if that is outside.
    ///
    /// # Errors
    /// Too little memory.
    pub fn around(&self, [i, j]: [isize; 2]) -> Result<Option<Rectangle<C>>> {
        let number = |cuts: &[usize], at: isize| {
            let at = usize::try_from(at).ok()?;
            (cuts[0] <= at).then(|| cuts.partition_point(|&cut| cut <= at) - 1)
        };
        match (number(&self.rows, i), number(&self.columns, j)) {
            (Some(p), Some(q)) => self.block([p, q], &self.lines[p].rights).map(Some),
            _ => Ok(None),
        }
    }
}
