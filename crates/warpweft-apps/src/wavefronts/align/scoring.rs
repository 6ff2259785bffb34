//! What pairs of letters and gaps score: two weights for equal and different letters, or a matrix.

use std::sync::Arc;

use warpweft::error::{Error, Result};

use super::{Matrix, Sequence, Weights};

/// What pairs of letters and gaps score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scoring {
    weights: Weights,
    matrix: Option<Arc<Matrix>>,
}

impl From<Weights> for Scoring {
    fn from(weights: Weights) -> Self {
        Self { weights, matrix: None }
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
        Self { weights: Weights { matching, mismatch, open, extend }, matrix: Some(matrix) }
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
        Weights { mismatch: self.weights.mismatch.min(0), ..self.weights }.check()
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
            format!("a sequence of {}, scored by {}", name(sequence.matrix()), name(self.matrix())),
            "make the sequence of the matrix that scores it",
        ))
    }
}
