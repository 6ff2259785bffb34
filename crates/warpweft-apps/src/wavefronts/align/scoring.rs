//! What pairs of letters and gaps score: two weights for equal and different letters, or a matrix; and which pairs there
//! may be.

use std::sync::Arc;

use warpweft::error::{Error, Result};

use super::{Matrix, Scope, Sequence, Weights};

/// What pairs of letters and gaps score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scoring {
    weights: Weights,
    matrix: Option<Arc<Matrix>>,
    band: Option<usize>,
}

impl From<Weights> for Scoring {
    fn from(weights: Weights) -> Self {
        Self { weights, matrix: None, band: None }
    }
}

impl From<&Scoring> for Scoring {
    fn from(of: &Scoring) -> Self {
        of.clone()
    }
}

impl Scoring {
    /// Pairs by a matrix; `open` is added for the first letter of a gap, `extend` for each further one.
    pub fn by_matrix(matrix: Arc<Matrix>, open: i32, extend: i32) -> Self {
        let [mismatch, matching] = matrix.range();
        let weights = Weights { matching, mismatch, open, extend };
        Self { weights, matrix: Some(matrix), band: None }
    }

    /// The same within a band: after so many letters of the query and of the target as differ by more than `band`,
    /// there is no alignment.
    pub fn within(self, band: Option<usize>) -> Self {
        Self { band, ..self }
    }

    /// The band, if there is one.
    pub fn band(&self) -> Option<usize> {
        self.band
    }

    /// The weights; of a matrix the greatest and the least score in place of a match and a mismatch.
    pub fn weights(&self) -> Weights {
        self.weights
    }

    /// The matrix, if there is one.
    pub fn matrix(&self) -> Option<&Arc<Matrix>> {
        self.matrix.as_ref()
    }

    /// What a letter of the query, as a row has it, scores with one of the target, as a column has it.
    pub fn pair(&self, a: u8, b: u8) -> i32 {
        match &self.matrix {
            Some(matrix) => matrix.scores()[usize::from(a & 31)][usize::from(b & 31)].into(),
            None if a == b => self.weights.matching,
            None => self.weights.mismatch,
        }
    }

    /// Whether a letter of the query and one of the target, as rows and columns have them, are a match: equal, and no
    /// codes of several nucleotides, whatever they score.
    pub fn is_match(&self, a: u8, b: u8) -> bool {
        a == b && self.matrix.as_ref().is_none_or(|matrix| matrix.definite() >> (a & 31) & 1 == 1)
    }

    /// Whether alignment makes sense with them.
    ///
    /// # Errors
    /// As [`Weights::check`]; a matrix without a pair that scores above 0.
    pub fn check(&self) -> Result<()> {
        let Weights { matching, .. } = self.weights;
        if let Some(matrix) = self.matrix.as_ref().filter(|_| matching <= 0) {
            return Err(Error::spec(
                format!("no pair of letters of {} scores above 0", matrix.name()),
                "give a matrix that rewards some pairs",
            ));
        }
        // A matrix may reward all pairs.
        let most = if self.matrix.is_some() { 0 } else { i32::MAX };
        Weights { mismatch: self.weights.mismatch.min(most), ..self.weights }.check()
    }

    /// Whether `query` and `target` can be aligned: the alphabets are the ones that are scored, 32 bits hold all scores,
    /// and an alignment may end in the band.
    ///
    /// # Errors
    /// They can't be, and why.
    pub fn check_pair(&self, query: &Sequence, target: &Sequence, scope: Scope) -> Result<()> {
        [query, target].into_iter().try_for_each(|of| self.check_alphabet(of))?;
        self.check_lengths(scope, [query.len(), target.len()])
    }

    /// Whether alignments of so many letters fit numbers, and one may end in the band.
    ///
    /// # Errors
    /// As [`Weights::check_lengths`]; a band that all ends lie outside of.
    pub(super) fn check_lengths(&self, scope: Scope, [rows, columns]: [usize; 2]) -> Result<()> {
        self.weights.check_lengths(scope, self.band.is_some(), [rows, columns])?;
        let Some(band) = self.band else { return Ok(()) };
        let ends = scope.ends();
        let apart = match (rows.saturating_sub(columns), columns.saturating_sub(rows)) {
            _ if scope == Scope::Local => 0,
            (longer @ 1.., _) if !ends.query[1] => longer,
            (_, longer @ 1..) if !ends.target[1] => longer,
            _ => 0,
        };
        if apart <= band {
            return Ok(());
        }
        Err(Error::spec(
            format!(
                "a band of {band} for sequences of {rows} and {columns} letters, whose ends lie {apart} off the diagonal"
            ),
            format!("make it {apart} at least, or leave an end free"),
        ))
    }

    /// Whether `sequence` is of the alphabet that is scored.
    ///
    /// # Errors
    /// It is of another.
    pub(super) fn check_alphabet(&self, sequence: &Sequence) -> Result<()> {
        let name = |matrix: Option<&Arc<Matrix>>| match matrix {
            Some(matrix) => format!("the letters of {}", matrix.name()),
            None => "nucleotides".into(),
        };
        if sequence.matrix() == self.matrix.as_ref() {
            return Ok(());
        }
        Err(Error::spec(
            format!(
                "a sequence with {} is scored by {}",
                name(sequence.matrix()),
                name(self.matrix())
            ),
            "create the sequence with the matrix that scores it",
        ))
    }
}
