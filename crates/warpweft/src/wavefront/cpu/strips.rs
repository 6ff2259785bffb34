//! Recurrences of north, west and north-west: one row of cells passes from tile-row to tile-row.

use std::sync::{Mutex, PoisonError};

use super::row::SharedRow;
use super::simd;
use super::strip::{self, Sink, Strip, Track};
use crate::cpu::{Aborted, Pool, Progress, Simd, Worker};
use crate::error::Result;
use crate::wavefront::frame::allocate;
use crate::wavefront::rank::{Best, Ranked};
use crate::wavefront::spec::{Keep, Kept, Wavefront};
use crate::wavefront::{CpuPolicy, Edges, Extreme, WavefrontElement};

/// Whether every cell of `wavefront` is in the reach of anti-diagonals, computed once.
pub(super) fn can<E: WavefrontElement>() -> bool {
    let known = |vector: &[isize; 2]| matches!(vector, [-1, -1] | [-1, 0] | [0, -1]);
    E::OLD.is_empty() && E::DEPENDENCES.iter().all(known)
}

/// What one tile-row leaves behind.
struct Part<'a, C: Ranked> {
    best: Option<Best<C::Score>>,
    last_column: &'a mut [C],
    matrix: &'a mut [C],
    columns: usize,
}

impl<C: Ranked> Sink<C> for Part<'_, C> {
    #[inline(always)]
    fn front(&mut self, first_lane: usize, first_column: usize, cells: &[C]) {
        if !self.matrix.is_empty() {
            for (l, cell) in cells.iter().enumerate() {
                self.matrix[(first_lane + l) * self.columns + first_column - l] = *cell;
            }
        }
        // The first lane of a front is the one furthest to the east.
        if first_column + 1 == self.columns && !self.last_column.is_empty() {
            self.last_column[first_lane] = cells[0];
        }
    }
}

/// Everything the workers share.
struct Shared<'a, 'w, E: WavefrontElement> {
    wavefront: &'a Wavefront<'w, E>,
    reversed: Vec<E::Column>,
    row: SharedRow<E::Cell>,
    /// Per tile-row, the columns whose bottom cell is in `row`.
    progress: Vec<Progress>,
    parts: Vec<Mutex<Part<'a, E::Cell>>>,
    policy: CpuPolicy,
    simd: Simd,
}

impl<E: WavefrontElement> Shared<'_, '_, E> {
    fn tile_row<T: Track>(&self, s: usize, worker: &Worker<'_>) -> Result<(), Aborted> {
        let spec = self.wavefront;
        let first = s * self.policy.tile_rows;
        let last = (first + self.policy.tile_rows).min(spec.rows.len());
        let columns = self.reversed.len();
        let mut strip = Strip::new::<T>(spec, first..last, &self.reversed);
        let mut part = self.parts[s].lock().unwrap_or_else(PoisonError::into_inner);
        let mut top = vec![E::Cell::default(); self.policy.tile_columns.min(columns)];
        let mut bottom = Vec::new();
        let mut published = 0;
        for column in (0..columns).step_by(self.policy.tile_columns) {
            let end = (column + self.policy.tile_columns).min(columns);
            if s > 0 {
                self.progress[s - 1].wait_for(end, worker.abort)?;
            }
            let top = &mut top[..end - column];
            // SAFETY: the row above has published these columns, and only this tile-row writes
            // them next.
            unsafe { self.row.read(column, top) };
            let more = if end == columns { last - first - 1 } else { 0 };
            simd::advance::<E, T>(self.simd, &mut strip, top, more, &mut bottom, &mut *part);
            // SAFETY: this tile-row has read them, and the next one waits for the flag.
            unsafe { self.row.write(published, &bottom) };
            published += bottom.len();
            bottom.clear();
            self.progress[s].publish(published);
        }
        part.best = strip.best::<T>();
        Ok(())
    }
}

/// One wavefront, ready to run.
pub(super) struct Strips<'a, 'w, E: WavefrontElement> {
    shared: Shared<'a, 'w, E>,
}

/// The arrays that a run fills: last column and matrix, empty unless kept.
pub(super) struct Filled<C> {
    last_column: Vec<C>,
    matrix: Vec<C>,
}

