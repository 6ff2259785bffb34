//! The paths of many problems: choices recorded by a warp a problem, and followed by a thread a problem.
//!
//! Not here: problems whose borders are neither one value but for the corner nor one function of all, and large ones,
//! which go one after another.

use std::sync::atomic::{AtomicBool, Ordering};

use super::choices::{meanings, recorded_bytes};
use super::launch::Recorded;
use super::place::{Batch, around};
use super::text::{Trail, Wanted};
use crate::cuda::strips::executor::CudaExecutor;
use crate::cuda::strips::recording::Recording;
use crate::cuda::winner::winner;
use crate::executor::{TakePaths, corner};
use crate::frame::allocate;
use crate::recurrence::{Best, Extreme, NEAR, Ranked, Traced, bytes_of_mut};
use crate::report::{TotalReport, unchecked};
use crate::spec::{Erased, Wavefront, of_problem};
use crate::traceback::{End, Moves, Path, trace_one};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::over_parts;
use warpweft_core::report::Report;

/// Cells of a problem that a warp is not kept busy with too long: those of larger ones are recorded by all.
const SMALL: u64 = 1 << 20;
/// Bytes of choices of one launch.
const MOST_BYTES: usize = 1 << 30;
/// Paths that are worth a thread: to start one takes about as long as to put half of these together.
const SHARE: usize = 640;

/// Numbers of problems in launches, each of which records at most so many bytes.
fn launches(of: &[usize], mut bytes: impl FnMut(usize) -> usize) -> Vec<&[usize]> {
    let (mut all, mut first, mut sum) = (Vec::new(), 0, 0);
    for (at, &k) in of.iter().enumerate() {
        let own = bytes(k);
        if sum + own > MOST_BYTES && at > first {
            all.push(&of[first..at]);
            (first, sum) = (at, 0);
        }
        sum += own;
    }
    all.push(&of[first..]);
    all
}

