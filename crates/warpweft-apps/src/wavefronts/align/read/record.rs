//! One record of a file of sequences.

use std::sync::Arc;

use super::lines::Lines;
use crate::align::{Matrix, Sequence};
use warpweft::error::Result;

/// What to do where memory does not hold a file.
pub(super) const ROOM: &str = "align shorter sequences, or fewer at a time";

/// One record: the first word of its header, its letters without white space, and, of FASTQ, their qualities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// First word after `>`.
    pub name: String,
    /// The letters as they stand in the file, not yet checked.
    pub letters: Vec<u8>,
    /// A character for each letter, `!` the lowest, in FASTQ.
    pub quality: Option<Vec<u8>>,
    /// On which lines the letters stand.
    pub(super) lines: Lines,
}

impl Record {
    /// Its letters as a checked sequence: of `matrix`, or of nucleotides.
    ///
    /// # Errors
    /// As [`Sequence::of`] and [`Sequence::new`], with the line.
    pub fn sequence(&self, matrix: Option<&Arc<Matrix>>) -> Result<Sequence> {
        let line = |at| self.lines.of(at);
        match matrix {
            Some(matrix) => Sequence::symbols(matrix, &self.name, &self.letters, &line),
            None => Sequence::nucleotides(&self.name, &self.letters, &line),
        }
    }
}
