//! Records of files that are larger than memory: some at a time.

use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::fasta::{Form, failed, in_file, opened, parse};
use super::record::Record;
use warpweft::error::{Error, Result};
use warpweft::memory::grow;

/// Bytes of text that are read before records are told apart.
const PART: usize = 8 << 20;
/// Bytes that are read at once.
const PIECE: usize = 1 << 20;

/// The records of a file, in order, of which as many are in memory as are asked for at once, and some that follow.
///
/// Records of FASTQ take four lines.
pub struct Records {
    path: PathBuf,
    from: Box<dyn Read>,
    /// Text that was read and belongs to no record yet, and the number of lines before it.
    text: Vec<u8>,
    before: usize,
    ended: bool,
    records: VecDeque<Result<Record>>,
}

impl Records {
    /// Those of `path`, of standard input for `-`; plain or gzip.
    ///
    /// # Errors
    /// A file that can't be opened.
    pub fn open(path: &Path) -> Result<Self> {
        let from = opened(path)?;
        let (text, records) = (Vec::new(), VecDeque::new());
        Ok(Self { path: path.into(), from, text, before: 0, ended: false, records })
    }

    /// The next `most` records, fewer at the end of the file: what is wrong stands in place of one that is none. No more
    /// once they have `letters` letters, if that is given.
    ///
    /// # Errors
    /// A file that can't be read or that is neither FASTA nor FASTQ.
    pub fn take(&mut self, most: usize, letters: Option<usize>) -> Result<Vec<Result<Record>>> {
        let (mut some, mut taken) = (Vec::new(), 0);
        while some.len() < most && letters.is_none_or(|letters| taken < letters) {
            let Some(record) = self.records.pop_front() else {
                if self.ended {
                    break;
                }
                self.fill()?;
                continue;
            };
            taken += record.as_ref().map_or(0, |record| record.letters.len());
            some.push(record.map_err(|error| in_file(&self.path, error)));
        }
        Ok(some)
    }

    /// Reads until there are whole records, or the file ends.
    fn fill(&mut self) -> Result<()> {
        let mut goal = PART;
        let cut = loop {
            while self.text.len() < goal && !self.ended {
                self.read()?;
            }
            match (self.ended, boundary(&self.text)) {
                (true, _) => break self.text.len(),
                (false, Some(cut)) => break cut,
                // A record that is longer.
                (false, None) => goal *= 2,
            }
        };
        let rest = self.text.split_off(cut);
        let text = std::mem::replace(&mut self.text, rest);
        let lines = text.iter().filter(|&&byte| byte == b'\n').count();
        if self.before > 0 && text.trim_ascii().is_empty() {
            self.before += lines;
            return Ok(());
        }
        let records = parse(&text, Form::FourLines, self.before);
        self.records.extend(records.map_err(|error| in_file(&self.path, error))?);
        self.before += lines;
        Ok(())
    }

    /// A piece of text more.
    fn read(&mut self) -> Result<()> {
        let before = self.text.len();
        grow(&mut self.text, PIECE, "align shorter sequences")?;
        let mut piece = Read::take(&mut *self.from, PIECE as u64);
        let read = piece.read_to_end(&mut self.text).map_err(|error| failed(&self.path, error))?;
        self.ended = read == 0;
        match self.text[before..].contains(&0) {
            true => Err(in_file(
                &self.path,
                Error::spec("a byte that is 0 is no text", "give FASTA or FASTQ text"),
            )),
            false => Ok(()),
        }
    }
}

/// Where the last record of `text` begins that is not its first: what comes before is whole.
fn boundary(text: &[u8]) -> Option<usize> {
    let fastq = text.trim_ascii_start().starts_with(b"@");
    let mut ends = text.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    if !fastq {
        let begins = |at: usize| text.get(at + 1) == Some(&b'>') && at > 0;
        return ends.map(|(at, _)| at).find(|&at| begins(at)).map(|at| at + 1);
    }
    // The begins of the three lines that follow, the nearest first.
    let mut after: VecDeque<usize> = VecDeque::new();
    for (end, _) in &mut ends {
        let begin = end + 1;
        // A quality may begin with `@`; two lines below its line are letters.
        if text.get(begin) == Some(&b'@')
            && after.get(1).is_some_and(|&at| text.get(at) == Some(&b'+'))
        {
            return Some(begin);
        }
        after.push_front(begin);
        after.truncate(3);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_before_its_last_record() {
        assert_eq!(boundary(b">a\nAC\n>b\nGT\n"), Some(6));
        assert_eq!(boundary(b">a\nAC\nGT"), None);
        // The quality of b begins with `@`, too.
        let text = b"@a\nAC\n+\nII\n@b\nGT\n+\n@+\n@c\nA";
        assert_eq!(boundary(text), Some(11));
        assert_eq!(boundary(b"@a\nAC\n+\n@I\n"), None);
    }

    #[test]
    fn records_come_as_many_as_are_asked_for_with_their_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reads.fq");
        let one = |k: usize| format!("@r{k}\n{}\n+\n{}\n", "ACGT".repeat(k), "@III".repeat(k));
        std::fs::write(&path, (1..=5).map(one).collect::<String>()).unwrap();
        let mut records = Records::open(&path).unwrap();
        let mut names = Vec::new();
        for (most, letters, count) in [(2, None, 2), (9, Some(13), 2), (9, None, 1), (9, None, 0)] {
            let some = records.take(most, letters).unwrap();
            assert_eq!(some.len(), count, "{most} {letters:?}");
            names.extend(some.into_iter().map(|record| record.unwrap().name));
        }
        assert_eq!(names, ["r1", "r2", "r3", "r4", "r5"]);
        std::fs::write(&path, ">a\nAC\n>b\nA*\n").unwrap();
        let some = Records::open(&path).unwrap().take(9, None).unwrap();
        let error = some[1].as_ref().unwrap().sequence(None).unwrap_err().to_string();
        assert!(error.contains("sequence b, line 4"), "{error}");
        std::fs::write(&path, "AC\n").unwrap();
        let error = Records::open(&path).unwrap().take(1, None).unwrap_err().to_string();
        assert!(error.contains("reads.fq") && error.contains("before any header"), "{error}");
    }

    /// Longer than what is read at once: a record, a line, and many records.
    #[test]
    fn long_files_are_cut_between_records() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long.fa");
        let long = "ACGT".repeat(PART / 3);
        let many: String = (0..40_000).map(|k| format!(">s{k}\nACGTACGT\n")).collect();
        std::fs::write(&path, format!(">long\n{long}\n{many}>last\n*\n")).unwrap();
        let mut records = Records::open(&path).unwrap();
        let first = records.take(1, None).unwrap().remove(0).unwrap();
        assert_eq!((&first.name[..], first.letters.len()), ("long", long.len()));
        let rest = records.take(usize::MAX, None).unwrap();
        assert_eq!(rest.len(), 40_001);
        let last = rest.last().unwrap().as_ref().unwrap();
        let error = last.sequence(None).unwrap_err().to_string();
        assert!(error.contains("sequence last, line 80004"), "{error}");
    }
}
