//! Wavefronts on the cores: tile-rows round robin to pinned workers, one-way flags between them.
//!
//! PeerWave (section 3.1 and 3.2) on cores: a worker waits until the tile-row above has published
//! the columns it needs, computes them, and publishes its own. Recurrences of north, west and
//! north-west go by anti-diagonals in vectors, and one row of cells is all that passes through memory
//! unless the matrix is kept (`strips`). Any other dependences, and several sweeps, go by fronts of another
//! skew (`sweeps`).

mod batch;
mod form;
mod front;
mod given;
mod lanes;
mod output;
mod parts;
mod profile;
mod record;
mod row;
mod simd;
mod strip;
mod striped;
mod strips;
mod sweeps;
mod thread_group;

use std::time::Instant;

use self::form::by_fronts;
use self::output::{Filled, Outcome};
use self::record::Recorded;
use self::strips::Strips;
use self::sweeps::{Rows, Sweeps, reads_rows_above};
use self::thread_group::Watched;
use crate::executor::{
    Edges, Need, TakePaths, Walk, WavefrontExecutor, check_kept, edges_by_runs, unrecorded,
};
use crate::policy::{CpuPolicy, Policy};
use crate::recurrence::{Traced, WavefrontElement};
use crate::report::report;
use crate::spec::{Erased, Keep, Kept, Wavefront};
use crate::traceback::End;
use warpweft_core::cpu::{Pool, Simd, WorkerPanic};
use warpweft_core::error::{Error, Result};
use warpweft_core::report::Report;
use warpweft_core::run::Watch;

/// Threads that fronts need to be as fast as rows in vectors on one: a sixth of their rate (seam carving, one core).
const FEW: usize = 6;

/// Cells of a matrix that stays in a core's cache: each front writes one cell of many of its rows.
pub(crate) const WHOLE: usize = 1 << 18;

/// Runs wavefronts on the workers of a pool.
pub struct CpuExecutor<'a> {
    pool: &'a Pool,
    policy: CpuPolicy,
    simd: Simd,
    watch: Watch<'a>,
}

impl<'a> CpuExecutor<'a> {
    /// An executor on `pool`.
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
        Ok(Self { pool, policy, simd: Simd::detect(), watch: Watch::default() })
    }

    /// Ends early when `watch` says so, and tells it of the cells that are computed.
    pub(crate) fn watched(mut self, watch: Watch<'a>) -> Self {
        self.watch = watch;
        self
    }

    /// What a run becomes that did not come to its end: a panic in the element function `name`, or an interrupt.
    fn failed(&self, name: &str, panic: Option<WorkerPanic>) -> Error {
        match (panic, self.watch.completed()) {
            (None, Err(interrupted)) => interrupted,
            (panic, _) => panicked(name, panic),
        }
    }

    /// Limits the instruction set, for tests and comparisons.
    pub fn simd(mut self, simd: Simd) -> Self {
        self.simd = simd;
        self
    }
}

/// What a panic in the element function `name` becomes.
fn panicked(name: &str, panic: Option<WorkerPanic>) -> Error {
    let (place, what) = match panic {
        Some(panic) => (format!("{name} on worker {}", panic.worker), panic.message),
        None => (name.into(), "a panic elsewhere".into()),
    };
    Error::Element { place, what }
}