impl CudaExecutor {
    /// As [`WavefrontExecutor::paths`](crate::WavefrontExecutor::paths); none unless several problems can be
    /// recorded at once.
    pub(in crate::cuda::strips) fn batch_paths<E: Traced>(
        &mut self,
        wavefronts: &[Wavefront<'_, E>],
        end: End,
        take: &TakePaths<'_, E>,
    ) -> Result<Option<Report>> {
        let Some(first) = wavefronts.first() else { return Ok(None) };
        let recording = Recording::of(&first.element);
        let plain: Vec<_> = wavefronts.iter().map(|one| one.with(one.element.plain())).collect();
        let erased: Vec<_> = plain.iter().map(Wavefront::erased).collect();
        let alike: Vec<_> =
            wavefronts.iter().map(|one| first.element.alike(&one.element)).collect();
        let meanings = meanings::<E>(recording.bits);
        let alone = |it: &mut Self, k: usize| trace_one(&wavefronts[k], end, it);
        let paths = OfCell::<E::Cell> { end, take, alone: &alone };
        self.paths_of(&erased, &alike, (&recording, meanings.as_deref()), paths)
    }

    /// The same, of problems as bytes that are `alike` the first or not, and what their choices mean, if anything.
    fn paths_of<C: Ranked>(
        &mut self,
        erased: &[Erased<'_>],
        alike: &[bool],
        (recording, meanings): (&Recording, Option<&[u16]>),
        paths: OfCell<'_, C>,
    ) -> Result<Option<Report>> {
        let each = erased.iter().enumerate();
        each.into_iter()
            .try_for_each(|(k, one)| one.check().map_err(|error| of_problem(k, error)))?;
        let alike = |k: &usize| alike[*k] && erased[*k].cells() <= SMALL;
        let (mut small, large): (Vec<_>, Vec<_>) = (0..erased.len()).partition(alike);
        let (Some(meanings), false) = (meanings, small.len() < 2 || recording.faults()) else {
            return Ok(None);
        };
        small.sort_by_key(|&k| std::cmp::Reverse(erased[k].cells()));
        let some: Vec<_> = small.iter().map(|&k| &erased[k]).collect();
        if around(&some).is_none() {
            return Ok(None);
        }
        let mut total = TotalReport::default();
        for k in large {
            let (path, report) = (paths.alone)(self, k)?;
            (paths.take)(vec![(k, path)])?;
            total.add(report);
        }
        let recorded = Recorded { recording, meanings };
        let most = Wanted::of(paths.end).most_rows(some[0].element.cell, Some(recording));
        let places: Vec<_> = (0..some.len()).collect();
        // Many have the same extents.
        let mut last = ([0; 2], 0);
        let bytes = |at: usize| {
            if last.0 != some[at].extents {
                last = (some[at].extents, recorded_bytes(some[at], most, recording));
            }
            last.1
        };
        for launch in launches(&places, bytes) {
            let problems = &some[launch[0]..launch[0] + launch.len()];
            let numbers = &small[launch[0]..launch[0] + launch.len()];
            let (unclear, report) = self.recorded_paths(problems, numbers, recorded, &paths)?;
            total.add(report);
            for k in unclear {
                // What is wrong with it is told here.
                (paths.take)(vec![(k, (paths.alone)(self, k)?.0)])?;
            }
        }
        let mut report = total.report()?;
        let count = small.len();
        report.notes.push(format!("{count} paths were found by directions, a warp each"));
        Ok(Some(report))
    }

    /// Gives the paths of `problems`, which have these `numbers`, to what takes them, by one launch; the numbers of those with
    /// a choice that means nothing are returned.
    fn recorded_paths<C: Ranked>(
        &mut self,
        problems: &[&Erased<'_>],
        numbers: &[usize],
        recorded: Recorded<'_>,
        &OfCell { end, take, .. }: &OfCell<'_, C>,
    ) -> Result<(Vec<usize>, Report)> {
        let around = around(problems).ok_or_else(|| {
            Error::spec("problems of several borders in a launch", "report this as a bug")
        })?;
        let batch = Batch::of(problems, Wanted::of(end), around);
        let mut corners: Vec<C> = allocate(batch.kept)?;
        let bytes = bytes_of_mut(&mut corners);
        let done = self.launch(batch, Some(recorded), bytes, unchecked(problems[0]))?;
        let extents: Vec<_> = problems.iter().map(|problem| problem.extents).collect();
        let one = |k: usize| {
            let best = match end {
                End::Corner => Some(corner(&corners[k], extents[k])),
                End::Best => winner(&done.found[k..=k], Extreme::Greatest),
            };
            (numbers[k], best.map(|best| path(best, &done.trails[k], &done.runs)))
        };
        let is_clear = |k: &usize| done.trails[*k].good != 0;
        let stopped = AtomicBool::new(false);
        let part = |part: std::ops::Range<usize>| {
            if stopped.load(Ordering::Relaxed) {
                return Ok(Vec::new());
            }
            let taken = take(part.clone().filter(is_clear).map(one).collect());
            stopped.fetch_or(taken.is_err(), Ordering::Relaxed);
            taken.map(|()| part.filter(|k| !is_clear(k)).map(|k| numbers[k]).collect())
        };
        let unclear: Vec<Vec<_>> =
            over_parts(extents.len(), SHARE, part).into_iter().collect::<Result<_>>()?;
        Ok((unclear.concat(), done.report))
    }
}

/// Some paths, each with the number of its problem.
type Numbered<C> = Vec<(usize, Option<Path<<C as Ranked>::Score>>)>;

/// What is known of the paths of many problems by their cells alone.
struct OfCell<'p, C: Ranked> {
    end: End,
    take: &'p (dyn Fn(Numbered<C>) -> Result<()> + Sync + 'p),
    /// The path of one problem.
    alone: &'p Alone<'p, C>,
}

/// Finds the path of the problem of that number alone.
type Alone<'p, C> =
    dyn Fn(&mut CudaExecutor, usize) -> Result<(Option<Path<<C as Ranked>::Score>>, Report)> + 'p;

/// The path that ends at `best`, of which `runs` has the moves.
fn path<S>(best: Best<S>, trail: &Trail, runs: &[u32]) -> Path<S> {
    let Best { score, row, column } = best;
    let first = trail.first as usize;
    let moves = runs[first..first + trail.count as usize].iter().map(|run| Moves {
        vector: NEAR[(run & 3) as usize % NEAR.len()],
        count: (run >> 2) as usize,
    });
    let start = [trail.row as isize, trail.column as isize];
    Path { score, end: [row, column], start, moves: moves.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_hold_all_problems_and_no_more_bytes_than_allowed() {
        let sizes = [MOST_BYTES / 2, MOST_BYTES / 2, 1, 2 * MOST_BYTES, 1];
        let all = launches(&[0, 1, 2, 3, 4], |k| sizes[k]);
        assert_eq!(all, [&[0, 1][..], &[2], &[3], &[4]]);
    }
}
