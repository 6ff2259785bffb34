//! The best local alignments of a pair that lie in different parts of its target.

use std::ops::Range;

use warpweft::error::{Error, Result};
use warpweft::report::Report;
use warpweft::wavefront::TotalReport;

use super::{Aligned, Executor, Scope, Scoring, Sequence, Tracing, trace};

/// An alignment and the stretch of the target of which it is the best.
struct Found {
    aligned: Aligned,
    within: Range<usize>,
}

/// Up to `count` local alignments of `query` with parts of `target` that don't overlap, best first: each is the best
/// of those that share no letter of the target with the ones before; of equal ones the first in the target. Only
/// those that score above 0, and `least` at least.
///
/// Complexity: that of one alignment, and of two more of what is left of the target on both sides of each found.
///
/// # Errors
/// As [`trace`]; no alignments asked for; a band, which is counted from the ends of the target.
pub fn best(
    query: &Sequence,
    target: &Sequence,
    scoring: &Scoring,
    (count, least): (usize, i32),
    executor: &mut dyn Executor,
) -> Result<(Vec<Aligned>, Report)> {
    if count == 0 {
        return Err(Error::spec("0 alignments", "ask for at least one"));
    }
    if scoring.band().is_some() {
        return Err(Error::spec("several alignments in a band", "leave out the band"));
    }
    let mut total = TotalReport::default();
    let mut waiting: Vec<Found> = Vec::new();
    let mut all = Vec::new();
    let mut stretches: Vec<_> = std::iter::once(0..target.len()).collect();
    loop {
        for within in stretches.drain(..).filter(|stretch| !stretch.is_empty()) {
            let part = target.part(within.clone());
            let tracing = Tracing::default();
            let (mut aligned, report) =
                trace(query, &part, scoring, Scope::Local, &tracing, executor)?;
            total.add(report);
            if aligned.alignment.score >= least.max(1) {
                aligned.target_start += within.start;
                aligned.alignment.target_end += within.start;
                waiting.push(Found { aligned, within });
            }
        }
        let order = |found: &Found| {
            (std::cmp::Reverse(found.aligned.alignment.score), found.aligned.target_start)
        };
        let next = (0..waiting.len()).min_by_key(|&k| order(&waiting[k]));
        let Some(next) = next else { break };
        let Found { aligned, within } = waiting.swap_remove(next);
        stretches.push(within.start..aligned.target_start);
        stretches.push(aligned.alignment.target_end..within.end);
        all.push(aligned);
        if all.len() == count {
            break;
        }
    }
    Ok((all, total.report()?))
}
