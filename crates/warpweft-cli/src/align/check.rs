//! Checks alignments against a plain loop, and paths against their scores.

use warpweft::memory::check_room;
use warpweft_apps::align::{Scope, Scoring, plain};

use super::pair::Pair;
use crate::run::check::Check;
use crate::run::check::choice::Checking;

/// Cells that the plain loop may compute for a check: less than a second.
const CHECKED_CELLS: u64 = 100_000_000;

/// The comparison with a plain loop, for pairs that are short enough. The score of every path is added up
/// again.
#[derive(Default)]
pub struct Tally {
    /// Cells that the plain loop may compute.
    most: u64,
    checked: usize,
    skipped: usize,
    paths: usize,
    cells: u64,
    error: f64,
    /// Why the last skipped pair was skipped, if not for its size.
    why: Option<String>,
}

impl Tally {
    /// Of nothing yet.
    pub fn new(checking: &Checking) -> Self {
        Self { most: checking.most(CHECKED_CELLS), ..Self::default() }
    }

    /// Checks one more pair.
    pub fn add(&mut self, pair: &Pair<'_>, scoring: &Scoring, scope: Scope) {
        let (query, target) = pair.sequences();
        let found = pair.alignment;
        self.path(pair, scoring);
        let cells = query.len() as u64 * target.len() as u64;
        if self.cells.saturating_add(cells) > self.most {
            self.skipped += 1;
            return;
        }
        // Two rows of i64.
        if let Err(error) = check_room(16 * target.len() as u64, "align shorter sequences") {
            self.skipped += 1;
            self.why = Some(error.to_string());
            return;
        }
        self.cells = self.cells.saturating_add(cells);
        self.checked += 1;
        let expect = plain(query, target, scoring, scope);
        let distance = |a: usize, b: usize| a.abs_diff(b) as f64;
        let error = [
            f64::from(found.score.abs_diff(expect.score)),
            distance(found.query_end, expect.query_end),
            distance(found.target_end, expect.target_end),
        ];
        self.error = error.into_iter().fold(self.error, f64::max);
    }

    /// Checks the path of a pair alone.
    pub fn add_path(&mut self, pair: &Pair<'_>, scoring: &Scoring) {
        self.path(pair, scoring);
        self.skipped += 1;
    }

    fn path(&mut self, pair: &Pair<'_>, scoring: &Scoring) {
        let (query, target) = pair.sequences();
        if let Some(path) = &pair.path {
            self.paths += 1;
            let error = path.added_up(query, target, scoring).map_or(f64::INFINITY, |score| {
                score.abs_diff(i64::from(pair.alignment.score)) as f64
            });
            self.error = self.error.max(error);
        }
    }

    /// The check of all pairs.
    pub fn made(&self) -> Check {
        let pairs = self.checked + self.skipped;
        let reference = match (self.checked, self.skipped) {
            (0, _) if self.paths > 0 => "score recomputed along the path".to_string(),
            (0, _) => {
                return Check::none(self.why.clone().unwrap_or_else(|| {
                    format!("the straightforward loop is run for up to {CHECKED_CELLS} cells")
                }));
            }
            _ => "straightforward loop".to_string(),
        };
        let check = Check::made(reference, self.error, 0.0);
        match (self.checked, self.skipped) {
            (_, 0) => check,
            (0, _) => check.of("the scores of the paths found, not that no path is better"),
            (checked, _) => check.of(format!("{checked} of {pairs} pairs")),
        }
    }
}