impl CpuExecutor<'_> {
    /// Runs the tile-rows, which fill `filled`; what else they leave, and the report.
    fn strips<E: WavefrontElement>(
        &self,
        wavefront: &Wavefront<'_, E>,
        filled: &mut Filled<E::Cell>,
    ) -> Result<(Outcome<E::Cell>, Report)> {
        let begin = Instant::now();
        let strips = Strips::new(wavefront, self.policy, self.simd, filled)?;
        let setup_seconds = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        let policy = strips.policy();
        let outcome =
            strips.run(&self.thread_group()).map_err(|panic| self.failed(E::NAME, panic))?;
        let seconds = begin.elapsed().as_secs_f64();
        Ok((outcome, self.report(&wavefront.erased(), policy, seconds, setup_seconds)))
    }

    /// As [`CpuExecutor::strips`], of dependences of any kind.
    fn sweeps<E: WavefrontElement>(
        &self,
        wavefront: &Wavefront<'_, E>,
        filled: &mut Filled<E::Cell>,
    ) -> Result<(Outcome<E::Cell>, Report)> {
        let begin = Instant::now();
        let sweeps = Sweeps::new(wavefront, (self.policy, self.pool.len()), self.simd, filled)?;
        let report = self.computed(&sweeps, wavefront, begin)?;
        Ok((sweeps.outcome(), report))
    }

    /// As [`CpuExecutor::strips`], of dependences on rows above alone, by one thread.
    fn rows<E: WavefrontElement>(
        &self,
        wavefront: &Wavefront<'_, E>,
        filled: &mut Filled<E::Cell>,
    ) -> Result<(Outcome<E::Cell>, Report)> {
        let begin = Instant::now();
        let rows = Rows::new(wavefront, self.simd, filled)?;
        let setup_seconds = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        rows.run(&self.thread_group()).map_err(|panic| self.failed(E::NAME, panic))?;
        let seconds = begin.elapsed().as_secs_f64();
        let [tile_rows, tile_columns] = wavefront.extents();
        let policy = CpuPolicy { tile_rows, tile_columns, cells_16_bit: false };
        let mut report = self.report(&wavefront.erased(), policy, seconds, setup_seconds);
        if self.pool.len() > 1 {
            report.notes.push(
                "computed row by row on one thread, because no cell depends on its own row".into(),
            );
        }
        Ok((rows.outcome(), report))
    }

    /// Fills `filled`, by whichever form is the fastest; there are no old values.
    fn fill<E: WavefrontElement>(
        &self,
        wavefront: &Wavefront<'_, E>,
        filled: &mut Filled<E::Cell>,
    ) -> Result<(Outcome<E::Cell>, Report)> {
        if const { by_fronts::<E>() } {
            return self.strips(wavefront, filled);
        }
        let few = self.pool.len() <= FEW && wavefront.band.is_none();
        if const { reads_rows_above::<E>() } && few {
            return self.rows(wavefront, filled);
        }
        self.sweeps(wavefront, filled)
    }

    /// Sweeps through all cells in memory.
    fn in_place<E: WavefrontElement>(
        &self,
        wavefront: &Wavefront<'_, E>,
    ) -> Result<(Kept<E::Cell>, Report)> {
        let begin = Instant::now();
        let mut nothing = Filled { last_column: Vec::new(), matrix: Vec::new() };
        let sweeps =
            Sweeps::new(wavefront, (self.policy, self.pool.len()), self.simd, &mut nothing)?;
        let report = self.computed(&sweeps, wavefront, begin)?;
        self.watch.ended()?;
        Ok((sweeps.kept()?, report))
    }

    /// Runs `sweeps`, the setup of which began at `begin`.
    fn computed<E: WavefrontElement>(
        &self,
        sweeps: &Sweeps<'_, '_, E>,
        wavefront: &Wavefront<'_, E>,
        begin: Instant,
    ) -> Result<Report> {
        let setup_seconds = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        sweeps.run(&self.thread_group()).map_err(|panic| self.failed(E::NAME, panic))?;
        let seconds = begin.elapsed().as_secs_f64();
        Ok(self.report(&wavefront.erased(), sweeps.policy(), seconds, setup_seconds))
    }

    fn thread_group(&self) -> Watched<'_, '_> {
        Watched { pool: self.pool, watch: &self.watch }
    }

    /// What worked, as reports call it: threads, however many cores they share.
    fn threads(&self) -> String {
        match self.pool.len() {
            1 => "1 thread".into(),
            threads => format!("{threads} threads"),
        }
    }

    fn report(
        &self,
        wavefront: &Erased<'_>,
        policy: CpuPolicy,
        seconds: f64,
        setup_seconds: f64,
    ) -> Report {
        let devices = vec![self.threads()];
        let policy = Policy::Cpu(policy).to_json();
        report(std::slice::from_ref(wavefront), devices, seconds, setup_seconds, policy)
    }
}

impl<E: WavefrontElement> WavefrontExecutor<E> for CpuExecutor<'_> {
    fn run(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Kept<E::Cell>, Report)> {
        wavefront.check()?;
        let begin = Instant::now();
        // Constants: what is never called is not compiled.
        if const { !E::OLD.is_empty() } {
            return self.in_place(wavefront);
        }
        let mut filled = Filled::new(wavefront)?;
        let allocated = begin.elapsed().as_secs_f64();
        let (outcome, mut report) = self.fill(wavefront, &mut filled)?;
        report.setup_seconds += allocated;
        self.watch.ended()?;
        Ok((outcome.kept(wavefront.keep, filled), report))
    }

    fn run_batch(
        &mut self,
        wavefronts: &[Wavefront<'_, E>],
    ) -> Result<(Vec<Kept<E::Cell>>, Report)> {
        self.batch(wavefronts)
    }

    fn edges(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Edges<E::Cell>, Report)> {
        if const { !E::OLD.is_empty() } {
            return edges_by_runs(self, wavefront);
        }
        let keep = wavefront.keep.with_edges().unwrap_or(Keep::LastColumn);
        let wavefront = wavefront.clone().keep(keep);
        wavefront.check()?;
        let mut filled = Filled::last_column(&wavefront)?;
        let (outcome, report) = self.fill(&wavefront, &mut filled)?;
        Ok((outcome.edges(filled), report))
    }

    fn whole_cells(&self) -> usize {
        WHOLE
    }

    fn directions(&self, wavefront: &Wavefront<'_, E>) -> Result<Option<Need>>
    where
        E: Traced,
    {
        Ok(Recorded::need(wavefront, self.policy))
    }

    fn record(
        &mut self,
        wavefront: &Wavefront<'_, E>,
        walk: &mut Walk<'_, E::Cell>,
    ) -> Result<Report>
    where
        E: Traced,
    {
        wavefront.check()?;
        check_kept(wavefront.keep)?;
        if !by_fronts::<E::Plain>() {
            return Err(unrecorded::<E>());
        }
        let begin = Instant::now();
        // Choices are computed from whole cells.
        let policy = CpuPolicy { cells_16_bit: false, ..self.policy };
        let mut recorded = Recorded::new(wavefront, policy)?;
        let mut filled = Filled::new(wavefront)?;
        let plain = wavefront.with(wavefront.element.plain());
        let strips = Strips::new(&plain, policy, self.simd, &mut filled)?;
        let strips = strips.recording(recorded.recorders(wavefront, self.simd));
        let setup_seconds = begin.elapsed().as_secs_f64();
        let begin = Instant::now();
        let outcome =
            strips.run(&self.thread_group()).map_err(|panic| self.failed(E::NAME, panic))?;
        walk(&outcome.kept(wavefront.keep, filled), &mut recorded)?;
        let seconds = begin.elapsed().as_secs_f64();
        Ok(self.report(&wavefront.erased(), policy, seconds, setup_seconds))
    }

    fn paths(
        &mut self,
        wavefronts: &[Wavefront<'_, E>],
        end: End,
        take: &TakePaths<'_, E>,
    ) -> Result<Option<Report>>
    where
        E: Traced,
    {
        self.batch_paths(wavefronts, end, take)
    }
}
