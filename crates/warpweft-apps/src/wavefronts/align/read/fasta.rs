//! FASTA and FASTQ files, plain or gzip, with any number of records.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::fastq;
use super::lines::Lines;
use super::record::{ROOM, Record};
use crate::errors::in_file;
use crate::gzip;
use warpweft::error::{Error, Result};
use warpweft::grid::io::Input;
use warpweft::memory::{check_room, grow};

/// The records of a file, in order; of standard input for `-`. Compression is told by the file's first bytes, not its name.
///
/// # Errors
/// A file that can't be read or is cut short, that doesn't begin with a header, has a record without a
/// name, another number of qualities than of letters, or no records.
pub fn read(path: &Path) -> Result<Vec<Record>> {
    let records = text(path).and_then(|text| parse(&text, Form::Any, 0));
    records.and_then(|records| records.into_iter().collect()).map_err(|error| in_file(path, error))
}

/// The same, with what is wrong in place of each record that is none, so that one can go on without. Records of FASTQ
/// take four lines.
///
/// # Errors
/// As [`read`], but for records without a name and those with another number of qualities than of letters.
pub fn read_each(path: &Path) -> Result<Vec<Result<Record>>> {
    let records = text(path).and_then(|text| parse(&text, Form::FourLines, 0));
    let records = records.map_err(|error| in_file(path, error))?;
    Ok(records.into_iter().map(|one| one.map_err(|error| in_file(path, error))).collect())
}

/// All text of a file.
fn text(path: &Path) -> Result<Vec<u8>> {
    text_of(&mut *opened(path)?, &|error| failed(path, error))
}

/// What a file that can't be read is told to do.
pub(super) fn failed(path: &Path, error: std::io::Error) -> Error {
    let hint = match error.kind() {
        std::io::ErrorKind::NotFound => "check the path",
        std::io::ErrorKind::OutOfMemory => ROOM,
        _ => "check that the file is complete FASTA or FASTQ text, plain or gzip",
    };
    Error::file(path, error, hint)
}

/// The text of a file, of standard input for `-`, whether it is compressed or not.
pub(super) fn opened(path: &Path) -> Result<Box<dyn BufRead>> {
    let failed = |error| failed(path, error);
    let file: Box<dyn BufRead> = match path.to_str() {
        Some("-") => Box::new(std::io::stdin().lock()),
        _ => Box::new(BufReader::new(Input::open(path).map_err(failed)?)),
    };
    gzip::plain(file).map_err(failed)
}

/// How records of FASTQ may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Letters and qualities on any number of lines.
    Any,
    /// On one line each, so that a bad record hides none behind it.
    FourLines,
}

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;
/// Bytes in a row that hold no letter, at most: compressed, they take no room in a file.
const BLANK: usize = 16 << 20;

/// All that `from` has, as long as it can be a FASTA file and memory holds it.
fn text_of(from: &mut dyn Read, failed: &dyn Fn(std::io::Error) -> Error) -> Result<Vec<u8>> {
    let (mut text, mut pieces) = (Vec::new(), Pieces::default());
    while pieces.next(from, &mut text, failed)? {}
    Ok(text)
}

/// A file's text, piece by piece.
#[derive(Default)]
pub(super) struct Pieces {
    /// Bytes that were read, and those of them since the last piece with a letter.
    read: usize,
    blank: usize,
}

impl Pieces {
    /// Adds a piece of `from` to `text`; whether there was one.
    ///
    /// # Errors
    /// A piece that can't be read or that is no text, too many blank lines, or too little memory.
    pub fn next(
        &mut self,
        from: &mut dyn Read,
        text: &mut Vec<u8>,
        failed: &dyn Fn(std::io::Error) -> Error,
    ) -> Result<bool> {
        if text.capacity() - text.len() < PIECE {
            // It will be twice as large for a while.
            check_room(2 * text.capacity() as u64, ROOM)?;
            grow(text, PIECE, ROOM)?;
        }
        let before = text.len();
        let read = Read::take(from, PIECE as u64).read_to_end(text).map_err(failed)?;
        let piece = &text[before..];
        let hint = "give FASTA or FASTQ text, plain or gzip";
        if let Some(at) = piece.iter().position(|&byte| byte == 0) {
            let what = format!("byte {} is 0, which is no text", self.read + at + 1);
            return Err(Error::spec(what, hint));
        }
        self.read += read;
        self.blank = if piece.trim_ascii().is_empty() { self.blank + read } else { 0 };
        if self.blank > BLANK {
            let what = format!("{} MiB of blank lines in a row", BLANK >> 20);
            return Err(Error::spec(what, hint));
        }
        Ok(read > 0)
    }
}

