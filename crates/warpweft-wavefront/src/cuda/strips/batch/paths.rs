//! The paths of many problems: choices recorded by a warp a problem, and followed by a thread a problem.
//!
//! Not here: problems whose borders are neither one value but for the corner nor one function of all, and large ones,
//! which go one after another.

use super::choices::{meanings, recorded_bytes};
use super::launch::Recorded;
use super::place::{Batch, around};
use super::text::{Trail, Wanted};
use crate::cuda::strips::executor::CudaExecutor;
use crate::cuda::strips::record::Recording;
use crate::cuda::winner::winner;
use crate::executor::{Paths, corner};
use crate::frame::allocate;
use crate::recurrence::{Best, Extreme, NEAR, Ranked, Traced, WavefrontElement, bytes_of_mut};
use crate::report::{TotalReport, unchecked};
use crate::spec::{Erased, Wavefront};
use crate::traceback::{End, Moves, Path, Score, trace_one};
use warpweft_core::element::Scalar;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::over_parts;
use warpweft_core::memory::room;
use warpweft_core::report::Report;

/// Cells of a problem that a warp is not kept busy with too long: those of larger ones are recorded by all.
const SMALL: u64 = 1 << 20;
/// Bytes of choices of one launch.
const MOST_BYTES: usize = 1 << 30;
/// Paths that are worth a thread.
const SHARE: usize = 512;

/// Numbers of problems in launches, each of which records at most so many bytes.
fn launches(of: &[usize], bytes: impl Fn(usize) -> usize) -> Vec<&[usize]> {
    let (mut all, mut first, mut sum) = (Vec::new(), 0, 0);
    for (at, &k) in of.iter().enumerate() {
        if sum + bytes(k) > MOST_BYTES && at > first {
            all.push(&of[first..at]);
            (first, sum) = (at, 0);
        }
        sum += bytes(k);
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
    ) -> Result<Option<Paths<E>>> {
        let Some(first) = wavefronts.first() else { return Ok(None) };
        let recording = Recording::of(&first.element);
        let plain: Vec<_> = wavefronts.iter().map(|one| one.with(one.element.plain())).collect();
        let erased: Vec<_> = plain.iter().map(Wavefront::erased).collect();
        erased.iter().try_for_each(Erased::check)?;
        let alike =
            |k: &usize| first.element.alike(&wavefronts[*k].element) && erased[*k].cells() <= SMALL;
        let (mut small, large): (Vec<_>, Vec<_>) = (0..wavefronts.len()).partition(alike);
        let meanings = meanings::<E>(recording.bits);
        let (Some(meanings), false) = (meanings, small.len() < 2 || recording.faults()) else {
            return Ok(None);
        };
        small.sort_by_key(|&k| std::cmp::Reverse(erased[k].cells()));
        let some: Vec<_> = small.iter().map(|&k| &erased[k]).collect();
        if around(&some).is_none() {
            return Ok(None);
        }
        let mut paths: Vec<_> = wavefronts.iter().map(|_| None).collect();
        let mut total = TotalReport::default();
        for k in large {
            let (path, report) = trace_one(&wavefronts[k], end, self)?;
            paths[k] = path;
            total.add(report);
        }
        let recorded = Recorded { recording: &recording, meanings: &meanings };
        let most = Wanted::of(end).most_rows(some[0].element.cell, Some(&recording));
        let places: Vec<_> = (0..some.len()).collect();
        for launch in launches(&places, |at| recorded_bytes(some[at], most, &recording)) {
            let problems = &some[launch[0]..launch[0] + launch.len()];
            let (found, report) =
                self.recorded_paths::<Score<E>, E::Plain>(problems, end, recorded)?;
            total.add(report);
            for (&at, found) in launch.iter().zip(found) {
                let k = small[at];
                paths[k] = match found {
                    Found::Path(path) => path,
                    // What is wrong with it is told here.
                    Found::Unclear => trace_one(&wavefronts[k], end, self)?.0,
                };
            }
        }
        let mut report = total.report()?;
        let count = small.len();
        report.notes.push(format!("{count} paths were found by directions, a warp each"));
        Ok(Some((paths, report)))
    }

    /// The paths of `problems`, by one launch.
    fn recorded_paths<S, P>(
        &mut self,
        problems: &[&Erased<'_>],
        end: End,
        recorded: Recorded<'_>,
    ) -> Result<(Vec<Found<S>>, Report)>
    where
        P: WavefrontElement<Cell: Ranked<Score = S>>,
        S: Scalar,
    {
        let around = around(problems).ok_or_else(|| {
            Error::spec("problems of several borders in a launch", "report this as a bug")
        })?;
        let batch = Batch::of(problems, Wanted::of(end), around);
        let mut corners: Vec<P::Cell> = allocate(batch.kept)?;
        let bytes = bytes_of_mut(&mut corners);
        let done = self.launch(batch, Some(recorded), bytes, unchecked(problems[0]))?;
        let extents: Vec<_> = problems.iter().map(|problem| problem.extents).collect();
        let one = |k: usize| {
            let best = match end {
                End::Corner => Some(corner(&corners[k], extents[k])),
                End::Best => winner(&done.found[k..=k], Extreme::Greatest),
            };
            match (best, &done.trails[k]) {
                (_, Trail { good: 0, .. }) => Found::Unclear,
                (None, _) => Found::Path(None),
                (Some(best), trail) => Found::Path(Some(path(best, trail, &done.runs))),
            }
        };
        let parts = over_parts(extents.len(), SHARE, |part| part.map(one).collect::<Vec<_>>());
        let mut all = room(extents.len(), "give fewer problems at once")?;
        parts.into_iter().for_each(|part| all.extend(part));
        Ok((all, done.report))
    }
}

/// A path, if there is one; or a choice on it that means nothing.
enum Found<S> {
    Path(Option<Path<S>>),
    Unclear,
}

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
