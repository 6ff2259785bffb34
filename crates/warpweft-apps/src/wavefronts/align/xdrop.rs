//! Extensions: alignments from the first letters of both sequences that end where the score has dropped too far.
//!
//! Not here: the recurrence over a whole rectangle. Cells are computed by anti-diagonals on one core, and only those
//! around the best alignment.

use warpweft::error::{Error, Result};
use warpweft::memory::grow;

use super::recurrences::{ACROSS, DOWN, NONE, OPENED_ACROSS, OPENED_DOWN, PAIR, Through, gapped};
use super::{Aligned, Alignment, Operation, Scope, Scoring, Sequence, Weights};

/// The greatest drop.
const MOST: i32 = 1 << 28;

/// The best alignment that begins at the first letters of `query` and `target` and ends anywhere, among those through
/// cells that are kept: anti-diagonal by anti-diagonal, a cell is left out if its score is more than `drop` below the
/// best of all anti-diagonals before (Zhang, Berman, Wiehe and Miller 1999). Of equal scores the least end in the query,
/// then in the target. Also the number of cells computed.
///
/// Complexity: cells around the alignment, about its length times a width that grows with `drop`; a byte each.
///
/// # Errors
/// As [`align`](super::align); a drop below 0 or beyond 2^28; a band; too little memory.
pub fn extend(
    query: &Sequence,
    target: &Sequence,
    scoring: &Scoring,
    drop: i32,
) -> Result<(Aligned, u64)> {
    scoring.check()?;
    if !(0..=MOST).contains(&drop) {
        return Err(Error::spec(format!("a drop of {drop}"), format!("give 0 to {MOST}")));
    }
    if let Some(band) = scoring.band() {
        let what = format!("an extension (X-drop) can't have a band ({band})");
        return Err(Error::spec(what, "leave out the band or the drop"));
    }
    let weights = scoring.weights();
    // No score is further below the best than the drop: as of local ones, only the best of all may be too great.
    scoring.check_pair(query, target, Scope::Local)?;
    let mut front = Front::new(query.as_rows(), target.as_columns(), scoring, weights);
    while front.advance(drop)? {}
    Ok((front.aligned(), front.cells))
}

/// Cells of an anti-diagonal by their rows, from `first` on; all others are out of reach.
#[derive(Default)]
struct Diagonal {
    first: usize,
    h: Vec<i32>,
    e: Vec<i32>,
    f: Vec<i32>,
}

impl Diagonal {
    fn at(&self, of: &[i32], row: usize) -> i32 {
        row.checked_sub(self.first).and_then(|k| of.get(k)).copied().unwrap_or(NONE)
    }

    /// The rows that it holds.
    fn end(&self) -> usize {
        self.first + self.h.len()
    }

    /// Leaves out what is out of reach at both ends.
    fn trim(&mut self) {
        let live = |h: &i32| *h > NONE;
        let end = self.h.iter().rposition(live).map_or(0, |last| last + 1);
        let first = self.h.iter().position(live).unwrap_or(0);
        for line in [&mut self.h, &mut self.e, &mut self.f] {
            line.truncate(end);
            line.drain(..first.min(end));
        }
        self.first += first;
    }
}

/// What is known so far.
struct Front<'a> {
    query: &'a [u8],
    target: &'a [u8],
    scoring: &'a Scoring,
    weights: Weights,
    /// The last anti-diagonal and the one before.
    last: Diagonal,
    before: Diagonal,
    best: Alignment,
    /// Of each anti-diagonal the first row and the choices from there on.
    choices: Vec<(usize, Vec<u8>)>,
    cells: u64,
}

impl<'a> Front<'a> {
    fn new(query: &'a [u8], target: &'a [u8], scoring: &'a Scoring, weights: Weights) -> Self {
        let last = Diagonal { first: 0, h: vec![0], e: vec![NONE], f: vec![NONE] };
        let best = Aligned::none().alignment;
        let choices = vec![(0, vec![0])];
        let before = Diagonal::default();
        Self { query, target, scoring, weights, last, before, best, choices, cells: 0 }
    }

