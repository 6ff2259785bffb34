//! What pairs of letters score, as a table: known ones of proteins and nucleotides, and those of files.

use std::path::Path;

use warpweft::error::{Error, Result};
use warpweft::grid::io::read_given_text;

use crate::errors::in_file;

/// Letters of an alphabet at most: what five bits tell apart.
pub const SYMBOLS: usize = 32;

/// An alphabet, and what each pair of its letters scores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    /// What it is called.
    name: String,
    /// The letters, in upper case.
    symbols: Vec<u8>,
    /// By the numbers of a letter of the query and one of the target; 0 beyond the alphabet.
    scores: [[i8; SYMBOLS]; SYMBOLS],
    /// The letter that stands for letters that the matrix lacks.
    unknown: Option<u8>,
    /// Where the letters are codes of nucleotides: by the number of each that of its complement.
    complements: Option<Vec<u8>>,
    /// A bit for the number of each letter that may be equal to another: of codes of nucleotides only of ACGT.
    definite: u32,
}

/// The matrices that have a name.
const KNOWN: [(&str, &str); 4] = [
    ("BLOSUM62", include_str!("matrices/blosum62.txt")),
    ("BLOSUM50", include_str!("matrices/blosum50.txt")),
    ("PAM250", include_str!("matrices/pam250.txt")),
    ("NUC44", include_str!("matrices/nuc44.txt")),
];

/// Nucleotides and their IUPAC codes, each with that of the other strand.
const STRANDS: &[[u8; 2]] =
    &[*b"AT", *b"CG", *b"RY", *b"KM", *b"BV", *b"DH", *b"SS", *b"WW", *b"NN"];

/// Letters of proteins that most matrices lack: selenocysteine, pyrrolysine, leucine or isoleucine.
const RARE: &[u8] = b"UOJ";

impl Matrix {
    /// The known one of this name, in letters of either case, or that of a file.
    ///
    /// # Errors
    /// A file that can't be read; as [`Matrix::parse`].
    pub fn named(name: &str) -> Result<Self> {
        let known = KNOWN.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        if let Some((name, text)) = known {
            return Self::parse(name, text);
        }
        let path = Path::new(name);
        let text = read_given_text(path).map_err(|error| {
            let names: Vec<_> = KNOWN.iter().map(|(name, _)| *name).collect();
            Error::file(path, error, format!("give {} or a file with a matrix", names.join(", ")))
        })?;
        Self::parse(name, &text).map_err(|error| in_file(path, error))
    }

