//! An alignment letter by letter.

use std::fmt::Write;

use warpweft::error::Result;
use warpweft::memory::grow;
use warpweft::wavefront::traceback::Path;

use super::{Alignment, Scope, Scoring, Sequence};

/// What stands against what in one column of an alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Equal letters, `=`; of nucleotides A, C, G or T.
    Equal,
    /// Different letters, or an ambiguous nucleotide, `X`.
    Different,
    /// A letter of the query against nothing, `I`.
    Insertion,
    /// A letter of the target against nothing, `D`.
    Deletion,
}

/// An alignment: its score, where it begins and ends, and what stands against what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aligned {
    /// Score and ends.
    pub alignment: Alignment,
    /// Letters of the query before its first.
    pub query_start: usize,
    /// Letters of the target before its first.
    pub target_start: usize,
    /// Columns of the alignment and how many of each follow one another; no two neighbours are equal.
    /// Empty for a local alignment that scores nothing.
    pub operations: Vec<(Operation, usize)>,
}

/// Tells `run` of letters of `a` and `b` that are `equal` and of others, and how many there are, in order. Of letters at
/// random a branch each is mispredicted often, so 64 are compared at once.
fn runs(
    a: &[u8],
    b: &[u8],
    equal: impl Fn(u8, u8) -> bool,
    mut run: impl FnMut(bool, usize) -> Result<()>,
) -> Result<()> {
    for (a, b) in a.chunks(64).zip(b.chunks(64)) {
        // A bit each, 1 for equal ones, the first lowest.
        let bits = |bits: u64, (&a, &b): (&u8, &u8)| bits << 1 | u64::from(equal(a, b));
        let mut equal = a.iter().zip(b).rev().fold(0, bits);
        let mut left = a.len();
        while left > 0 {
            let is = equal & 1 == 1;
            let count = if is { equal.trailing_ones() } else { equal.trailing_zeros() };
            let count = left.min(count as usize);
            run(is, count)?;
            equal = equal.checked_shr(count as u32).unwrap_or(0);
            left -= count;
        }
    }
    Ok(())
}

impl Aligned {
    /// No letters, which score 0.
    pub fn none() -> Self {
        let alignment = Alignment { score: 0, query_end: 0, target_end: 0 };
        Self { alignment, query_start: 0, target_start: 0, operations: Vec::new() }
    }

    /// Of letters along `path`. Letters before its start stand against nothing, unless `scope` says that they
    /// may be left out.
    ///
    /// # Errors
    /// Too little memory.
    pub(super) fn of(
        path: &Path<i32>,
        query: &Sequence,
        target: &Sequence,
        scope: Scope,
    ) -> Result<Self> {
        const HINT: &str = "align shorter sequences";
        // A run of pairs is some operations; a short path is held without growing.
        let mut operations: Vec<(Operation, usize)> = Vec::new();
        grow(&mut operations, (2 * path.moves.len() + 2).min(1024), HINT)?;
        let mut push = |operation, count| {
            match operations.last_mut() {
                _ if count == 0 => {}
                Some((last, counted)) if *last == operation => *counted += count,
                _ => {
                    grow(&mut operations, 1, HINT)?;
                    operations.push((operation, count));
                }
            }
            Ok(())
        };
        let before = path.start.map(|at| (at + 1) as usize);
        let ends = scope.ends();
        let free = [ends.query[0], ends.target[0]].map(|free| free || scope == Scope::Local);
        let start = |at: usize| if free[at] { before[at] } else { 0 };
        let [query_start, target_start] = [start(0), start(1)];
        push(Operation::Insertion, before[0] - query_start)?;
        push(Operation::Deletion, before[1] - target_start)?;
        let [mut i, mut j] = before;
        for run in &path.moves {
            match run.vector {
                [-1, 0] => push(Operation::Insertion, run.count)?,
                [0, -1] => push(Operation::Deletion, run.count)?,
                _ => {
                    let a = &query.as_rows()[i..i + run.count];
                    let b = &target.as_columns()[j..j + run.count];
                    let found = |equal, count| match equal {
                        true => push(Operation::Equal, count),
                        false => push(Operation::Different, count),
                    };
                    match query.matrix().map(|matrix| matrix.definite()) {
                        None => runs(a, b, |a, b| a == b, found)?,
                        Some(may) => {
                            runs(a, b, |a, b| (a == b) & (may >> (a & 31) & 1 == 1), found)?;
                        }
                    }
                }
            }
            i += run.count * run.vector[0].unsigned_abs();
            j += run.count * run.vector[1].unsigned_abs();
        }
        operations.shrink_to_fit();
        let [query_end, target_end] = path.end.map(|at| at + 1);
        let alignment = Alignment { score: path.score, query_end, target_end };
        Ok(Self { alignment, query_start, target_start, operations })
    }

