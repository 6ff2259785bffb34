//! Any legal dependences, and sweeps one behind the other.
//!
//! A unit of work is one strip of rows in one sweep. Its lanes own a row each and are σ columns behind the lane above (σ
//! is the skew of all precedences), so that nothing a cell wants is missing, and the cells of a front are computed in
//! vectors. Only the last rows of a strip pass through memory; where old values are read, all cells do, and all sweeps
//! overwrite one array. Then a unit waits for the unit above of its own sweep, and for the unit below of the sweep
//! before, which is through with what this one overwrites. Units in order of sweep, then row, wait only for earlier ones.

mod front;
mod geometry;
mod prefetch;
mod ring;
mod rows;
mod store;
mod strip;
mod transpose;

use std::sync::{Mutex, PoisonError};

use self::front::{Loops, Score};
use self::geometry::{ByLane, Geometry};
pub(super) use self::rows::{Rows, reads_rows_above};
use self::store::Store;
use self::strip::{Shared, Strip};
use super::output::{Filled, Outcome, TileRowOutput};
use super::thread_group::{Stopped, ThreadGroup};
use crate::frame::Frame;
use crate::policy::CpuPolicy;
use crate::recurrence::{Best, WavefrontElement};
use crate::spec::{Keep, Kept, Wavefront};
use warpweft_core::cpu::{Aborted, Progress, Simd, Worker};
use warpweft_core::error::Result;
use warpweft_core::memory::room;
use warpweft_core::run::Done;

/// Rows of a strip at most, where all cells come from memory and go there.
const IN_CACHE: usize = 256;

/// One wavefront, ready to run.
pub(super) struct Sweeps<'a, 'w, E: WavefrontElement> {
    shared: Shared<'a, 'w, E>,
    policy: CpuPolicy,
    /// What each strip leaves, where there is one sweep.
    outputs: Vec<Mutex<TileRowOutput<'a, E::Cell>>>,
    best: Mutex<Option<Best<Score<E>>>>,
    /// Per unit, sweep by sweep, the columns that all of its rows have computed.
    progress: Vec<Progress>,
}

impl<'a, 'w, E: WavefrontElement> Sweeps<'a, 'w, E> {
    /// Cuts the domain into strips, which fill `filled`.
    ///
    /// # Errors
    /// Too little memory.
    pub fn new(
        wavefront: &'a Wavefront<'w, E>,
        (policy, workers): (CpuPolicy, usize),
        simd: Simd,
        filled: &'a mut Filled<E::Cell>,
    ) -> Result<Self> {
        let frame = Frame::of(wavefront);
        let geometry = Geometry::of::<E>(&frame)?;
        let policy = fitted((policy, workers), wavefront, &geometry);
        let count = frame.rows.div_ceil(policy.tile_rows);
        let mut matrices = filled.matrix.chunks_mut(policy.tile_rows * frame.columns);
        let mut lasts = filled.last_column.chunks_mut(policy.tile_rows);
        let outputs = (0..count).map(|s| {
            Mutex::new(TileRowOutput {
                last_column: lasts.next().unwrap_or_default(),
                matrix: matrices.next().unwrap_or_default(),
                columns: frame.columns,
                sum: (wavefront.keep == Keep::Sum).then_some(0),
                band: wavefront.band,
                first_row: s * policy.tile_rows,
                record: None,
            })
        });
        let space = room(frame.columns, "take a domain of fewer columns")?;
        // Of several sweeps the array has all cells in the end.
        let extreme = wavefront.keep.extreme().filter(|_| E::OLD.is_empty());
        Ok(Self {
            policy,
            outputs: outputs.collect(),
            best: Mutex::new(None),
            progress: (0..count * wavefront.sweeps).map(|_| Progress::default()).collect(),
            shared: Shared {
                wavefront,
                geometry,
                columns: ByLane::new(wavefront.columns, geometry.skew, space),
                store: Store::new(wavefront, frame)?,
                loops: Loops::of(simd, extreme),
                transpose: transpose::transpose(simd),
                extreme,
            },
        })
    }

    /// The policy in use: what was given, within the matrix and narrow enough for all workers.
    pub fn policy(&self) -> CpuPolicy {
        self.policy
    }

