//! Any legal dependences, and sweeps one behind the other, through a matrix in memory.
//!
//! A unit of work is one tile-row of one sweep. It goes through tiles of columns; within a tile row
//! after row, each σ columns behind the one above (σ is the skew of all precedences), so that
//! nothing a cell wants is missing. All sweeps overwrite one array: a unit waits for the unit above
//! of its own sweep, and for the unit below of the sweep before, which is then through with what
//! this one overwrites. Units in order of sweep, then row, wait only for earlier ones.

use super::row::SharedRow;
use crate::frame::Frame;
use crate::policy::CpuPolicy;
use crate::recurrence::{Cells, Reach, WavefrontElement, precedences, skew};
use crate::spec::{Kept, Wavefront};
use warpweft_core::cpu::{Aborted, Pool, Progress, Worker, WorkerPanic};
use warpweft_core::error::Result;
use warpweft_core::run::{Done, Watch};

/// One wavefront, ready to run.
pub(super) struct Sweeps<'a, 'w, E: WavefrontElement> {
    wavefront: &'a Wavefront<'w, E>,
    frame: Frame,
    cells: SharedRow<E::Cell>,
    /// From a cell to those it reads.
    earlier: Vec<isize>,
    old: Vec<isize>,
    skew: usize,
    policy: CpuPolicy,
    /// Columns that a unit must be ahead of the one below, and of the next sweep's above.
    lead: usize,
    lag: usize,
    /// Per unit, sweep by sweep, the columns that all of its rows have computed.
    progress: Vec<Progress>,
}

impl<'a, 'w, E: WavefrontElement> Sweeps<'a, 'w, E> {
    /// Lays the matrix out and cuts it into tile-rows.
    ///
    /// # Errors
    /// Too little memory.
    pub fn new(wavefront: &'a Wavefront<'w, E>, policy: CpuPolicy) -> Result<Self> {
        let policy = policy.within(wavefront.extents());
        // Of few tiles a unit has published nothing when the next could begin, and workers take turns.
        // Laplace's equation on two cores, 256 to 2048 squared, in whole rows or halves: 1.2 times as
        // long as on one; in eighths 0.45.
        let shared = wavefront.columns.len().div_ceil(8).max(32);
        let narrow = if policy.threads > 1 { shared } else { policy.tile_columns };
        let frame = Frame::of(wavefront);
        let order = precedences(E::DEPENDENCES, E::OLD)?;
        let (ahead, reach) = (Reach::of(&order), frame.reach);
        let offsets = |vectors: &[_]| vectors.iter().map(|&v| frame.offset(v)).collect();
        // A tile-row waits for its neighbours only, so no vector may pass over one.
        let tile_rows = policy.tile_rows.max(reach.north).max(reach.south);
        let tile_columns = policy.tile_columns.min(narrow);
        let policy = CpuPolicy { tile_rows, tile_columns, cells_16_bit: false, ..policy };
        let units = frame.rows.div_ceil(tile_rows) * wavefront.sweeps;
        Ok(Self {
            wavefront,
            frame,
            cells: SharedRow::new(frame.cells(wavefront)?.into_iter()),
            earlier: offsets(E::DEPENDENCES),
            old: offsets(E::OLD),
            skew: skew(&order)?,
            policy,
            lead: ahead.east,
            lag: reach.east.max(reach.west),
            progress: (0..units).map(|_| Progress::default()).collect(),
        })
    }

    /// The policy in use: what was given, within the matrix and narrow enough for all workers.
    pub fn policy(&self) -> CpuPolicy {
        self.policy
    }

    /// Computes every sweep.
    pub fn run(&self, pool: &Pool, watch: &Watch<'_>) -> Result<(), WorkerPanic> {
        let done = watch.done();
        watch.run(pool, |worker| {
            for unit in (worker.index..self.progress.len()).step_by(worker.count) {
                self.unit(unit, worker, done)?;
            }
            Ok(())
        })
    }

    fn unit(&self, unit: usize, worker: &Worker<'_>, done: &Done) -> Result<(), Aborted> {
        let columns = self.frame.columns;
        let count = self.frame.rows.div_ceil(self.policy.tile_rows);
        let (sweep, s) = (unit / count, unit % count);
        let first = s * self.policy.tile_rows;
        let rows = self.policy.tile_rows.min(self.frame.rows - first);
        let behind = self.skew * (rows - 1);
        let mut end = 0;
        while end < columns + behind {
            let begin = end;
            end += self.policy.tile_columns;
            worker.abort.check()?;
            let mut cells = 0;
            if s > 0 {
                let wanted = (end + self.lead).min(columns);
                self.progress[unit - 1].wait_for(wanted, worker.abort)?;
            }
            if sweep > 0 {
                let below = unit - count + usize::from(s + 1 < count);
                let wanted = (end + self.lag).min(columns);
                self.progress[below].wait_for(wanted, worker.abort)?;
            }
            for row in 0..rows {
                let shift = self.skew * row;
                let from = begin.saturating_sub(shift).min(columns);
                let to = end.saturating_sub(shift).min(columns);
                self.row(first + row, from..to);
                cells += to - from;
            }
            done.add(cells as u64);
            self.progress[unit].publish(end.saturating_sub(behind).min(columns));
        }
        Ok(())
    }

    fn row(&self, i: usize, columns: std::ops::Range<usize>) {
        for j in columns {
            let at = self.frame.index(i as isize, j as isize);
            // SAFETY: what the vectors reach lies in the frame; the units that write it have
            // published it, or wait for this one.
            let read = |offset| unsafe { self.cells.get(at.wrapping_add_signed(offset)) };
            let earlier = E::Earlier::gather(|k| read(self.earlier[k]));
            let old = E::Old::gather(|k| read(self.old[k]));
            let cell = self.wavefront.cell(earlier, old, i, j);
            // SAFETY: this unit alone computes the cell in this sweep, and the workers that read
            // its old value have done so, or wait for its new value.
            unsafe { self.cells.set(at, cell) };
        }
    }

    /// What was to be kept.
    ///
    /// # Errors
    /// Too little memory.
    pub fn kept(self) -> Result<Kept<E::Cell>> {
        let cells = self.cells.into_cells();
        self.frame.kept(self.wavefront, &cells)
    }
}
