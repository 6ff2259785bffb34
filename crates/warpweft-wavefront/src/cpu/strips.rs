//! Recurrences of north, west and north-west: one row of cells passes from tile-row to tile-row.

use std::sync::{Mutex, PoisonError};

use super::form::{AllNear, Cells16, Form, Plain, SomeLow, fits, some_low};
use super::output::{Fill, Filled, Outcome, TileRowOutput};
use super::parts::{HINT, View};
use super::record::Record;
use super::row::SharedRow;
use super::simd::Loops;
use super::strip::{Sink, State, Strip, reversed};
use super::striped::InStripes;
use super::thread_group::{Stopped, ThreadGroup};
use crate::policy::CpuPolicy;
use crate::recurrence::{Best, Extreme, Parts, Ranked, WavefrontElement};
use crate::spec::{Keep, Wavefront};
use warpweft_core::cpu::{Aborted, Progress, Simd, Worker};
use warpweft_core::error::Result;
use warpweft_core::memory;
use warpweft_core::run::Done;

/// The winner of a tile-row, which may be the winner of all: its score and its row, and the tile
/// where it is for the first time in this row, as it was before.
struct Candidate<E: WavefrontElement, F: Form<E>> {
    score: <E::Cell as Ranked>::Score,
    row: usize,
    tile: Option<Tile<E, F>>,
}

impl<E: WavefrontElement, F: Form<E>> Candidate<E, F> {
    /// Whether it wins over `other`, which is of another row.
    fn beats(&self, other: &Self, extreme: Extreme) -> bool {
        let of = |it: &Self| Best { score: it.score, row: it.row, column: 0 };
        of(self).beats(&of(other), extreme)
    }
}

/// A tile that can be computed again: the state before it, and the row above.
struct Tile<E: WavefrontElement, F: Form<E>> {
    state: State<F, F::Held>,
    top: Vec<E::Cell>,
    more: usize,
}

/// Looks for the first cell of one lane with a score.
struct Find<'a, 'w, E: WavefrontElement> {
    wavefront: &'a Wavefront<'w, E>,
    score: <E::Cell as Ranked>::Score,
    row: usize,
    lane: usize,
    column: Option<usize>,
}

impl<E: WavefrontElement, F: Form<E>> Sink<E, F> for Find<'_, '_, E> {
    fn front(
        &mut self,
        form: &F,
        first_lane: usize,
        first_column: usize,
        _: F::Held,
        cells: View<'_, F::Held>,
    ) {
        let at = self.lane.wrapping_sub(first_lane);
        if at < cells.len()
            && self.column.is_none()
            && self.wavefront.computes(self.row, first_column - at)
            && form.cell(cells.at(at)).score() == self.score
        {
            self.column = Some(first_column - at);
        }
    }
}

/// Everything the workers share.
struct Shared<'a, 'w, E: WavefrontElement> {
    wavefront: &'a Wavefront<'w, E>,
    reversed: Vec<E::Column>,
    striped: InStripes<E::Column>,
    row: SharedRow<E::Cell>,
    /// Per tile-row, the columns whose bottom cell is in `row`.
    progress: Vec<Progress>,
    outputs: Vec<Mutex<TileRowOutput<'a, E::Cell>>>,
    policy: CpuPolicy,
    simd: Simd,
}

impl<E: WavefrontElement> Shared<'_, '_, E> {
    /// The rows of tile-row `s`.
    fn rows(&self, s: usize) -> std::ops::Range<usize> {
        let first = s * self.policy.tile_rows;
        first..(first + self.policy.tile_rows).min(self.wavefront.rows.len())
    }