/// The records of `text`, which may begin with a byte-order mark; lines end in `\n`, `\r\n`, or, if there
/// is no `\n`, in `\r`. There are `before` lines before it.
pub(super) fn parse(text: &[u8], form: Form, before: usize) -> Result<Vec<Result<Record>>> {
    let wrong = |what: String| {
        Error::spec(
            what,
            "give FASTA or FASTQ: lines of letters, each record after a line `>name` or `@name`",
        )
    };
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let end = if text.contains(&b'\n') { b'\n' } else { b'\r' };
    let lines = || text.split(move |&byte| byte == end);
    if lines()
        .map(<[u8]>::trim_ascii)
        .find(|line| !line.is_empty())
        .is_some_and(|line| line[0] == b'@')
    {
        return match form {
            Form::Any => Ok(fastq::parse(lines())?.into_iter().map(Ok).collect()),
            Form::FourLines => Ok(fastq::four_lines(before, &lines().collect::<Vec<_>>())),
        };
    }
    let mut records: Vec<Result<Record>> = Vec::new();
    for (number, line) in (before..).zip(lines()) {
        let line = line.trim_ascii();
        if let Some(header) = line.strip_prefix(b">") {
            let name = header.split(u8::is_ascii_whitespace).next().unwrap_or_default();
            if name.is_empty() {
                let what = format!("line {}: a record without a name", number + 1);
                records.push(Err(wrong(what)));
                continue;
            }
            let name = String::from_utf8_lossy(name).into_owned();
            let lines = Lines::default();
            records.push(Ok(Record { name, letters: Vec::new(), quality: None, lines }));
        } else if let Some(Ok(record)) = records.last_mut() {
            grow(&mut record.letters, line.len(), ROOM)?;
            let known = record.letters.len();
            record.letters.extend(line.iter().filter(|byte| !byte.is_ascii_whitespace()));
            record.lines.add(number + 1, known, record.letters.len() - known);
        } else if records.is_empty() && !line.is_empty() && !line.starts_with(b";") {
            return Err(wrong(format!("line {} comes before any header", number + 1)));
        }
    }
    match records.is_empty() {
        true => Err(wrong("no records".into())),
        false => Ok(records),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &[u8]) -> Result<Vec<Record>> {
        parse(text, Form::Any, 0)?.into_iter().collect()
    }

    #[test]
    fn records_are_told_apart_whatever_the_line_ends() {
        let records = whole(b"\xef\xbb\xbf>a one\r\nAC GT\r\n\r\nTT\n>b\n>c\nG").unwrap();
        let names: Vec<_> = records.iter().map(|record| record.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(records[0].letters, b"ACGTTT");
        assert_eq!(records[1].letters, b"");
        assert_eq!(records[2].letters, b"G");
        let records = whole(b">a\rAC\rGT\r>b\rG").unwrap();
        assert_eq!((records[0].letters.as_slice(), records.len()), (&b"ACGT"[..], 2));
        assert!(whole(b"\nACGT\n>a\n").unwrap_err().to_string().contains("line 2"));
        assert!(
            whole(b">a\nAC\n> b\nGT\n")
                .unwrap_err()
                .to_string()
                .contains("line 3: a record without")
        );
        assert!(whole(b"").unwrap_err().to_string().contains("no records"));
    }

    #[test]
    fn a_wrong_letter_is_named_with_its_line() {
        let records = whole(b">a\nACGT\nAC\n\nA*\n").unwrap();
        let error = records[0].sequence(None).unwrap_err().to_string();
        assert!(error.contains("'*' at position 8 of sequence a, line 5"), "{error}");
    }

    #[test]
    fn records_that_are_none_stand_between_the_others() {
        let of = |text: &[u8]| {
            let name = |record: &Result<Record>| record.as_ref().map(|one| one.name.clone()).ok();
            parse(text, Form::FourLines, 0).unwrap().iter().map(name).collect::<Vec<_>>()
        };
        let [a, b] = ["a", "b"].map(|name| Some(name.to_string()));
        assert_eq!(of(b">a\nAC\n>\nGT\n>b\nA"), [a.clone(), None, b.clone()]);
        let text = b"@a\nACGT\n+\nIIII\n@x\nACGT\n+\nII\n@b\nAC\n+\n@@\n";
        assert_eq!(of(text), [a, None, b]);
    }
}
