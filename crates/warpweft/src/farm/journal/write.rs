//! Appending to a journal: a frame a piece, brought to the disk every now and then.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::frame::{Link, end_of, frame};
use crate::error::{Error, Result};
use crate::grid::io::Claim;

/// What appends. An error is final: after one, nobody knows what the disk has (Linux may count pages whose
/// write failed as clean, so that a second attempt would seem to succeed).
pub struct Writer {
    file: File,
    path: PathBuf,
    link: Link,
    /// The most time between two syncs.
    every: Duration,
    synced: Instant,
    dirty: bool,
    _claim: Claim,
}

impl Writer {
    /// Appends to `file`, which ends in `link`.
    pub fn new(file: File, path: PathBuf, link: Link, every: Duration, claim: Claim) -> Self {
        Self { file, path, link, every, synced: Instant::now(), dirty: false, _claim: claim }
    }

    /// Appends the outputs of `tasks`.
    ///
    /// # Errors
    /// They can't be written, or be brought to the disk where that is due.
    pub fn append(&mut self, tasks: &Range<u64>, outputs: &[u8]) -> Result<()> {
        let frame = frame(tasks, outputs, &self.link);
        self.file.write_all(&frame).map_err(|error| self.failed(&error))?;
        self.link = end_of(&frame);
        self.dirty = true;
        match self.synced.elapsed() >= self.every {
            true => self.sync(),
            false => Ok(()),
        }
    }

    /// Brings what was appended to the disk.
    ///
    /// # Errors
    /// It can't be.
    pub fn sync(&mut self) -> Result<()> {
        if std::mem::take(&mut self.dirty) {
            self.file.sync_data().map_err(|error| self.failed(&error))?;
            self.synced = Instant::now();
        }
        Ok(())
    }

    fn failed(&self, error: &io::Error) -> Error {
        let what = format!("the journal can't be written: {error}");
        Error::file(&self.path, what, "make room, then go on from it with --resume")
    }
}
