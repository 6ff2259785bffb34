//! Records of files that are larger than memory: some at a time.

use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::fasta::{Form, Pieces, failed, opened, parse};
use super::record::Record;
use crate::errors::in_file;
use warpweft::error::Result;

/// Bytes of text that are read before records are told apart.
const PART: usize = 8 << 20;

/// The records of a file, in order, of which as many are in memory as are asked for at once, and some that follow.
///
/// Records of FASTQ take four lines.
pub struct Records {
    path: PathBuf,
    from: Box<dyn Read>,
    pieces: Pieces,
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
        let (text, records, pieces) = (Vec::new(), VecDeque::new(), Pieces::default());
        Ok(Self { path: path.into(), from, pieces, text, before: 0, ended: false, records })
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
            some.push(record);
        }
        Ok(some)
    }

    /// Puts records back that were taken last: they are taken again next.
    pub fn put_back(&mut self, records: Vec<Result<Record>>) {
        records.into_iter().rev().for_each(|record| self.records.push_front(record));
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
        // Blank lines at the end; a file of nothing else is an error.
        if text.trim_ascii().is_empty() && self.before > 0 {
            self.before += lines;
            return Ok(());
        }
        let records = parse(&text, Form::FourLines, self.before);
        let records = records.map_err(|error| in_file(&self.path, error))?;
        self.records.extend(
            records.into_iter().map(|record| record.map_err(|error| in_file(&self.path, error))),
        );
        self.before += lines;
        Ok(())
    }

    /// A piece of text more.
    fn read(&mut self) -> Result<()> {
        let failed = |error| failed(&self.path, error);
        let more = self.pieces.next(&mut self.from, &mut self.text, &failed);
        self.ended = !more.map_err(|error| in_file(&self.path, error))?;
        Ok(())
    }
}

/// Where the last record of `text` begins that is not its first: what comes before is whole.
fn boundary(text: &[u8]) -> Option<usize> {
    let marked = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let fastq = marked.trim_ascii_start().starts_with(b"@");
    // Comments and blank lines may come before it.
    let first = match fastq {
        true => text.iter().position(|&byte| byte == b'@')?,
        false if marked.starts_with(b">") => text.len() - marked.len(),
        false => text.windows(2).position(|two| two == b"\n>")? + 1,
    };
    let ends = text.iter().enumerate().skip(first).rev().filter(|(_, byte)| **byte == b'\n');
    let mut begins = ends.map(|(end, _)| end + 1);
    if !fastq {
        return begins.find(|&at| text.get(at) == Some(&b'>'));
    }
    // The begins of the three lines that follow, the nearest first.
    let mut after: VecDeque<usize> = VecDeque::new();
    for begin in begins {
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
        // Nothing but comments, blank lines or a byte-order mark comes before the only record.
        assert_eq!(boundary(b";c\n\n>a\nAC\n"), None);
        assert_eq!(boundary(b"\n@a\nAC\n+\nII\n"), None);
        assert_eq!(boundary(b"\xef\xbb\xbf@a\nAC\n+\nII\n@b\nAC\n+\nII\n"), Some(14));
        assert_eq!(boundary(b"\xef\xbb\xbf>a\nAC\n>b\n"), Some(9));
    }

    #[test]
    fn records_come_as_many_as_are_asked_for_with_their_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reads.fq");
        let one = |k: usize| format!("@r{k}\n{}\n+\n{}\n", "ACGT".repeat(k), "@III".repeat(k));
        std::fs::write(&path, (1..=5).map(one).collect::<String>()).unwrap();
        let mut records = Records::open(&path).unwrap();
        let mut names = Vec::new();
        let two = records.take(2, None).unwrap();
        records.put_back(two);
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
        std::fs::write(&path, format!("\n;about\n>long\n{long}\n{many}>last\n*\n")).unwrap();
        let mut records = Records::open(&path).unwrap();
        let first = records.take(1, None).unwrap().remove(0).unwrap();
        assert_eq!((&first.name[..], first.letters.len()), ("long", long.len()));
        let rest = records.take(usize::MAX, None).unwrap();
        assert_eq!(rest.len(), 40_001);
        let last = rest.last().unwrap().as_ref().unwrap();
        let error = last.sequence(None).unwrap_err().to_string();
        assert!(error.contains("sequence last, line 80006"), "{error}");
    }
}