    fn tile_row<F: Form<E>>(
        &self,
        form: F,
        s: usize,
        (worker, done): (&Worker<'_>, Option<&Done>),
    ) -> Result<Option<Candidate<E, F>>, Aborted> {
        let (rows, columns) = (self.rows(s), self.wavefront.columns.len());
        let places = matches!(self.wavefront.keep, Keep::Best | Keep::Least);
        let extreme = self.wavefront.keep.extreme();
        let loops = Loops::of(self.simd, extreme);
        let (reversed, striped) = (&self.reversed[..], &self.striped);
        let mut strip = Strip::new(form, extreme, self.wavefront, rows.clone(), reversed, striped);
        let mut output = self.outputs[s].lock().unwrap_or_else(PoisonError::into_inner);
        let mut top = vec![E::Cell::default(); self.policy.tile_columns.min(columns)];
        let mut bottom = Vec::new();
        let mut published = 0;
        let mut before = strip.state.clone();
        let mut candidate: Option<Candidate<E, F>> = None;
        for column in (0..columns).step_by(self.policy.tile_columns) {
            let end = (column + self.policy.tile_columns).min(columns);
            worker.abort.check()?;
            if s > 0 {
                self.progress[s - 1].wait_for(end, worker.abort)?;
            }
            let top = &mut top[..end - column];
            // SAFETY: the row above has published these columns, and only this tile-row writes
            // them next.
            unsafe { self.row.read(column, top) };
            let more = if end == columns { rows.len() - 1 } else { 0 };
            if places {
                before.copy(&strip.state);
            }
            let keeps = output.keeps();
            let mut fill = Fill(&mut output, loops);
            let sink = keeps.then_some(&mut fill as &mut dyn Sink<E, F>);
            strip.advance(loops, top, more, &mut bottom, sink);
            // SAFETY: this tile-row has read them, and the next one waits for the flag.
            unsafe { self.row.write(published, &bottom) };
            published += bottom.len();
            bottom.clear();
            self.progress[s].publish(published);
            if let Some(done) = done {
                done.add((rows.len() * (end - column)) as u64);
            }
            let known = candidate.as_ref().map(|known| (known.score, known.row - rows.start));
            if let Some((score, lane)) = strip.winner(known) {
                let tile = places.then(|| Tile { state: before.clone(), top: top.to_vec(), more });
                candidate = Some(Candidate { score, row: rows.start + lane, tile });
            }
        }
        Ok(candidate)
    }

    /// Where a candidate is.
    fn place<F: Form<E>>(
        &self,
        form: F,
        candidate: Candidate<E, F>,
    ) -> Best<<E::Cell as Ranked>::Score> {
        let Candidate { score, row, tile } = candidate;
        let Some(Tile { state, top, more }) = tile else {
            return Best { score, row, column: 0 };
        };
        let rows = self.rows(row / self.policy.tile_rows);
        let lane = row - rows.start;
        let mut find = Find { wavefront: self.wavefront, score, row, lane, column: None };
        let (reversed, striped) = (&self.reversed[..], &self.striped);
        let mut strip = Strip::new(form, None, self.wavefront, rows, reversed, striped);
        strip.state = state;
        strip.advance(Loops::of(self.simd, None), &top, more, &mut Vec::new(), Some(&mut find));
        // The tile holds the cell: the same function has computed it there.
        Best { score, row, column: find.column.unwrap_or_default() }
    }
}

/// Rows of a tile-row at most, where what inputs give comes from a profile.
const LOOKED_UP: usize = 512;

/// One wavefront, ready to run.
pub(super) struct Strips<'a, 'w, E: WavefrontElement> {
    shared: Shared<'a, 'w, E>,
}

impl<'a, 'w, E: WavefrontElement> Strips<'a, 'w, E> {
    /// Cuts `wavefront` into tile-rows.
    ///
    /// # Errors
    /// Too little memory.
    pub fn new(
        wavefront: &'a Wavefront<'w, E>,
        policy: CpuPolicy,
        simd: Simd,
        filled: &'a mut Filled<E::Cell>,
    ) -> Result<Self> {
        let [rows, columns] = wavefront.extents();
        let policy = policy.within([rows, columns]);
        // Where lanes begin and end nothing comes from a profile, and a cell takes several times as long.
        let most = if E::LOOKS_UP { LOOKED_UP } else { policy.tile_rows };
        let policy = CpuPolicy { tile_rows: policy.tile_rows.min(most), ..policy };
        let fits = fits(wavefront, policy);
        let policy = fits.unwrap_or(CpuPolicy { cells_16_bit: false, ..policy });
        let count = rows.div_ceil(policy.tile_rows);
        let mut matrices = filled.matrix.chunks_mut(policy.tile_rows * columns);
        let mut lasts = filled.last_column.chunks_mut(policy.tile_rows);
        let outputs = (0..count).map(|s| {
            let (last_column, matrix) = (lasts.next(), matrices.next());
            Mutex::new(TileRowOutput {
                last_column: last_column.unwrap_or_default(),
                matrix: matrix.unwrap_or_default(),
                columns,
                sum: (wavefront.keep == Keep::Sum).then_some(0),
                band: wavefront.band,
                first_row: s * policy.tile_rows,
                record: None,
            })
        });
        let above = (0..columns).map(|j| wavefront.border.at(-1, j as isize));
        let above = memory::filled(above, HINT)?;
        let reversed = reversed(wavefront)?;
        let striped = match fits {
            Some(policy) => InStripes::of(&reversed, wavefront, policy.tile_rows, simd),
            None => InStripes::none(),
        };
        let shared = Shared {
            wavefront,
            reversed,
            striped,
            row: SharedRow::new(above.into_iter()),
            progress: (0..count).map(|_| Progress::default()).collect(),
            outputs: outputs.collect(),
            policy,
            simd,
        };
        Ok(Self { shared })
    }

