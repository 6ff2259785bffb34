//! The paths of many problems: choices recorded by a warp a problem, and followed on the host.
//!
//! Not here: problems whose borders are no single value but for the corner, and large ones, which go one after another.

use std::thread;

use super::borders;
use super::choices::{Recorded, recorded_bytes};
use crate::cuda::filled::kept;
use crate::cuda::strips::executor::CudaExecutor;
use crate::cuda::strips::record::Recording;
use crate::cuda::strips::shape::missing;
use crate::executor::Paths;
use crate::frame::allocate;
use crate::recurrence::{Traced, WavefrontElement, bytes_of_mut};
use crate::spec::{Erased, Wavefront};
use crate::traceback::{End, path_from, trace_one};
use warpweft_core::error::Result;
use warpweft_core::report::Report;

/// Cells of a problem that a warp is not kept busy with too long: those of larger ones are recorded by all.
const SMALL: u64 = 1 << 20;
/// Bytes of choices of one launch.
const MOST_BYTES: usize = 1 << 30;

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
        let small = |&k: &usize| {
            let same = first.element.alike(&wavefronts[k].element);
            same && erased[k].cells() <= SMALL && borders(&erased[k..=k]).is_some()
        };
        let (mut small, large): (Vec<_>, Vec<_>) = (0..wavefronts.len()).partition(small);
        if small.len() < 2 || missing(&erased[0]).is_some() || recording.faults() {
            return Ok(None);
        }
        small.sort_by_key(|&k| std::cmp::Reverse(erased[k].cells()));
        let mut paths: Vec<_> = wavefronts.iter().map(|_| None).collect();
        let mut total: Option<Report> = None;
        let mut add = |report: Report| {
            total = Some(match total.take() {
                Some(total) => total.followed_by(&report),
                None => report,
            });
        };
        for k in large {
            let (path, report) = trace_one(&wavefronts[k], end, self)?;
            paths[k] = path;
            add(report);
        }
        for launch in launches(&small, |k| recorded_bytes(&erased[k], &recording)) {
            let (found, report) =
                self.recorded_paths::<E, E::Plain>(&plain, &erased, launch, end, &recording)?;
            launch.iter().zip(found).for_each(|(&k, path)| paths[k] = path);
            add(report);
        }
        Ok(total.map(|mut report| {
            let note = format!("{} paths were found by directions, a warp each", small.len());
            report.notes.push(note);
            (paths, report)
        }))
    }

    /// The paths of the problems numbered `launch`.
    fn recorded_paths<E, P>(
        &mut self,
        wavefronts: &[Wavefront<'_, P>],
        erased: &[Erased<'_>],
        launch: &[usize],
        end: End,
        recording: &Recording,
    ) -> Result<Paths<E>>
    where
        E: Traced<Plain = P>,
        P: WavefrontElement<Cell = E::Cell>,
    {
        let problems: Vec<_> = launch.iter().map(|&k| &erased[k]).collect();
        let outside = problems.iter().flat_map(|problem| problem.border.corner());
        let outside: Vec<_> = outside.flatten().collect();
        let mut recorded = Recorded::new(recording, &self.gpus[0].device)?;
        let (bytes, found, report) =
            self.small(&problems, &outside.concat(), Some(&mut recorded))?;
        // What is kept of each, one behind the other.
        let mut ends = Vec::with_capacity(launch.len());
        let mut rest = &bytes[..];
        for (at, &k) in launch.iter().enumerate() {
            let mut cells: Vec<E::Cell> = allocate(erased[k].kept_cells())?;
            let to = bytes_of_mut(&mut cells);
            let (own, further) = rest.split_at(to.len());
            to.copy_from_slice(own);
            rest = further;
            let kept = kept(erased[k].keep, &found[at..=at], cells);
            ends.push(end.of(&kept, wavefronts[k].extents())?);
        }
        let columns: Vec<_> = problems.iter().map(|problem| problem.extents[1]).collect();
        let follow = |at: usize| {
            let columns = columns[at];
            let path = ends[at].map(|(score, cell)| {
                path_from::<E>(score, cell, |i, j| Ok(recorded.at(at, columns, i, j)))
            });
            path.transpose()
        };
        Ok((in_parallel(launch.len(), &follow)?, report))
    }
}

/// `of` each number, on as many threads as there are cores for them.
fn in_parallel<T: Send>(count: usize, of: &(dyn Fn(usize) -> Result<T> + Sync)) -> Result<Vec<T>> {
    let threads = thread::available_parallelism().map_or(1, Into::into).min(count.div_ceil(256));
    let each = count.div_ceil(threads.max(1));
    thread::scope(|scope| {
        let parts: Vec<_> = (0..count)
            .step_by(each.max(1))
            .map(|first| {
                let numbers = first..(first + each).min(count);
                scope.spawn(move || numbers.map(of).collect::<Result<Vec<_>>>())
            })
            .collect();
        let mut all = Vec::with_capacity(count);
        for part in parts {
            match part.join() {
                Ok(part) => all.extend(part?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(all)
    })
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

    #[test]
    fn results_of_threads_stay_in_order() {
        let squares = in_parallel(1_000, &|k| Ok(k * k)).unwrap();
        assert!(squares.iter().enumerate().all(|(k, &square)| square == k * k));
        assert!(in_parallel::<usize>(0, &|_| unreachable!()).unwrap().is_empty());
    }
}