    /// Columns of this kind.
    pub fn count(&self, of: Operation) -> usize {
        self.operations.iter().filter(|(kind, _)| *kind == of).map(|(_, count)| count).sum()
    }

    /// Columns in all.
    pub fn columns(&self) -> usize {
        self.operations.iter().map(|(_, count)| count).sum()
    }

    /// Equal letters over columns; 0 of none.
    pub fn identity(&self) -> f64 {
        self.count(Operation::Equal) as f64 / self.columns().max(1) as f64
    }

    /// Gaps, and letters in them.
    pub fn gaps(&self) -> [usize; 2] {
        let gap = |kind| matches!(kind, Operation::Insertion | Operation::Deletion);
        let gaps = self.operations.iter().filter(|(kind, _)| gap(*kind));
        [gaps.clone().count(), gaps.map(|(_, count)| count).sum()]
    }

    /// As SAM and PAF write it: `=`, `X`, `I` and `D`, or `M` for both kinds of pairs unless they are
    /// to be told apart; `*` for none.
    pub fn cigar(&self, told_apart: bool) -> String {
        let mut text = String::new();
        let mut pending = 0;
        let mut write = |count: usize, letter: char| {
            if count > 0 {
                // Writing to a string can't fail.
                let _ = write!(text, "{count}{letter}");
            }
        };
        for &(operation, count) in &self.operations {
            let letter = match operation {
                Operation::Equal => '=',
                Operation::Different => 'X',
                Operation::Insertion => 'I',
                Operation::Deletion => 'D',
            };
            if !told_apart && matches!(letter, '=' | 'X') {
                pending += count;
                continue;
            }
            write(std::mem::take(&mut pending), 'M');
            write(count, letter);
        }
        write(pending, 'M');
        if text.is_empty() { "*".into() } else { text }
    }

    /// The score added up again column by column; none where columns and letters don't match.
    pub fn added_up(
        &self,
        query: &Sequence,
        target: &Sequence,
        scoring: impl Into<Scoring>,
    ) -> Option<i64> {
        let scoring = scoring.into();
        let weights = scoring.weights();
        let (mut i, mut j, mut score) = (self.query_start, self.target_start, 0);
        let gap =
            |count: usize| i64::from(weights.open) + i64::from(weights.extend) * (count as i64 - 1);
        for &(operation, count) in &self.operations {
            match operation {
                Operation::Insertion => (i, score) = (i + count, score + gap(count)),
                Operation::Deletion => (j, score) = (j + count, score + gap(count)),
                _ => {
                    let equal = operation == Operation::Equal;
                    let a = query.as_rows().get(i..i + count)?;
                    let b = target.as_columns().get(j..j + count)?;
                    if a.iter().zip(b).any(|(&a, &b)| scoring.is_match(a, b) != equal) {
                        return None;
                    }
                    let pairs = a.iter().zip(b).map(|(&a, &b)| i64::from(scoring.pair(a, b)));
                    score += pairs.sum::<i64>();
                    (i, j) = (i + count, j + count);
                }
            }
        }
        let Alignment { query_end, target_end, .. } = self.alignment;
        ([i, j] == [query_end, target_end]).then_some(score)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_those_of_letters_one_by_one() {
        let mut noise = crate::soup::SplitMix::new(64);
        for count in [0, 1, 63, 64, 65, 128, 300] {
            for of in [1, 2, 9] {
                let mut letters = || (0..count).map(|_| (noise.next_u64() % of) as u8).collect();
                let [a, b]: [Vec<u8>; 2] = [letters(), letters()];
                let mut found = Vec::new();
                runs(
                    &a,
                    &b,
                    |a, b| a == b,
                    |equal, count| {
                        found.extend(vec![equal; count]);
                        Ok(())
                    },
                )
                .unwrap();
                let one_by_one: Vec<_> = a.iter().zip(&b).map(|(a, b)| a == b).collect();
                assert_eq!(found, one_by_one);
            }
        }
    }
}