    /// With what goes along with each tile-row.
    pub fn recording(
        mut self,
        records: impl Iterator<Item = Box<dyn Record<E::Cell> + 'a>>,
    ) -> Self {
        for (output, record) in self.shared.outputs.iter_mut().zip(records) {
            output.get_mut().unwrap_or_else(PoisonError::into_inner).record = Some(record);
        }
        self
    }

    /// The policy of the run: its tiles may be smaller, or its cells not of 16 bits.
    pub fn policy(&self) -> CpuPolicy {
        self.shared.policy
    }

    /// Computes all tile-rows; the winner, the sum, and the last row.
    ///
    /// # Errors
    /// As [`ThreadGroup::compute`].
    pub fn run(self, group: &dyn ThreadGroup) -> Result<Outcome<E::Cell>, Stopped> {
        let Shared { wavefront, policy, .. } = self.shared;
        // The constants first: what is never called is not compiled.
        let best = if E::RELATIVE && policy.cells_16_bit {
            if const { E::Cell::PARTS > 1 } && some_low(wavefront) {
                self.of(Cells16::<E, SomeLow>::new(wavefront, policy), group)?
            } else {
                self.of(Cells16::<E, AllNear>::new(wavefront, policy), group)?
            }
        } else {
            self.of(Plain(wavefront.element), group)?
        };
        let outputs = self.shared.outputs.into_iter();
        let sums =
            outputs.map(|output| output.into_inner().unwrap_or_else(PoisonError::into_inner).sum);
        Ok(Outcome { best, sum: sums.sum(), row: self.shared.row.into_cells() })
    }

    fn of<F: Form<E>>(&self, form: F, group: &dyn ThreadGroup) -> Result<Winner<E>, Stopped> {
        let count = self.shared.outputs.len();
        let best: Mutex<Option<Candidate<E, F>>> = Mutex::new(None);
        let done = group.done();
        group.compute(&|worker, first, step| {
            for s in (first..count).step_by(step) {
                let found = self.shared.tile_row(form, s, (worker, done))?;
                let mut best = best.lock().unwrap_or_else(PoisonError::into_inner);
                if let (Some(found), Some(extreme)) = (found, self.shared.wavefront.keep.extreme())
                    && best.as_ref().is_none_or(|best| found.beats(best, extreme))
                {
                    *best = Some(found);
                }
            }
            Ok(())
        })?;
        let best = best.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(best.map(|best| self.shared.place(form, best)))
    }
}

/// The winner of a run, if scores were compared.
type Winner<E> = Option<Best<<<E as WavefrontElement>::Cell as Ranked>::Score>>;
