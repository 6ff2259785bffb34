//! Sequences of nucleotides, or of the letters of a matrix, checked.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::Matrix;
use warpweft::error::{Error, Result};
use warpweft::memory::room;

/// The line of a file on which a letter stands, if that is known.
type Lines<'l> = &'l dyn Fn(usize) -> Option<usize>;

/// What is wrong with `letter`.
fn unknown(name: &str, letter: u8, at: usize, line: Lines<'_>) -> String {
    let line = line(at).map_or(String::new(), |line| format!(", line {line}"));
    let letter = char::from(letter);
    format!("character {letter:?} at position {} of sequence {name}{line}", at + 1)
}

/// A checked sequence, in the two encodings of rows and columns.
///
/// Ambiguous letters (`N`, `R`, ..) match nothing, themselves included: they have one code in rows
/// and another in columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    rows: Vec<u8>,
    columns: Vec<u8>,
    ambiguous: usize,
    /// That whose numbers the letters are; none of nucleotides.
    matrix: Option<Arc<Matrix>>,
}

impl Sequence {
    /// Letters of either case; `U` is `T`. `name` is what errors call the sequence.
    ///
    /// # Errors
    /// No letters; a character that is no IUPAC code of a nucleotide, with its position from 1; too
    /// little memory.
    pub fn new(name: &str, text: &[u8]) -> Result<Self> {
        Self::nucleotides(name, text, &|_| None)
    }

    /// The same of a text in a file; `line` tells where a letter stands, counted from 0.
    pub(super) fn nucleotides(name: &str, text: &[u8], line: Lines<'_>) -> Result<Self> {
        let mut sequence = Self::with_room(name, text.len())?;
        for (at, &letter) in text.iter().enumerate() {
            let (row, column) = match letter.to_ascii_uppercase() {
                b'U' => (b'T', b'T'),
                plain @ (b'A' | b'C' | b'G' | b'T') => (plain, plain),
                b'R' | b'Y' | b'S' | b'W' | b'K' | b'M' | b'B' | b'D' | b'H' | b'V' | b'N' => {
                    sequence.ambiguous += 1;
                    (b'n', b'N')
                }
                _ => {
                    return Err(Error::spec(
                        unknown(name, letter, at, line),
                        "use the nucleotide letters ACGTU and the IUPAC codes RYSWKMBDHVN",
                    ));
                }
            };
            sequence.rows.push(row);
            sequence.columns.push(column);
        }
        Ok(sequence)
    }

    /// Letters of either case of the alphabet of `matrix`; those that it lacks and that X stands for, U, O and
    /// J, become X.
    ///
    /// # Errors
    /// No letters; a character that is no letter of the matrix, with its position from 1; too little
    /// memory.
    pub fn of(matrix: &Arc<Matrix>, name: &str, text: &[u8]) -> Result<Self> {
        Self::symbols(matrix, name, text, &|_| None)
    }

    /// The same of a text in a file; `line` tells where a letter stands, counted from 0.
    pub(super) fn symbols(
        matrix: &Arc<Matrix>,
        name: &str,
        text: &[u8],
        line: Lines<'_>,
    ) -> Result<Self> {
        let mut sequence = Self::with_room(name, text.len())?;
        for (at, &letter) in text.iter().enumerate() {
            let Some((number, unknown)) = matrix.number(letter) else {
                let letters = String::from_utf8_lossy(matrix.symbols()).into_owned();
                return Err(Error::spec(
                    unknown(name, letter, at, line),
                    format!("use the letters of {}: {letters}", matrix.name()),
                ));
            };
            sequence.ambiguous += usize::from(unknown);
            sequence.rows.push(number);
            sequence.columns.push(number);
        }
        Ok(Self { matrix: Some(matrix.clone()), ..sequence })
    }