    /// Computes the next anti-diagonal; whether any cell can be reached from there on.
    fn advance(&mut self, drop: i32) -> Result<bool> {
        let number = self.choices.len();
        let (last, before) = (&self.last, &self.before);
        let (mut start, mut end) = (usize::MAX, 0);
        if !last.h.is_empty() {
            (start, end) = (last.first, last.end() + 1);
        }
        if !before.h.is_empty() {
            (start, end) = (start.min(before.first + 1), end.max(before.end() + 1));
        }
        let rows = start.max(number.saturating_sub(self.target.len()))
            ..end.min(self.query.len() + 1).min(number + 1);
        if rows.is_empty() {
            return Ok(false);
        }
        let least = self.best.score.saturating_sub(drop);
        let mut now = Diagonal { first: rows.start, ..Diagonal::default() };
        let mut choices = Vec::new();
        grow(&mut choices, rows.len(), "align shorter sequences, or with a smaller drop")?;
        let mut best = self.best;
        for i in rows.clone() {
            let ([h, e, f], choice) = self.cell(i, number - i);
            let keep = h >= least;
            let [h, e, f] = if keep { [h, e, f] } else { [NONE; 3] };
            now.h.push(h);
            now.e.push(e);
            now.f.push(f);
            choices.push(choice);
            let end = (i, number - i);
            if h > best.score || h == best.score && end < (best.query_end, best.target_end) {
                best = Alignment { score: h, query_end: end.0, target_end: end.1 };
            }
        }
        self.cells += rows.len() as u64;
        self.best = best;
        grow(&mut self.choices, 1, "align shorter sequences")?;
        self.choices.push((rows.start, choices));
        now.trim();
        self.before = std::mem::replace(&mut self.last, now);
        Ok(true)
    }

    /// The three scores of the cell after `i` letters of the query and `j` of the target, and its choices.
    fn cell(&self, i: usize, j: usize) -> ([i32; 3], u8) {
        let (last, before) = (&self.last, &self.before);
        let Weights { open, extend, .. } = self.weights;
        let opened = |line: &[i32], row| last.at(line, row).saturating_add(open);
        let further = |line: &[i32], row| last.at(line, row).saturating_add(extend);
        let (mut e, mut f, mut pair, mut choice) = (NONE, NONE, NONE, 0);
        if j > 0 {
            let first = opened(&last.h, i);
            e = first.max(further(&last.e, i));
            choice |= if e == first { OPENED_ACROSS } else { 0 };
        }
        if i > 0 {
            let first = opened(&last.h, i - 1);
            f = first.max(further(&last.f, i - 1));
            choice |= if f == first { OPENED_DOWN } else { 0 };
        }
        if i > 0 && j > 0 {
            let above = before.at(&before.h, i - 1);
            pair = above.saturating_add(self.scoring.pair(self.query[i - 1], self.target[j - 1]));
        }
        let h = pair.max(e).max(f);
        let from = match h {
            _ if h == pair => PAIR,
            _ if h == e => ACROSS,
            _ => DOWN,
        };
        ([h, e, f], choice | from)
    }

    /// The best alignment, letter by letter.
    fn aligned(&self) -> Aligned {
        let Alignment { query_end: mut i, target_end: mut j, .. } = self.best;
        let mut through = Through::default();
        let mut operations: Vec<(Operation, usize)> = Vec::new();
        while i + j > 0 {
            let (first, choices) = &self.choices[i + j];
            let Some((vector, next)) = gapped(choices[i - first], through) else { break };
            let operation = match vector {
                [-1, -1] if self.scoring.is_match(self.query[i - 1], self.target[j - 1]) => {
                    Operation::Equal
                }
                [-1, -1] => Operation::Different,
                [_, -1] => Operation::Deletion,
                _ => Operation::Insertion,
            };
            match operations.last_mut() {
                Some((kind, count)) if *kind == operation => *count += 1,
                _ => operations.push((operation, 1)),
            }
            (i, j) = (i - vector[0].unsigned_abs(), j - vector[1].unsigned_abs());
            through = next;
        }
        operations.reverse();
        Aligned { alignment: self.best, operations, ..Aligned::none() }
    }
}
