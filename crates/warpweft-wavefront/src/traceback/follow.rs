//! From the end of a path back to its start, in linear space.

use super::Partition;
use super::checkpoint::{Checkpoint, Store};
use super::grid::{Grid, HINT, Problem, Reached, Rectangle};
use super::trail::Trail;
use crate::executor::{Edges, WavefrontExecutor};
use crate::path::{End, Path, Score, other};
use crate::recurrence::{NEAR, Ranked, Stored, Traced, choice_of};
use crate::spec::{Keep, Kept, Wavefront};
use warpweft_core::error::{Error, Result};
use warpweft_core::memory::check_room;
use warpweft_core::report::Report;

/// The path to the cell where `end` says, or none where no cell has a number for a score.
///
/// The report is that of all runs together. Time and space: see the head of this module.
///
/// # Errors
/// A checkpoint of another problem or that can't be written; the executor's.
pub(super) fn in_linear_space<E: Traced>(
    wavefront: &Wavefront<'_, E>,
    end: End,
    partition: &Partition,
    checkpoint: Option<&Checkpoint>,
    executor: &mut dyn WavefrontExecutor<E>,
) -> Result<(Option<Path<Score<E>>>, Report)> {
    // Edges are all that is kept of the domain, whatever the spec says.
    let wavefront = &wavefront.clone().keep(Keep::Best);
    let bytes = partition.bytes(wavefront.extents(), size_of::<E::Cell>());
    // A checkpoint is cut alike on every machine; without one the cut follows the memory there is.
    let without = if checkpoint.is_some() { ", or leave the checkpoint out" } else { "" };
    check_room(bytes, &format!("{HINT}{without}"))?;
    let whole = Rectangle::whole(wavefront)?;
    let blocks = partition.of(whole.extents()).unwrap_or([1, 1]);
    let grid = Grid::new(whole, blocks);
    let store = checkpoint.map(|given| Store::open(given, wavefront, blocks, end)).transpose()?;
    // After the first blocks, which a checkpoint has, whatever the device.
    let matrix_cells = partition.matrix_cells.min(executor.whole_cells());
    let partition = Partition { matrix_cells, ..*partition };
    let mut problem = OfElement { wavefront, executor, score: None, trail: Trail::new() };
    let tracer = Tracer { problem: &mut problem, partition, report: None };
    let (found, report) = tracer.search(grid, store.as_ref(), end)?;
    let OfElement { score, trail, .. } = problem;
    let path = match (found, score) {
        (Some([at, start]), Some(score)) => {
            let end = at.map(|at| at as usize);
            Some(Path { score, end, start, moves: trail.moves() })
        }
        _ => None,
    };
    Ok((path, report))
}

/// A path on its way through the problem of a recurrence.
struct OfElement<'t, 'w, E: Traced> {
    wavefront: &'t Wavefront<'w, E>,
    executor: &'t mut dyn WavefrontExecutor<E>,
    /// Of the cell at the end.
    score: Option<Score<E>>,
    trail: Trail<E>,
}

impl<E: Traced> Problem<E::Cell> for OfElement<'_, '_, E> {
    fn missed(&self, block: &Rectangle<E::Cell>) -> Option<E::Cell> {
        let band = self.wavefront.band.as_ref()?;
        band.misses(&block.rows, &block.columns).then_some(band.outside)
    }

    fn edges(
        &mut self,
        block: &Rectangle<E::Cell>,
        keep: Keep,
    ) -> Result<(Edges<E::Cell>, Report)> {
        self.executor.edges(&block.wavefront(self.wavefront, keep)?)
    }

    fn all(&mut self, block: &Rectangle<E::Cell>) -> Result<(Kept<E::Cell>, Report)> {
        self.executor.run(&block.wavefront(self.wavefront, Keep::Matrix)?)
    }

    fn walk(&mut self, rectangle: &Rectangle<E::Cell>, cells: &[E::Cell]) -> Result<Reached> {
        let [m, n] = rectangle.extents();
        let first = [rectangle.rows.start, rectangle.columns.start].map(|first| first as isize);
        let (mut i, mut j) = (m as isize - 1, n as isize - 1);
        let cell = |i: isize, j: isize| match (usize::try_from(i), usize::try_from(j)) {
            (Ok(i), Ok(j)) => cells[i * n + j],
            (Ok(i), _) => rectangle.left[i],
            (_, Ok(j)) => rectangle.top[j],
            _ => rectangle.corner,
        };
        let choice = self.wavefront.element.choice();
        while i >= 0 && j >= 0 {
            let [row, column] = [first[0] + i, first[1] + j];
            if !self.wavefront.computes(row as usize, column as usize) {
                return Err(Error::spec(
                    format!("a path that leaves its band at row {row} and column {column}"),
                    "widen the band, or give cells outside the band a value that is never chosen",
                ));
            }
            let here = cell(i, j);
            self.score.get_or_insert(here.score());
            let near = NEAR.map(|vector| cell(i + vector[0], j + vector[1]));
            let a = self.wavefront.rows[row as usize];
            let b = self.wavefront.columns[column as usize];
            let Some(vector) = self.trail.go(choice_of::<E>(&choice, near, here, a, b))? else {
                return Ok(Reached::Start([row, column]));
            };
            (i, j) = (i + vector[0], j + vector[1]);
        }
        Ok(Reached::Beyond([first[0] + i, first[1] + j]))
    }
}

