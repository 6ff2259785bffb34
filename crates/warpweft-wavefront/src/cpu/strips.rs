//! Recurrences of north, west and north-west: one row of cells passes from tile-row to tile-row.

use std::sync::{Mutex, PoisonError};

use super::form::{Form, Plain, Sixteen};
use super::record::Record;
use super::row::SharedRow;
use super::simd::Loops;
use super::strip::{HINT, Sink, State, Strip, reversed};
use crate::executor::Edges;
use crate::frame::allocate;
use crate::policy::CpuPolicy;
use crate::recurrence::{Best, Extreme, Ranked, WavefrontElement, sum};
use crate::spec::{Band, Keep, Kept, Wavefront};
use warpweft_core::cpu::{Aborted, Pool, Progress, Simd, Worker, WorkerPanic};
use warpweft_core::error::Result;
use warpweft_core::memory;
use warpweft_core::run::{Done, Watch};

/// Whether every cell of `wavefront` is in the reach of anti-diagonals, computed once.
pub(super) const fn can<E: WavefrontElement>() -> bool {
    let mut k = 0;
    while k < E::DEPENDENCES.len() {
        if !matches!(E::DEPENDENCES[k], [-1, -1] | [-1, 0] | [0, -1]) {
            return false;
        }
        k += 1;
    }
    E::OLD.is_empty()
}

/// What one tile-row leaves behind.
struct Part<'a, C> {
    last_column: &'a mut [C],
    matrix: &'a mut [C],
    columns: usize,
    /// The sum of its scores in the band, if they are summed, and its first row.
    sum: Option<i128>,
    band: Option<Band<C>>,
    first_row: usize,
    record: Option<Box<dyn Record<C> + 'a>>,
}

impl<C> Part<'_, C> {
    /// Whether it keeps anything of the cells.
    fn keeps(&self) -> bool {
        let lines = !self.matrix.is_empty() || !self.last_column.is_empty();
        lines || self.sum.is_some() || self.record.is_some()
    }
}

/// Fills a part.
struct Fill<'p, 'a, E: WavefrontElement, F: Form<E>>(&'p mut Part<'a, E::Cell>, Loops<E, F>);