impl<C: Ranked> Filled<C> {
    /// What `wavefront` keeps of rows and columns.
    pub fn new<E: WavefrontElement<Cell = C>>(wavefront: &Wavefront<'_, E>) -> Result<Self> {
        let [rows, columns] = wavefront.extents();
        let [mut last_column, mut matrix] = [const { Vec::new() }; 2];
        match wavefront.keep {
            Keep::Matrix => matrix = allocate(rows * columns)?,
            Keep::LastColumn => last_column = allocate(rows)?,
            Keep::Best | Keep::Least | Keep::Score | Keep::LastRow => {}
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

impl<'a, 'w, E: WavefrontElement> Strips<'a, 'w, E> {
    /// Cuts `wavefront` into tile-rows.
    pub fn new(
        wavefront: &'a Wavefront<'w, E>,
        policy: CpuPolicy,
        simd: Simd,
        filled: &'a mut Filled<E::Cell>,
    ) -> Self {
        let [rows, columns] = wavefront.extents();
        let policy = policy.within([rows, columns]);
        let count = rows.div_ceil(policy.tile_rows);
        let mut matrices = filled.matrix.chunks_mut(policy.tile_rows * columns);
        let mut lasts = filled.last_column.chunks_mut(policy.tile_rows);
        let parts = (0..count).map(|_| {
            let (last_column, matrix) = (lasts.next(), matrices.next());
            Mutex::new(Part {
                best: None,
                last_column: last_column.unwrap_or_default(),
                matrix: matrix.unwrap_or_default(),
                columns,
            })
        });
        let shared = Shared {
            wavefront,
            reversed: wavefront.columns.iter().rev().copied().collect(),
            row: SharedRow::new((0..columns as isize).map(|j| wavefront.border.at(-1, j))),
            progress: (0..count).map(|_| Progress::default()).collect(),
            parts: parts.collect(),
            policy,
            simd,
        };
        Self { shared }
    }

    /// Computes all tile-rows.
    pub fn run(&self, pool: &Pool) -> Result<(), crate::cpu::WorkerPanic> {
        match self.shared.wavefront.keep {
            Keep::Best => self.all::<strip::Greatest>(pool),
            Keep::Least => self.all::<strip::Least>(pool),
            Keep::Score => self.all::<strip::Score>(pool),
            _ => self.all::<strip::Nothing>(pool),
        }
    }

    fn all<T: Track>(&self, pool: &Pool) -> Result<(), crate::cpu::WorkerPanic> {
        let count = self.shared.parts.len();
        pool.run(|worker| {
            for s in (worker.index..count).step_by(worker.count) {
                self.shared.tile_row::<T>(s, worker)?;
            }
            Ok(())
        })
    }

    /// The winner, and the last row.
    pub fn outcome(self) -> Outcome<E::Cell> {
        let extreme = match self.shared.wavefront.keep {
            Keep::Least => Extreme::Least,
            _ => Extreme::Greatest,
        };
        let parts = self.shared.parts.into_iter();
        let best = parts
            .map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner).best)
            .fold(None, |a, b| Best::of(a, b, extreme));
        Outcome { best, row: self.shared.row.into_cells() }
    }
}

/// What the tile-rows leave behind beside [`Filled`].
pub(super) struct Outcome<C: Ranked> {
    best: Option<Best<C::Score>>,
    row: Vec<C>,
}

impl<C: Ranked> Outcome<C> {
    /// What was to be kept.
    pub fn kept(self, keep: Keep, filled: Filled<C>) -> Kept<C> {
        match keep {
            Keep::Best | Keep::Least => Kept::Best(self.best),
            Keep::Score => Kept::Score(self.best.map(|best| best.score)),
            Keep::LastRow => Kept::LastRow(self.row),
            Keep::LastColumn => Kept::LastColumn(filled.last_column),
            Keep::Matrix => Kept::Matrix(filled.matrix),
        }
    }

    /// Last row, last column and winner.
    pub fn edges(self, filled: Filled<C>) -> Edges<C> {
        Edges { row: self.row, column: filled.last_column, best: self.best }
    }
}
