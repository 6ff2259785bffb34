//! The seam between a spec and a device.

mod batch;
mod choices;
mod edges;
mod ends;

pub(crate) use batch::{by_size, in_turn};
pub use choices::{Choices, Need, Walk};
pub(crate) use choices::{check_kept, unrecorded};
pub use edges::Edges;
pub(crate) use edges::edges_by_runs;
pub use ends::{Ends, Scores};
pub(crate) use ends::{corner, ends_by_batches};

use crate::path::{End, Path, Score};
use crate::recurrence::{Traced, WavefrontElement};
use crate::spec::{Kept, Pairs, Wavefront};
use warpweft_core::error::Result;
use warpweft_core::report::Report;

/// The path of each of many problems, if there is one, and the report of all together.
pub type Paths<E> = (Vec<Option<Path<Score<E>>>>, Report);

/// A function that takes the paths of some problems, each with the problem's number; a path is `None` if the problem has
/// none. Several threads may call it at the same time. If it returns an error, the executor stops and returns this error.
pub type TakePaths<'t, E> = dyn Fn(Vec<(usize, Option<Path<Score<E>>>)>) -> Result<()> + Sync + 't;

/// Runs wavefronts of `E` on one device.
pub trait WavefrontExecutor<E: WavefrontElement> {
    /// Computes all cells and returns what was to be kept.
    ///
    /// # Errors
    /// As [`Wavefront::check`]; what the executor [`misses`](Self::misses); too little memory; a
    /// fault of the device.
    fn run(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Kept<E::Cell>, Report)>;

    /// What this executor can't do that `wavefront` needs, if anything.
    fn misses(&self, wavefront: &Wavefront<'_, E>) -> Option<&'static str> {
        let _ = wavefront;
        None
    }

    /// Runs independent problems of any sizes, and returns what each keeps ([`Keep`](crate::Keep)), in order. The report
    /// covers all of them.
    ///
    /// # Errors
    /// No problems; as [`WavefrontExecutor::run`] of any.
    fn run_batch(
        &mut self,
        wavefronts: &[Wavefront<'_, E>],
    ) -> Result<(Vec<Kept<E::Cell>>, Report)> {
        in_turn(wavefronts, |wavefront| self.run(wavefront))
    }

    /// Computes problems that share their inputs; they may have different sizes. Returns for each, in order, the score
    /// at its end and the position of that end, and one report of all.
    ///
    /// # Errors
    /// As [`Pairs::check`]; as [`WavefrontExecutor::run`] of any.
    fn ends(&mut self, pairs: &Pairs<'_, E>, end: End) -> Result<Ends<E>> {
        let mut executor = self;
        ends_by_batches(&mut executor, pairs, end)
    }

    /// Runs problems that share their inputs, of any sizes, and returns in order the score of each at its `end`. This may
    /// take less time than [`WavefrontExecutor::ends`].
    ///
    /// # Errors
    /// As there.
    fn scores(&mut self, pairs: &Pairs<'_, E>, end: End) -> Result<Scores<E>> {
        let (ends, report) = self.ends(pairs, end)?;
        Ok((ends.into_iter().map(|end| end.map(|best| best.score)).collect(), report))
    }

    /// Computes all cells and returns the last row, the last column and, if `wavefront` says to keep
    /// the best score, the least or the sum, that too.
    ///
    /// # Errors
    /// As [`WavefrontExecutor::run`].
    fn edges(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Edges<E::Cell>, Report)> {
        let mut executor = self;
        edges_by_runs(&mut executor, wavefront)
    }

    /// The largest number of cells of a block that is stored completely when a path is found in linear space. A small number lets the
    /// block fit into a cache, a large one keeps a GPU busy.
    fn whole_cells(&self) -> usize {
        usize::MAX
    }

    /// What [`WavefrontExecutor::record`] would need for `wavefront`; none if this executor records no
    /// choices of it.
    ///
    /// # Errors
    /// The device's.
    fn directions(&self, wavefront: &Wavefront<'_, E>) -> Result<Option<Need>>
    where
        E: Traced,
    {
        let _ = wavefront;
        Ok(None)
    }

    /// Computes all cells, records the choice of each, and lets `walk` go through them with what
    /// `wavefront` keeps: the best score or the last row.
    ///
    /// # Errors
    /// Where [`WavefrontExecutor::directions`] has none; as [`WavefrontExecutor::run`]; those of
    /// `walk`.
    fn record(
        &mut self,
        wavefront: &Wavefront<'_, E>,
        walk: &mut Walk<'_, E::Cell>,
    ) -> Result<Report>
    where
        E: Traced,
    {
        let _ = (wavefront, walk);
        Err(unrecorded::<E>())
    }

    /// Passes the path of each of `wavefronts`, as [`traceback::trace`](crate::traceback::trace) finds it, to `take`, some at a
    /// time and in any order. Returns `None` without calling `take` if this executor has no special method for many paths.
    ///
    /// # Errors
    /// As [`WavefrontExecutor::record`] of any, with its number from 1; that of `take`.
    fn paths(
        &mut self,
        wavefronts: &[Wavefront<'_, E>],
        end: End,
        take: &TakePaths<'_, E>,
    ) -> Result<Option<Report>>
    where
        E: Traced,
    {
        let _ = (wavefronts, end, take);
        Ok(None)
    }
}

impl<E: WavefrontElement, X: WavefrontExecutor<E> + ?Sized> WavefrontExecutor<E> for &mut X {
    fn run(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Kept<E::Cell>, Report)> {
        (**self).run(wavefront)
    }

    fn misses(&self, wavefront: &Wavefront<'_, E>) -> Option<&'static str> {
        (**self).misses(wavefront)
    }

    fn run_batch(
        &mut self,
        wavefronts: &[Wavefront<'_, E>],
    ) -> Result<(Vec<Kept<E::Cell>>, Report)> {
        (**self).run_batch(wavefronts)
    }

    fn ends(&mut self, pairs: &Pairs<'_, E>, end: End) -> Result<Ends<E>> {
        (**self).ends(pairs, end)
    }

    fn scores(&mut self, pairs: &Pairs<'_, E>, end: End) -> Result<Scores<E>> {
        (**self).scores(pairs, end)
    }

    fn edges(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Edges<E::Cell>, Report)> {
        (**self).edges(wavefront)
    }

    fn whole_cells(&self) -> usize {
        (**self).whole_cells()
    }

    fn directions(&self, wavefront: &Wavefront<'_, E>) -> Result<Option<Need>>
    where
        E: Traced,
    {
        (**self).directions(wavefront)
    }

    fn record(
        &mut self,
        wavefront: &Wavefront<'_, E>,
        walk: &mut Walk<'_, E::Cell>,
    ) -> Result<Report>
    where
        E: Traced,
    {
        (**self).record(wavefront, walk)
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
        (**self).paths(wavefronts, end, take)
    }
}
