//! Many problems: a worker takes the next ones and computes them alone, the largest first.
//!
//! Problems that are small go together, a lane each (`lanes`); others by their own strips of rows.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::form::{by_fronts, fits};
use super::output::Filled;
use super::strips::Strips;
use super::sweeps::Sweeps;
use super::{CpuExecutor, lanes, panicked};
use crate::executor::{TakePaths, WavefrontExecutor, by_size, in_turn};
use crate::policy::{CpuPolicy, Policy};
use crate::recurrence::{Parts, Traced, WavefrontElement};
use crate::report::report;
use crate::spec::{Kept, Wavefront, of_problem};
use crate::traceback::{End, trace_one};
use warpweft_core::cpu::{Simd, Worker};
use warpweft_core::error::{Error, Result};
use warpweft_core::report::Report;

/// Rows of a tile-row of a problem that one worker computes, and columns of a tile: the one with the
/// best cell is computed twice.
const ALONE: [usize; 2] = [1024, 256];
/// Cells of a problem that several workers are not worth calling for: some 50 µs of one.
const SMALL: u64 = 1 << 20;

/// Results by the numbers of their problems, as workers come to them.
struct Results<T>(Vec<Mutex<Option<Result<T>>>>);

impl<T> Results<T> {
    fn new(count: usize) -> Self {
        Self((0..count).map(|_| Mutex::new(None)).collect())
    }

    fn put(&self, k: usize, result: Result<T>) {
        *self.0[k].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }

    /// Those of the problems numbered `group`; of an error, all.
    fn put_all(&self, group: &[usize], results: Result<Option<Vec<T>>>) {
        match results {
            Ok(results) => {
                let each = group.iter().zip(results.into_iter().flatten());
                each.for_each(|(&k, result)| self.put(k, Ok(result)));
            }
            // The first one tells it.
            Err(error) => self.put(group[0], Err(error)),
        }
    }

    /// All, in order.
    ///
    /// # Errors
    /// The first of any.
    fn all(self) -> Result<Vec<T>> {
        let each: Vec<_> = (self.0.into_iter())
            .map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner))
            .collect();
        let left = || Error::spec("a problem left undone", "report this as a bug");
        let failed = each.iter().position(|result| matches!(result, Some(Err(_))));
        let mut each = each;
        if let Some(Some(Err(error))) = failed.map(|k| each.swap_remove(k)) {
            return Err(error);
        }
        each.into_iter().map(|result| result.unwrap_or_else(|| Err(left()))).collect()
    }
}