impl<E: WavefrontElement, F: Form<E>> Sink<E, F> for Fill<'_, '_, E, F> {
    fn front(
        &mut self,
        form: &F,
        first_lane: usize,
        first_column: usize,
        north: F::Held,
        cells: &[F::Held],
    ) {
        let Self(part, loops) = self;
        if let Some(record) = &mut part.record {
            for (to, &cell) in record.cells()[first_lane..].iter_mut().zip(cells) {
                *to = form.cell(cell);
            }
            record.front(first_lane, cells.len(), first_column, form.cell(north));
        }
        if !part.matrix.is_empty() {
            for (l, &cell) in cells.iter().enumerate() {
                part.matrix[(first_lane + l) * part.columns + first_column - l] = form.cell(cell);
            }
        }
        // The first lane of a front is the one furthest to the east.
        if first_column + 1 == part.columns && !part.last_column.is_empty() {
            part.last_column[first_lane] = form.cell(cells[0]);
        }
        if let Some(all) = &mut part.sum {
            *all += match part.band {
                None => loops.sum(form, cells),
                Some(band) => {
                    let row = part.first_row + first_lane;
                    let within = |&(l, _): &(usize, _)| band.holds(row + l, first_column - l);
                    let score = |(_, &cell): (usize, _)| form.whole(F::score(cell));
                    sum(cells.iter().enumerate().filter(within).map(score))
                }
            };
        }
    }
}

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
        cells: &[F::Held],
    ) {
        let at = self.lane.wrapping_sub(first_lane);
        if let Some(&cell) = cells.get(at)
            && self.column.is_none()
            && self.wavefront.computes(self.row, first_column - at)
            && form.cell(cell).score() == self.score
        {
            self.column = Some(first_column - at);
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
        let mut strip = Strip::new(form, extreme, self.wavefront, rows.clone(), &self.reversed);
        let mut part = self.parts[s].lock().unwrap_or_else(PoisonError::into_inner);
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
                before.clone_from(&strip.state);
            }
            let keeps = part.keeps();
            let mut fill = Fill(&mut part, loops);
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
        let mut strip = Strip::new(form, None, self.wavefront, rows, &self.reversed);
        strip.state = state;
        strip.advance(Loops::of(self.simd, None), &top, more, &mut Vec::new(), Some(&mut find));
        // The tile holds the cell: the same function has computed it there.
        Best { score, row, column: find.column.unwrap_or_default() }
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
        let fits = Sixteen::fits(wavefront, policy);
        let policy = fits.unwrap_or(CpuPolicy { sixteen: false, ..policy });
        let count = rows.div_ceil(policy.tile_rows);
        let mut matrices = filled.matrix.chunks_mut(policy.tile_rows * columns);
        let mut lasts = filled.last_column.chunks_mut(policy.tile_rows);
        let parts = (0..count).map(|s| {
            let (last_column, matrix) = (lasts.next(), matrices.next());
            Mutex::new(Part {
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
        let shared = Shared {
            wavefront,
            reversed: reversed(wavefront)?,
            row: SharedRow::new(above.into_iter()),
            progress: (0..count).map(|_| Progress::default()).collect(),
            parts: parts.collect(),
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
        for (part, record) in self.shared.parts.iter_mut().zip(records) {
            part.get_mut().unwrap_or_else(PoisonError::into_inner).record = Some(record);
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
    /// As [`Crew::share`].
    pub fn run(self, crew: &dyn Crew) -> Result<Outcome<E::Cell>, Stopped> {
        let element = self.shared.wavefront.element;
        // The constant first: what is never called is not compiled.
        let best = if E::RELATIVE && self.shared.policy.sixteen {
            self.of(Sixteen::new(element), crew)?
        } else {
            self.of(Plain(element), crew)?
        };
        let parts = self.shared.parts.into_iter();
        let sums = parts.map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner).sum);
        Ok(Outcome { best, sum: sums.sum(), row: self.shared.row.into_cells() })
    }

    fn of<F: Form<E>>(&self, form: F, crew: &dyn Crew) -> Result<Winner<E>, Stopped> {
        let count = self.shared.parts.len();
        let best: Mutex<Option<Candidate<E, F>>> = Mutex::new(None);
        let done = crew.done();
        crew.share(&|worker, first, step| {
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

/// Who computes the tile-rows of a wavefront.
pub(super) trait Crew {
    /// Calls `part` once a worker, with the first of its tile-rows and the distance to the next.
    ///
    /// # Errors
    /// A worker's panic.
    fn share(&self, part: &Duty<'_>) -> Result<(), Stopped>;

    /// Where the cells that are done are counted, if they are.
    fn done(&self) -> Option<&Done> {
        None
    }
}

/// The panic that ended a run; none if that was elsewhere, or an interrupt.
pub(super) type Stopped = Option<WorkerPanic>;

/// What a worker of a crew does.
type Duty<'a> = dyn Fn(&Worker<'_>, usize, usize) -> Result<(), Aborted> + Sync + 'a;

/// All workers of a pool, until `watch` says to end.
pub(super) struct Watched<'e, 'a> {
    pub pool: &'e Pool,
    pub watch: &'e Watch<'a>,
}

impl Crew for Watched<'_, '_> {
    fn share(&self, part: &Duty<'_>) -> Result<(), Stopped> {
        let each = |worker: &Worker<'_>| part(worker, worker.index, worker.count);
        self.watch.run(self.pool, each).map_err(Some)?;
        self.watch.completed().map_err(|_| None)
    }

    fn done(&self) -> Option<&Done> {
        Some(self.watch.done())
    }
}

/// One worker, from top to bottom.
impl Crew for Worker<'_> {
    fn share(&self, part: &Duty<'_>) -> Result<(), Stopped> {
        part(self, 0, 1).map_err(|Aborted| None)
    }
}

/// The winner of a run, if scores were compared.
type Winner<E> = Option<Best<<<E as WavefrontElement>::Cell as Ranked>::Score>>;

/// What the tile-rows leave behind beside [`Filled`].
pub(super) struct Outcome<C: Ranked> {
    best: Option<Best<C::Score>>,
    sum: Option<i128>,
    row: Vec<C>,
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
