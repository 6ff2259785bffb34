//! The best local alignments of a pair, of either strand, that lie in different parts of its target.

use std::ops::Range;

use warpweft::error::{Error, Result};
use warpweft::report::Report;
use warpweft::wavefront::TotalReport;

use super::{Aligned, Executor, Scope, Scoring, Sequence, Tracing, trace};

/// An alignment of one of the strands, and the stretch of the target of which it is the best.
struct Found {
    strand: usize,
    aligned: Aligned,
    within: Range<usize>,
}

impl Found {
    fn score(&self) -> i32 {
        self.aligned.alignment.score
    }
}

/// Up to `count` local alignments of the strands of a query with parts of `target` that don't overlap, best first, each
/// with the number of its strand: each is the best of those that share no letter of the target with the ones before; of
/// equal ones the first in the target, then the first of `strands`. Only those that score above 0, and `least` at least.
///
/// Complexity: for each strand that of one alignment, and of two more of what is left of the target on both sides of each
/// found.
///
/// # Errors
/// As [`trace`]; no alignments asked for; a band, which is counted from the ends of the target.
pub fn best(
    strands: &[&Sequence],
    target: &Sequence,
    scoring: &Scoring,
    (count, least): (usize, i32),
    executor: &mut dyn Executor,
) -> Result<(Vec<(usize, Aligned)>, Report)> {
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
            let mut most: Option<Found> = None;
            for (strand, query) in strands.iter().enumerate() {
                let tracing = Tracing::default();
                let (mut aligned, report) =
                    trace(query, &part, scoring, Scope::Local, &tracing, executor)?;
                total.add(report);
                let before = most.as_ref().map_or(least.max(1) - 1, |most| most.score());
                if aligned.alignment.score > before {
                    aligned.target_start += within.start;
                    aligned.alignment.target_end += within.start;
                    most = Some(Found { strand, aligned, within: within.clone() });
                }
            }
            waiting.extend(most);
        }
        let order = |found: &Found| (std::cmp::Reverse(found.score()), found.aligned.target_start);
        let next = (0..waiting.len()).min_by_key(|&k| order(&waiting[k]));
        let Some(next) = next else { break };
        let Found { strand, aligned, within } = waiting.swap_remove(next);
        stretches.push(within.start..aligned.target_start);
        stretches.push(aligned.alignment.target_end..within.end);
        all.push((strand, aligned));
        if all.len() == count {
            break;
        }
    }
    Ok((all, total.report()?))
}
