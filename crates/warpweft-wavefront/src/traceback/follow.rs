//! From the end of a path back to its start, in linear space.

use super::Partition;
use super::checkpoint::{Checkpoint, Store};
use super::grid::{Grid, HINT, Rectangle};
use super::trail::Trail;
use crate::executor::WavefrontExecutor;
use crate::path::{End, Path, Score, other};
use crate::recurrence::{NEAR, Ranked, Traced, choice_of};
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
pub(super) fn in_linear_space<E: Traced, X: WavefrontExecutor<E> + ?Sized>(
    wavefront: &Wavefront<'_, E>,
    end: End,
    partition: &Partition,
    checkpoint: Option<&Checkpoint>,
    executor: &mut X,
) -> Result<(Option<Path<Score<E>>>, Report)> {
    // Edges are all that is kept of the domain, whatever the spec says.
    let wavefront = &wavefront.clone().keep(Keep::Best);
    let bytes = partition.bytes(wavefront.extents(), size_of::<E::Cell>());
    // A checkpoint is cut alike on every machine; without one the cut follows the memory there is.
    let without = if checkpoint.is_some() { ", or leave the checkpoint out" } else { "" };
    check_room(bytes, &format!("{HINT}{without}"))?;
    let whole = Rectangle::whole(wavefront)?;
    let blocks = partition.of(whole.extents()).unwrap_or([1, 1]);
    let mut grid = Grid::new(whole, blocks);
    let store = checkpoint.map(|given| Store::open(given, wavefront, blocks, end)).transpose()?;
    // After the first blocks, which a checkpoint has, whatever the device.
    let matrix_cells = partition.matrix_cells.min(executor.whole_cells());
    let partition = &Partition { matrix_cells, ..*partition };
    let mut tracer =
        Tracer { wavefront, partition, executor, report: None, score: None, trail: Trail::new() };
    let resumed = tracer.fill(&mut grid, store.as_ref(), end)?;
    let first = tracer.cells();
    let [m, n] = wavefront.extents();
    let at = match end {
        End::Corner => Some([m - 1, n - 1]),
        End::Best => {
            let best = grid.lines.last().and_then(|line| line.best);
            best.map(|best| [best.row, best.column])
        }
    };
    let path = match at {
        None => None,
        Some(at) => {
            let start = match tracer.follow(&grid, at)? {
                Reached::Start(start) | Reached::Beyond(start) => start,
            };
            let moves = std::mem::replace(&mut tracer.trail, Trail::new()).moves();
            let score = tracer.score;
            score.map(|score| Path { score, end: at, start, moves })
        }
    };
    let again = tracer.cells() - first;
    let Some(mut report) = tracer.report else {
        return Err(Error::spec("a path without a cell", "report this as a bug"));
    };
    let percent = 100.0 * again as f64 / wavefront.cells() as f64;
    report.notes.push(format!("the path took {percent:.1} % of the cells again"));
    if resumed == wavefront.cells() {
        report.notes.push("all rows were resumed: nothing was left to be done but the path".into());
    }
    report.done += resumed;
    report.first = resumed;
    Ok((path, report))
}

/// How far a path got.
enum Reached {
    /// It begins here.
    Start([isize; 2]),
    /// It goes on from here, which is outside.
    Beyond([isize; 2]),
}

/// A path on its way.
struct Tracer<'t, 'w, E: Traced, X: ?Sized> {
    wavefront: &'t Wavefront<'w, E>,
    partition: &'t Partition,
    executor: &'t mut X,
    /// Of all runs so far.
    report: Option<Report>,
    /// Of the cell at the end.
    score: Option<Score<E>>,
    trail: Trail<E>,
}

impl<E: Traced, X: WavefrontExecutor<E> + ?Sized> Tracer<'_, '_, E, X> {
    /// Cells computed so far.
    fn cells(&self) -> u64 {
        self.report.as_ref().map_or(0, |report| report.done)
    }

    /// Computes all rows of blocks of `grid` but those that `store` has; the number of cells that it had.
    fn fill(&mut self, grid: &mut Grid<E::Cell>, store: Option<&Store>, end: End) -> Result<u64> {
        let mut resumed = 0;
        let [rows, columns] = grid.blocks();
        for p in 0..rows {
            let saved = store.map(|store| store.load(p, grid.sizes(p), columns)).transpose()?;
            match saved.flatten() {
                Some(line) => {
                    resumed += grid.sizes(p).map(|size| size as u64).iter().product::<u64>();
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
    fn advance(&mut self, grid: &mut Grid<E::Cell>, best: bool) -> Result<()> {
        let total = &mut self.report;
        grid.advance(self.wavefront, best, self.executor, |report| report.add_to(total))
    }

    /// From cell `at` through the blocks of `grid`.
    fn follow(&mut self, grid: &Grid<E::Cell>, at: [usize; 2]) -> Result<Reached> {
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
    fn through(&mut self, rectangle: Rectangle<E::Cell>, at: [usize; 2]) -> Result<Reached> {
        let rectangle = rectangle.up_to(at);
        let Some(blocks) = self.partition.of(rectangle.extents()) else {
            let spec = rectangle.wavefront(self.wavefront, Keep::Matrix)?;
            let (Kept::Matrix(cells), report) = self.executor.run(&spec)? else {
                return Err(other(Keep::Matrix));
            };
            report.add_to(&mut self.report);
            return self.walk(&rectangle, &cells);
        };
        let mut grid = Grid::new(rectangle, blocks);
        for _ in 0..blocks[0] {
            self.advance(&mut grid, false)?;
        }
        self.follow(&grid, at)
    }

    /// From the last cell of `rectangle`, all `cells` of which are known.
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