    /// An empty one with memory for `count` letters.
    fn with_room(name: &str, count: usize) -> Result<Self> {
        const HINT: &str = "align shorter sequences, or fewer at a time";
        if count == 0 {
            return Err(Error::spec(
                format!("sequence {name} is empty"),
                "give at least one letter",
            ));
        }
        Ok(Self {
            rows: room(count, HINT)?,
            columns: room(count, HINT)?,
            ambiguous: 0,
            matrix: None,
        })
    }

    /// Its first `count` letters.
    pub(super) fn first(&self, count: usize) -> Self {
        self.part(0..count)
    }

    /// The letters of a range, which is not empty.
    pub(super) fn part(&self, range: Range<usize>) -> Self {
        let Self { rows, columns, matrix, .. } = self;
        let ambiguous = match self.ambiguous {
            0 => 0,
            some => some.min(range.len()).max(1),
        };
        let [rows, columns] = [rows, columns].map(|letters| letters[range.clone()].to_vec());
        Self { rows, columns, ambiguous, matrix: matrix.clone() }
    }

    /// The other strand, from its end: each nucleotide's complement, in reverse; N of an ambiguous one, but the complement of
    /// its code by a matrix that has these. None of the letters of other matrices.
    pub fn reverse_complement(&self) -> Option<Self> {
        let numbers = match &self.matrix {
            Some(matrix) => Some(matrix.complements()?),
            None => None,
        };
        let complement = |&letter: &u8| match (&numbers, letter) {
            (Some(numbers), number) => numbers[usize::from(number)],
            (None, b'A') => b'T',
            (None, b'C') => b'G',
            (None, b'G') => b'C',
            (None, b'T') => b'A',
            (None, other) => other,
        };
        let other = |letters: &[u8]| letters.iter().rev().map(complement).collect();
        let (rows, columns) = (other(&self.rows), other(&self.columns));
        Some(Self { rows, columns, ambiguous: self.ambiguous, matrix: self.matrix.clone() })
    }

    /// The letters, in upper case; N for an ambiguous nucleotide.
    pub fn text(&self) -> Cow<'_, [u8]> {
        match &self.matrix {
            None => Cow::Borrowed(&self.columns),
            Some(matrix) => {
                let letter = |&number: &u8| matrix.symbols()[usize::from(number)];
                Cow::Owned(self.columns.iter().map(letter).collect())
            }
        }
    }

    /// The matrix whose letters they are; none of nucleotides.
    pub fn matrix(&self) -> Option<&Arc<Matrix>> {
        self.matrix.as_ref()
    }

    /// Number of letters.
    #[expect(clippy::len_without_is_empty, reason = "no sequence is empty")]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Number of ambiguous nucleotides, or of letters X.
    pub fn ambiguous(&self) -> usize {
        self.ambiguous
    }

    /// Whether all letters are `ACGT`.
    pub fn is_plain(&self) -> bool {
        self.ambiguous == 0
    }

    /// A number that two sequences share only by a rare accident: 64 bits of FNV-1a, and the length.
    pub(super) fn fingerprint(&self) -> String {
        let hash = self.rows.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &letter| {
            (hash ^ u64::from(letter)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{} {hash:016x}", self.rows.len())
    }

    /// As the inputs of rows.
    pub fn as_rows(&self) -> &[u8] {
        &self.rows
    }

    /// As the inputs of columns.
    pub fn as_columns(&self) -> &[u8] {
        &self.columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_either_case_and_u_are_read_and_others_named_with_their_position() {
        let sequence = Sequence::new("x", b"acgUn").unwrap();
        assert_eq!((sequence.as_rows(), sequence.as_columns()), (&b"ACGTn"[..], &b"ACGTN"[..]));
        assert_eq!((sequence.len(), sequence.ambiguous()), (5, 1));
        let error = Sequence::new("chr1", b"ACG*T").unwrap_err().to_string();
        assert!(error.contains("'*' at position 4 of sequence chr1"), "{error}");
        let error = Sequence::new("chr1", b"").unwrap_err().to_string();
        assert!(error.contains("chr1 is empty"), "{error}");
    }
}