impl CpuExecutor<'_> {
    /// As [`WavefrontExecutor::run_batch`].
    pub(super) fn batch<E: WavefrontElement>(
        &mut self,
        wavefronts: &[Wavefront<'_, E>],
    ) -> Result<(Vec<Kept<E::Cell>>, Report)> {
        check_all(wavefronts)?;
        let erased: Vec<_> = wavefronts.iter().map(Wavefront::erased).collect();
        let (large, rest) = by_size(&erased, self.pool.len(), SMALL);
        if !E::OLD.is_empty() || rest.is_empty() {
            return in_turn(wavefronts, |wavefront| self.run(wavefront));
        }
        let begin = Instant::now();
        let results = Results::new(wavefronts.len());
        let (policy, simd) = (self.policy, self.simd);
        let narrow = |&k: &usize| fits(&wavefronts[k], policy).is_some();
        let mut cells_16_bit = large.iter().any(narrow);
        for k in large {
            results.put(k, Ok(self.run(&wavefronts[k])?.0));
        }
        // Of cells of one number lanes of 32 bits are faster than strips of 16.
        let several = <E::Cell as Parts>::PARTS > 1;
        let (groups, rest) = match several && rest.iter().any(narrow) {
            true => (Vec::new(), rest),
            false => lanes::grouped(wavefronts, rest, lanes::FEWEST),
        };
        cells_16_bit |= rest.iter().any(narrow);
        self.tasks(E::NAME, groups.len() + rest.len(), |task, worker| match groups.get(task) {
            Some(group) => {
                results.put_all(group, lanes::kept(wavefronts, group, simd, worker));
            }
            None => {
                let k = rest[task - groups.len()];
                if let Some(result) = alone(policy, simd, &wavefronts[k], worker).transpose() {
                    results.put(k, result);
                }
            }
        })?;
        let policy = Policy::Cpu(CpuPolicy { cells_16_bit, ..self.policy }).to_json();
        let seconds = begin.elapsed().as_secs_f64();
        Ok((results.all()?, report(&erased, vec![self.threads()], seconds, 0.0, policy)))
    }

    /// As [`WavefrontExecutor::paths`].
    pub(super) fn batch_paths<E: Traced>(
        &mut self,
        wavefronts: &[Wavefront<'_, E>],
        end: End,
        take: &TakePaths<'_, E>,
    ) -> Result<Option<Report>> {
        if const { !lanes::can::<E::Plain>() } {
            return Ok(None);
        }
        check_all(wavefronts)?;
        let begin = Instant::now();
        let results = Results::new(wavefronts.len());
        let (groups, rest) =
            lanes::grouped(wavefronts, (0..wavefronts.len()).collect(), lanes::FEWEST_PATHS);
        if groups.is_empty() {
            return Ok(None);
        }
        for k in rest {
            let (path, _) = trace_one(&wavefronts[k], end, self)?;
            results.put(k, Ok(take(vec![(k, path)])?));
        }
        let (simd, stopped) = (self.simd, AtomicBool::new(false));
        self.tasks(E::NAME, groups.len(), |task, worker| {
            if stopped.load(Ordering::Relaxed) {
                return;
            }
            let group = &groups[task];
            let taken = lanes::paths(wavefronts, group, end, simd, worker).and_then(|found| {
                let Some(paths) = found else { return Ok(None) };
                take(group.iter().copied().zip(paths).collect())?;
                Ok(Some(vec![(); group.len()]))
            });
            stopped.fetch_or(taken.is_err(), Ordering::Relaxed);
            results.put_all(group, taken);
        })?;
        let erased: Vec<_> = wavefronts.iter().map(Wavefront::erased).collect();
        let policy = Policy::Cpu(CpuPolicy { cells_16_bit: false, ..self.policy }).to_json();
        let seconds = begin.elapsed().as_secs_f64();
        let mut report = report(&erased, vec![self.threads()], seconds, 0.0, policy);
        let together: usize = groups.iter().map(Vec::len).sum();
        let lanes = lanes::LANES;
        report.notes.push(format!("{together} paths were found by directions, {lanes} at a time"));
        results.all()?;
        Ok(Some(report))
    }

    /// Calls `work` for each of `count` tasks, whichever worker is free.
    fn tasks(
        &self,
        name: &str,
        count: usize,
        work: impl Fn(usize, &Worker<'_>) + Sync,
    ) -> Result<()> {
        let next = AtomicUsize::new(0);
        self.watch
            .run(self.pool, |worker| {
                loop {
                    let task = next.fetch_add(1, Ordering::Relaxed);
                    if task >= count || worker.abort.check().is_err() {
                        return Ok(());
                    }
                    work(task, worker);
                }
            })
            .map_err(|panic| panicked(name, Some(panic)))?;
        self.watch.completed()
    }
}

/// Whether all are well posed.
///
/// # Errors
/// As [`Wavefront::check`], with the number of the problem.
fn check_all<E: WavefrontElement>(wavefronts: &[Wavefront<'_, E>]) -> Result<()> {
    let check =
        |(k, one): (usize, &Wavefront<'_, E>)| one.check().map_err(|error| of_problem(k, error));
    wavefronts.iter().enumerate().try_for_each(check)
}

/// One problem on one worker; none if another worker's panic or an interrupt ended it.
fn alone<E: WavefrontElement>(
    policy: CpuPolicy,
    simd: Simd,
    wavefront: &Wavefront<'_, E>,
    worker: &Worker<'_>,
) -> Result<Option<Kept<E::Cell>>> {
    let [tile_rows, tile_columns] = ALONE;
    let policy = CpuPolicy { tile_rows, tile_columns, ..policy };
    let mut filled = Filled::new(wavefront)?;
    let outcome = if const { by_fronts::<E>() } {
        Strips::new(wavefront, policy, simd, &mut filled)?.run(worker)
    } else {
        let sweeps = Sweeps::new(wavefront, (policy, worker.count), simd, &mut filled)?;
        sweeps.run(worker).map(|()| sweeps.outcome())
    };
    Ok(outcome.ok().map(|outcome| outcome.kept(wavefront.keep, filled)))
}
