//! Sequences of DNA letters, checked.

use warpweft::error::{Error, Result};
use warpweft::memory::room;

/// A checked sequence, in the two encodings of rows and columns.
///
/// Ambiguous letters (`N`, `R`, ..) match nothing, themselves included: they have one code in rows
/// and another in columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    rows: Vec<u8>,
    columns: Vec<u8>,
    ambiguous: usize,
}

impl Sequence {
    /// Letters of either case; `U` is `T`. `name` is what errors call the sequence.
    ///
    /// # Errors
    /// No letters; a character that is no IUPAC code of a nucleotide, with its position from 1; too
    /// little memory.
    pub fn new(name: &str, text: &[u8]) -> Result<Self> {
        const HINT: &str = "align shorter sequences, or fewer at a time";
        if text.is_empty() {
            return Err(Error::spec(
                format!("sequence {name} is empty"),
                "give at least one letter",
            ));
        }
        let mut sequence =
            Self { rows: room(text.len(), HINT)?, columns: room(text.len(), HINT)?, ambiguous: 0 };
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
                        format!(
                            "character {:?} at position {} of sequence {name}",
                            char::from(letter),
                            at + 1
                        ),
                        "use the nucleotide letters ACGTU and the IUPAC codes RYSWKMBDHVN",
                    ));
                }
            };
            sequence.rows.push(row);
            sequence.columns.push(column);
        }
        Ok(sequence)
    }

    /// Number of letters.
    #[expect(clippy::len_without_is_empty, reason = "no sequence is empty")]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Number of ambiguous letters.
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
