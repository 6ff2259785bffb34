//! Wavefronts on the cores: tile-rows round robin to pinned workers, one-way flags between them.
//!
//! PeerWave (section 3.1 and 3.2) on cores: a worker waits until the tile-row above has published
//! the columns it needs, computes the fronts, and publishes its own bottom row. One row of cells is
//! all that passes through memory unless the matrix is kept.

mod row;
mod simd;
mod strip;

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use self::row::SharedRow;
use self::strip::{Sink, Strip};
use super::element::WavefrontElement;
use super::executor::WavefrontExecutor;
use super::policy::{CpuPolicy, Policy};
use super::rank::{Best, Ranked};
use super::report::report;
use super::spec::{Keep, Kept, Wavefront};
use crate::cpu::{Aborted, Pool, Progress, Simd, Worker};
use crate::error::{Error, Result};
use crate::report::Report;

/// Runs wavefronts on the workers of a pool.
pub struct CpuExecutor<'a> {
    pool: &'a Pool,
    policy: CpuPolicy,
    simd: Simd,
}

impl<'a> CpuExecutor<'a> {
    /// An executor on `pool`, whose length overrides the policy's number of threads.
    ///
    /// # Errors
    /// A tile of no rows or columns.
    pub fn new(pool: &'a Pool, policy: CpuPolicy) -> Result<Self> {
        if policy.tile_rows == 0 || policy.tile_columns == 0 {
            return Err(Error::spec(
                format!("a tile of {} × {} cells", policy.tile_rows, policy.tile_columns),
                "give it at least one row and one column",
            ));
        }
        let policy = CpuPolicy { threads: pool.len(), ..policy };
        Ok(Self { pool, policy, simd: Simd::detect() })
    }

    /// Limits the instruction set, for tests and comparisons.
    pub fn simd(mut self, simd: Simd) -> Self {
        self.simd = simd;
        self
    }
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
    fn tile_row<const BEST: bool>(&self, s: usize, worker: &Worker<'_>) -> Result<(), Aborted> {
        let spec = self.wavefront;
        let first = s * self.policy.tile_rows;
        let last = (first + self.policy.tile_rows).min(spec.rows.len());
        let columns = self.reversed.len();
        let left = (first..last).map(|i| spec.border.left(i as isize));
        let corner = spec.border.left(first as isize - 1);
        let mut strip =
            Strip::new(spec.element, &spec.rows[first..last], &self.reversed, corner, left);
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
            simd::advance::<E, BEST>(self.simd, &mut strip, top, more, &mut bottom, &mut *part);
            // SAFETY: this tile-row has read them, and the next one waits for the flag.
            unsafe { self.row.write(published, &bottom) };
            published += bottom.len();
            bottom.clear();
            self.progress[s].publish(published);
        }
        if BEST {
            part.best = strip.best().map(|best| Best { row: best.row + first, ..best });
        }
        Ok(())
    }
}

impl<E: WavefrontElement> WavefrontExecutor<E> for CpuExecutor<'_> {
    fn run(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Kept<E::Cell>, Report)> {
        wavefront.check()?;
        let begin = Instant::now();
        let [rows, columns] = wavefront.extents();
        let policy = self.policy;
        let mut matrix = Vec::new();
        let mut last_column = Vec::new();
        match wavefront.keep {
            Keep::Matrix => matrix = cells::<E>(rows * columns)?,
            Keep::LastColumn => last_column = cells::<E>(rows)?,
            Keep::Best | Keep::LastRow => {}
        }
        let count = rows.div_ceil(policy.tile_rows);
        let mut matrices = matrix.chunks_mut(policy.tile_rows * columns);
        let mut lasts = last_column.chunks_mut(policy.tile_rows);
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
            row: SharedRow::new((0..columns as isize).map(|j| wavefront.border.top(j))),
            progress: (0..count).map(|_| Progress::default()).collect(),
            parts: parts.collect(),
            policy,
            simd: self.simd,
        };
        let setup_seconds = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        let outcome = self.pool.run(|worker| {
            for s in (worker.index..count).step_by(worker.count) {
                match wavefront.keep {
                    Keep::Best => shared.tile_row::<true>(s, worker)?,
                    _ => shared.tile_row::<false>(s, worker)?,
                }
            }
            Ok(())
        });
        outcome.map_err(|panic| Error::Element {
            place: format!("{} on worker {}", E::NAME, panic.worker),
            what: panic.message,
        })?;
        let seconds = begin.elapsed().as_secs_f64();
        let best = shared
            .parts
            .into_iter()
            .map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner).best)
            .fold(None, Best::of);
        let row = shared.row.into_cells();
        let kept = match wavefront.keep {
            Keep::Best => Kept::Best(best),
            Keep::LastRow => Kept::LastRow(row),
            Keep::LastColumn => Kept::LastColumn(last_column),
            Keep::Matrix => Kept::Matrix(matrix),
        };
        let devices = vec![format!("{} cores", self.pool.len())];
        Ok((kept, report(wavefront, devices, seconds, setup_seconds, Policy::Cpu(policy))))
    }
}

fn cells<E: WavefrontElement>(count: usize) -> Result<Vec<E::Cell>> {
    let mut cells = Vec::new();
    cells.try_reserve_exact(count).map_err(|_| Error::Memory {
        whose: "host".into(),
        needed: (count * size_of::<E::Cell>()) as u64,
        available: crate::machine::available_memory().unwrap_or(0),
        remedy: "keep the best cell or the last row".into(),
    })?;
    cells.resize(count, E::Cell::default());
    Ok(cells)
}