    /// From text: a line with the letters of the target, then a line for each letter of the query, first the
    /// letter, then its scores. Lines that begin with `#` say nothing.
    ///
    /// # Errors
    /// No letters; one twice; a score that is none or takes more than 8 bits; a pair
    /// that is missing; each with its line.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let wrong = |line: usize, what: String| {
            let hint = "give a line of letters, then for each of them a line: the letter, then its score \
                        with each letter of the first line";
            Err(Error::spec(format!("line {line}: {what}"), hint))
        };
        let mut lines = (text.lines().enumerate())
            .map(|(number, line)| (number + 1, line.trim()))
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let Some((first, header)) = lines.next() else {
            return wrong(1, "no letters".into());
        };
        let mut symbols = Vec::new();
        for word in header.split_whitespace() {
            match letter(word) {
                Some(symbol) if !symbols.contains(&symbol) => symbols.push(symbol),
                Some(_) => return wrong(first, format!("letter {word} twice")),
                None => return wrong(first, format!("{word:?} is no letter of an alphabet")),
            }
        }
        let mut scores = [[0; SYMBOLS]; SYMBOLS];
        let mut seen = vec![false; symbols.len()];
        let mut last = first;
        for (number, line) in lines {
            last = number;
            let mut words = line.split_whitespace();
            let word = words.next().unwrap_or_default();
            let row = letter(word).and_then(|it| symbols.iter().position(|&known| known == it));
            let Some(row) = row else {
                return wrong(number, format!("{word:?} is no letter of the first line"));
            };
            if std::mem::replace(&mut seen[row], true) {
                return wrong(number, format!("a second line for letter {word}"));
            }
            let numbers: Vec<_> = words.collect();
            if numbers.len() != symbols.len() {
                let (given, wanted) = (numbers.len(), symbols.len());
                return wrong(number, format!("{given} scores for letter {word}, not {wanted}"));
            }
            for (column, number_text) in numbers.into_iter().enumerate() {
                let Ok(score) = number_text.parse::<i8>() else {
                    let pair = format!("{word} with {}", char::from(symbols[column]));
                    let what =
                        format!("score {number_text:?} of {pair} is not a number from -128 to 127");
                    return wrong(number, what);
                };
                scores[row][column] = score;
            }
        }
        if let Some(missing) = seen.iter().position(|seen| !seen) {
            let letter = char::from(symbols[missing]);
            return wrong(last, format!("no line for letter {letter} follows"));
        }
        let unknown = symbols.contains(&b'X').then_some(b'X');
        let complements = complements(&symbols);
        let is_definite = |letter: &u8| complements.is_none() || b"ACGT".contains(letter);
        let bit = |(number, letter)| u32::from(is_definite(letter)) << number;
        let definite = symbols.iter().enumerate().map(bit).sum();
        Ok(Self { name: name.into(), symbols, scores, unknown, complements, definite })
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The letters, in the order of their numbers.
    pub fn symbols(&self) -> &[u8] {
        &self.symbols
    }

    /// The number of a letter of either case, and whether it stands for one that the matrix lacks.
    pub fn number(&self, letter: u8) -> Option<(u8, bool)> {
        let letter = letter.to_ascii_uppercase();
        let of = |letter| self.symbols.iter().position(|&known| known == letter);
        let known = of(letter).map(|at| (at as u8, Some(letter) == self.unknown));
        let unknown = || {
            let rare = RARE.contains(&letter);
            self.unknown.filter(|_| rare).and_then(of).map(|at| (at as u8, true))
        };
        let uracil = || (letter == b'U' && self.complements.is_some()).then(|| of(b'T')).flatten();
        known.or_else(unknown).or_else(|| uracil().map(|at| (at as u8, false)))
    }

    /// By the number of each letter that of its complement, if all are codes of nucleotides whose complements it has too.
    pub fn complements(&self) -> Option<&[u8]> {
        self.complements.as_deref()
    }

    /// A bit for the number of each letter of which two are a match: of nucleotides those of ACGT, as the `NM` of SAM
    /// counts matches; of other alphabets those of all letters.
    pub fn definite(&self) -> u32 {
        self.definite
    }

    /// The scores, by the numbers of a letter of the query and one of the target.
    pub fn scores(&self) -> &[[i8; SYMBOLS]; SYMBOLS] {
        &self.scores
    }

    /// The least and the greatest score.
    pub fn range(&self) -> [i32; 2] {
        let count = self.symbols.len();
        let all = || self.scores[..count].iter().flat_map(|row| &row[..count]).copied();
        [all().min(), all().max()].map(|score| score.unwrap_or_default().into())
    }
}

/// By the number of each of `symbols` that of its complement, if all are codes of nucleotides whose complements are there.
fn complements(symbols: &[u8]) -> Option<Vec<u8>> {
    let other = |letter: u8| {
        STRANDS.iter().find_map(|&[a, b]| match letter {
            letter if letter == a => Some(b),
            letter if letter == b => Some(a),
            _ => None,
        })
    };
    let of = |&letter: &u8| {
        let other = other(letter)?;
        symbols.iter().position(|&known| known == other).map(|at| at as u8)
    };
    symbols.iter().map(of).collect()
}