/// The search for a path, whatever the recurrence.
struct Tracer<'t, C: Ranked> {
    problem: &'t mut dyn Problem<C>,
    partition: Partition,
    /// Of all runs so far.
    report: Option<Report>,
}

impl<C: Ranked<Score: Stored> + Stored> Tracer<'_, C> {
    /// The end and the start of the path through the whole domain, which is `grid`, if there is one; a report of all runs.
    fn search(
        mut self,
        mut grid: Grid<C>,
        store: Option<&Store>,
        end: End,
    ) -> Result<(Option<[[isize; 2]; 2]>, Report)> {
        let resumed = self.fill(&mut grid, store, end)?;
        let first = self.cells();
        let [m, n] = grid.extents();
        let at = match end {
            End::Corner => Some([m - 1, n - 1]),
            End::Best => {
                let best = grid.lines.last().and_then(|line| line.best);
                best.map(|best| [best.row, best.column])
            }
        };
        let found = match at {
            None => None,
            Some(at) => {
                let (Reached::Start(start) | Reached::Beyond(start)) = self.follow(&grid, at)?;
                Some([at.map(|at| at as isize), start])
            }
        };
        let again = self.cells() - first;
        let Some(mut report) = self.report else {
            return Err(Error::spec("a path without a cell", "report this as a bug"));
        };
        let cells = m as u64 * n as u64;
        let percent = 100.0 * again as f64 / cells as f64;
        report.notes.push(format!("the path took {percent:.1} % of the cells again"));
        if resumed == cells {
            let all = "all rows were resumed: nothing was left to be done but the path";
            report.notes.push(all.into());
        }
        report.done += resumed;
        report.first = resumed;
        Ok((found, report))
    }

    /// Cells computed so far.
    fn cells(&self) -> u64 {
        self.report.as_ref().map_or(0, |report| report.done)
    }

    /// Computes all rows of blocks of `grid` but those that `store` has; the number of cells that it had.
    fn fill(&mut self, grid: &mut Grid<C>, store: Option<&Store>, end: End) -> Result<u64> {
        let mut resumed = 0;
        let [rows, columns] = grid.blocks();
        for p in 0..rows {
            let saved = store.map(|store| store.load(p, grid.sizes(p), columns)).transpose()?;
            match saved.flatten() {
                Some(line) => {
                    let [rows, columns] = grid.sizes(p);
                    resumed += rows as u64 * columns as u64;
                    grid.lines.push(line);
                }
                None => {
                    self.advance(grid, end == End::Best)?;
                    if let Some(store) = store {
                        store.save(p, &grid.lines[p])?;
                    }
                }
            }
        }
        Ok(resumed)
    }

    /// Computes the next row of blocks of `grid`.
    fn advance(&mut self, grid: &mut Grid<C>, best: bool) -> Result<()> {
        grid.advance(self.problem, best, &mut self.report)
    }

    /// From cell `at` through the blocks of `grid`.
    fn follow(&mut self, grid: &Grid<C>, at: [usize; 2]) -> Result<Reached> {
        let mut at = at.map(|at| at as isize);
        while let Some(block) = grid.around(at)? {
            match self.through(block, at.map(|at| at as usize))? {
                Reached::Beyond(next) => at = next,
                start @ Reached::Start(_) => return Ok(start),
            }
        }
        Ok(Reached::Beyond(at))
    }

    /// From cell `at` of `rectangle` to where the path leaves it or begins.
    fn through(&mut self, rectangle: Rectangle<C>, at: [usize; 2]) -> Result<Reached> {
        let rectangle = rectangle.up_to(at);
        let Some(blocks) = self.partition.of(rectangle.extents()) else {
            let (Kept::Matrix(cells), report) = self.problem.all(&rectangle)? else {
                return Err(other(Keep::Matrix));
            };
            report.add_to(&mut self.report);
            return self.problem.walk(&rectangle, &cells);
        };
        let mut grid = Grid::new(rectangle, blocks);
        for _ in 0..blocks[0] {
            self.advance(&mut grid, false)?;
        }
        self.follow(&grid, at)
    }
}
