//! A file's lines, of bounded length.

use std::borrow::Cow;
use std::io::{BufRead, Read};

use warpweft::error::Error;

/// Bytes of the longest line, its end among them: what never ends a line is no graph, and would fill memory.
const LONGEST: u64 = 64 << 10;

/// Bytes of blank lines in a row, at most: compressed, they take no room in a file.
const BLANK: u64 = 16 << 20;

/// What keeps a graph from being read.
pub enum Wrong {
    Text(String),
    Read(std::io::Error),
    Other(Error),
}

/// The lines that are not blank, one at a time.
pub struct Lines {
    file: Box<dyn BufRead>,
    line: Vec<u8>,
    number: u64,
}

impl Lines {
    /// Of `file`, before the first one.
    pub fn of(file: Box<dyn BufRead>) -> Self {
        Self { file, line: Vec::new(), number: 0 }
    }

    /// Goes on to the next line; `false` after the last.
    ///
    /// # Errors
    /// The file's; a line that is too long.
    pub fn next(&mut self) -> Result<bool, Wrong> {
        let mut blank = 0;
        loop {
            self.line.clear();
            self.number += 1;
            let mut rest = self.file.by_ref().take(LONGEST + 1);
            let read = rest.read_until(b'\n', &mut self.line).map_err(Wrong::Read)?;
            if read as u64 > LONGEST {
                let what = format!("line {} is longer than {} KiB", self.number, LONGEST >> 10);
                return Err(Wrong::Text(what));
            }
            blank += read as u64;
            if blank > BLANK {
                let what =
                    format!("line {} follows {} MiB of blank lines", self.number, BLANK >> 20);
                return Err(Wrong::Text(what));
            }
            if read == 0 || !self.line.trim_ascii().is_empty() {
                return Ok(read > 0);
            }
        }
    }

    /// The line, without blanks around it. Bytes that are no text, which old comments have, are replaced.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.line.trim_ascii())
    }

    /// What is wrong with the line.
    pub fn wrong(&self, what: &str) -> Wrong {
        Wrong::Text(format!("line {}: {what}", self.number))
    }
}