/// The letter that `word` is, in upper case.
fn letter(word: &str) -> Option<u8> {
    let &[letter] = word.as_bytes() else { return None };
    let letter = letter.to_ascii_uppercase();
    (letter.is_ascii_uppercase() || letter == b'*').then_some(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What papers print of them, and that they are symmetric.
    #[test]
    fn known_matrices_have_their_published_scores() {
        let score = |name, a, b| {
            let matrix = Matrix::named(name).unwrap();
            let of = |letter| usize::from(matrix.number(letter).unwrap().0);
            i32::from(matrix.scores()[of(a)][of(b)])
        };
        let cases = [
            ("BLOSUM62", b'W', b'W', 11),
            ("blosum62", b'c', b'a', 0),
            ("BLOSUM62", b'I', b'V', 3),
            ("BLOSUM50", b'W', b'W', 15),
            ("BLOSUM50", b'H', b'H', 10),
            ("PAM250", b'W', b'W', 17),
            ("PAM250", b'C', b'C', 12),
            ("PAM250", b'W', b'C', -8),
            ("NUC44", b'A', b'A', 5),
            ("NUC44", b'A', b'G', -4),
            ("NUC44", b'N', b'U', -2),
            ("nuc44", b'R', b'G', 1),
            ("NUC44", b'S', b'W', -4),
        ];
        for (name, a, b, expected) in cases {
            assert_eq!(score(name, a, b), expected, "{name} {a} {b}");
            assert_eq!(score(name, b, a), expected, "{name} {b} {a}");
        }
    }

    /// By sets of bases: a code's complement stands for the complements; scores are the same on both strands.
    #[test]
    fn complements_of_codes_stand_for_complementary_bases() {
        let matrix = Matrix::named("NUC44").unwrap();
        let complements = matrix.complements().unwrap();
        let bases = |letter: u8| -> &[u8] {
            match letter {
                b'R' => b"AG",
                b'Y' => b"CT",
                b'S' => b"CG",
                b'W' => b"AT",
                b'K' => b"GT",
                b'M' => b"AC",
                b'B' => b"CGT",
                b'D' => b"AGT",
                b'H' => b"ACT",
                b'V' => b"ACG",
                b'N' => b"ACGT",
                b'A' => b"A",
                b'C' => b"C",
                b'G' => b"G",
                _ => b"T",
            }
        };
        let other = |base: &u8| match base {
            b'A' => b'T',
            b'C' => b'G',
            b'G' => b'C',
            _ => b'A',
        };
        let symbols = matrix.symbols();
        for (a, &letter) in symbols.iter().enumerate() {
            let mut expected: Vec<_> = bases(letter).iter().map(other).collect();
            expected.sort_unstable();
            let a_too = usize::from(complements[a]);
            assert_eq!(bases(symbols[a_too]), expected, "{letter}");
            for b in 0..symbols.len() {
                let b_too = usize::from(complements[b]);
                assert_eq!(matrix.scores()[a][b], matrix.scores()[b][a]);
                assert_eq!(matrix.scores()[a][b], matrix.scores()[a_too][b_too]);
            }
        }
        assert_eq!(Matrix::named("BLOSUM62").unwrap().complements(), None);
        assert_eq!(Matrix::named("BLOSUM62").unwrap().number(b'U'), Some((22, true)));
    }

    #[test]
    fn what_is_wrong_with_a_matrix_is_told_with_its_line() {
        let error = |text: &str| Matrix::parse("m", text).unwrap_err().to_string();
        let good = "# two letters\n  A C\nA 5 -4\nC -4 5\n";
        assert_eq!(Matrix::parse("m", good).unwrap().range(), [-4, 5]);
        for (text, what) in [
            ("", "line 1: no letters"),
            ("A C A\n", "line 1: letter A twice"),
            ("A 12\n", "line 1: \"12\" is no letter"),
            ("A C\nA 5 -4\n", "line 2: no line for letter C follows"),
            ("A C\nA 5\nC 1 2\n", "line 2: 1 scores for letter A, not 2"),
            ("A C\nA 5 1\nA 5 1\n", "line 3: a second line for letter A"),
            ("A C\nA 5 1\nG 5 1\n", "line 3: \"G\" is no letter of the first line"),
            ("A C\nA 5 1.5\n", "line 2: score \"1.5\" of A with C is not a number"),
            (
                "A C\nA 5 200\n",
                "line 2: score \"200\" of A with C is not a number from -128 to 127",
            ),
        ] {
            assert!(error(text).contains(what), "{text:?}: {}", error(text));
        }
    }
}