    /// Computes every sweep.
    ///
    /// # Errors
    /// As [`ThreadGroup::compute`].
    pub fn run(&self, group: &dyn ThreadGroup) -> Result<(), Stopped> {
        let done = group.done();
        group.compute(&|worker, first, step| {
            for unit in (first..self.progress.len()).step_by(step) {
                self.unit(unit, worker, done)?;
            }
            Ok(())
        })
    }

    fn unit(&self, unit: usize, worker: &Worker<'_>, done: Option<&Done>) -> Result<(), Aborted> {
        let (geometry, count) = (&self.shared.geometry, self.outputs.len());
        let (sweep, s) = (unit / count, unit % count);
        let [all, columns] = geometry.extents;
        let first = s * self.policy.tile_rows;
        let rows = first..(first + self.policy.tile_rows).min(all);
        let behind = geometry.skew * (rows.len() - 1);
        // Several sweeps leave nothing on the way, and a later one must not hold an earlier one's output.
        let output = E::OLD.is_empty().then(|| &self.outputs[s]);
        let mut output = output.map(|output| output.lock().unwrap_or_else(PoisonError::into_inner));
        let last = sweep + 1 == self.shared.wavefront.sweeps;
        let mut strip = Strip::new(&self.shared, rows.clone(), last);
        let mut begin = 0;
        while begin < geometry.fronts(rows.len()) {
            let end = (begin + self.policy.tile_columns).min(geometry.fronts(rows.len()));
            worker.abort.check()?;
            if s > 0 {
                self.progress[unit - 1].wait_for(geometry.wanted_above(end), worker.abort)?;
            }
            if sweep > 0 {
                let below = unit - count + usize::from(s + 1 < count);
                self.progress[below].wait_for(geometry.wanted_below(end), worker.abort)?;
            }
            // SAFETY: both neighbours have published what is wanted; this worker alone is at this unit, and the same
            // strip's next sweep waits for it.
            unsafe { strip.advance(end, output.as_deref_mut()) };
            self.progress[unit].publish((end.saturating_sub(behind)).min(columns));
            if let Some(done) = done {
                let cells = rows.len() * (end.min(columns) - begin.min(columns));
                done.add(cells as u64);
            }
            begin = end;
        }
        drop(output);
        if let Some(extreme) = self.shared.extreme {
            let mut best = self.best.lock().unwrap_or_else(PoisonError::into_inner);
            *best = Best::of(*best, strip.best(), extreme);
        }
        Ok(())
    }

    /// What the strips left.
    pub fn outcome(self) -> Outcome<E::Cell> {
        let outputs = self.outputs.into_iter();
        let sums =
            outputs.map(|output| output.into_inner().unwrap_or_else(PoisonError::into_inner).sum);
        let sum = sums.sum();
        let best = self.best.into_inner().unwrap_or_else(PoisonError::into_inner);
        Outcome { best, sum, row: self.shared.store.last_row() }
    }

    /// What was to be kept of several sweeps.
    ///
    /// # Errors
    /// Too little memory.
    pub fn kept(self) -> Result<Kept<E::Cell>> {
        self.shared.store.kept(self.shared.wavefront)
    }
}

/// `policy` with tiles that strips of this geometry can have.
fn fitted<E: WavefrontElement>(
    (policy, workers): (CpuPolicy, usize),
    wavefront: &Wavefront<'_, E>,
    geometry: &Geometry,
) -> CpuPolicy {
    let policy = policy.within(wavefront.extents());
    // A block of fronts of all its rows stays in cache (8192 squared, one Zen 4 core: 1024 rows take 1.6 times as long as 256).
    let most = if E::OLD.is_empty() { policy.tile_rows } else { policy.tile_rows.min(IN_CACHE) };
    // A strip waits for its neighbours only, so no vector may pass over one.
    let tile_rows = most.max(geometry.above).max(geometry.below);
    // Of few tiles a unit has published nothing when the next could begin, and workers take turns. Laplace's equation on
    // two cores, 256 to 2048 squared, in whole rows or halves: 1.2 times as long as on one; in eighths 0.45.
    let shared = geometry.extents[1].div_ceil(8).max(32);
    let narrow = if workers > 1 { shared } else { policy.tile_columns };
    let tile_columns = policy.tile_columns.min(narrow);
    CpuPolicy { tile_rows, tile_columns, cells_16_bit: false }
}
