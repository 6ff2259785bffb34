//! What tile-rows leave: cells that are kept, sums, and the winner.

use super::form::Form;
use super::parts::View;
use super::record::Record;
use super::simd::Loops;
use super::strip::Sink;
use crate::executor::Edges;
use crate::frame::allocate;
use crate::recurrence::{Best, Ranked, WavefrontElement, sum};
use crate::spec::{Band, Keep, Kept, Wavefront};
use warpweft_core::error::Result;

/// What one tile-row leaves behind.
pub(super) struct TileRowOutput<'a, C> {
    pub last_column: &'a mut [C],
    pub matrix: &'a mut [C],
    pub columns: usize,
    /// The sum of its scores in the band, if they are summed, and its first row.
    pub sum: Option<i128>,
    pub band: Option<Band<C>>,
    pub first_row: usize,
    pub record: Option<Box<dyn Record<C> + 'a>>,
}

impl<C> TileRowOutput<'_, C> {
    /// Whether it keeps anything of the cells.
    pub fn keeps(&self) -> bool {
        let lines = !self.matrix.is_empty() || !self.last_column.is_empty();
        lines || self.sum.is_some() || self.record.is_some()
    }
}

/// Fills an output.
pub(super) struct Fill<'p, 'a, E: WavefrontElement, F: Form<E>>(
    pub &'p mut TileRowOutput<'a, E::Cell>,
    pub Loops<E, F>,
);

impl<E: WavefrontElement, F: Form<E>> Sink<E, F> for Fill<'_, '_, E, F> {
    fn front(
        &mut self,
        form: &F,
        first_lane: usize,
        first_column: usize,
        north: F::Held,
        cells: View<'_, F::Held>,
    ) {
        let Self(output, loops) = self;
        if let Some(record) = &mut output.record {
            let to = &mut record.cells()[first_lane..first_lane + cells.len()];
            for (at, to) in to.iter_mut().enumerate() {
                *to = form.cell(cells.at(at));
            }
            record.front(first_lane, cells.len(), first_column, form.cell(north));
        }
        if !output.matrix.is_empty() {
            for l in 0..cells.len() {
                output.matrix[(first_lane + l) * output.columns + first_column - l] =
                    form.cell(cells.at(l));
            }
        }
        // The first lane of a front is the one furthest to the east.
        if first_column + 1 == output.columns && !output.last_column.is_empty() {
            output.last_column[first_lane] = form.cell(cells.at(0));
        }
        if let Some(all) = &mut output.sum {
            *all += match output.band {
                None => loops.sum(form, cells),
                Some(band) => {
                    let row = output.first_row + first_lane;
                    let within = |&l: &usize| band.holds(row + l, first_column - l);
                    let score = |l: usize| form.whole(F::score(cells.at(l)));
                    sum((0..cells.len()).filter(within).map(score))
                }
            };
        }
    }
}

/// The arrays that a run fills: last column and matrix, empty unless kept.
pub(super) struct Filled<C> {
    pub last_column: Vec<C>,
    pub matrix: Vec<C>,
}

impl<C: Ranked> Filled<C> {
    /// What `wavefront` keeps of rows and columns.
    pub fn new<E: WavefrontElement<Cell = C>>(wavefront: &Wavefront<'_, E>) -> Result<Self> {
        let [rows, columns] = wavefront.extents();
        let [mut last_column, mut matrix] = [const { Vec::new() }; 2];
        match wavefront.keep {
            Keep::Matrix => matrix = allocate(rows * columns)?,
            Keep::LastColumn => last_column = allocate(rows)?,
            Keep::Best | Keep::Least | Keep::Score | Keep::LastRow | Keep::Sum => {}
        }
        Ok(Self { last_column, matrix })
    }

    /// The last column, whatever `wavefront` keeps.
    pub fn last_column<E: WavefrontElement<Cell = C>>(
        wavefront: &Wavefront<'_, E>,
    ) -> Result<Self> {
        Ok(Self { last_column: allocate(wavefront.rows.len())?, matrix: Vec::new() })
    }
}

/// What the tile-rows leave in addition to [`Filled`].
pub(super) struct Outcome<C: Ranked> {
    pub best: Option<Best<C::Score>>,
    pub sum: Option<i128>,
    pub row: Vec<C>,
}

impl<C: Ranked> Outcome<C> {
    /// What was to be kept.
    pub fn kept(self, keep: Keep, filled: Filled<C>) -> Kept<C> {
        match keep {
            Keep::Best | Keep::Least => Kept::Best(self.best),
            Keep::Score => Kept::Score(self.best.map(|best| best.score)),
            Keep::Sum => Kept::Sum(self.sum.unwrap_or_default()),
            Keep::LastRow => Kept::LastRow(self.row),
            Keep::LastColumn => Kept::LastColumn(filled.last_column),
            Keep::Matrix => Kept::Matrix(filled.matrix),
        }
    }

    /// Last row, last column, and winner or sum.
    pub fn edges(self, filled: Filled<C>) -> Edges<C> {
        Edges { row: self.row, column: filled.last_column, best: self.best, sum: self.sum }
    }
}
