//! Appending to a journal: a frame a piece, brought to the disk every now and then.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use super::frame::{Link, end_of, frame};
use super::refused::refused;
use crate::report::Failed;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::io::{Claim, without_links};

/// A file on a disk, or one of a test's.
pub trait Disk: Write + Send + Sync {
    /// Returns when what was written is on the disk.
    fn sync(&mut self) -> io::Result<()>;
}

impl Disk for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// What appends. An error is final: after one, it is unknown what the disk has (Linux may count pages whose
/// write failed as clean, so that a second attempt would seem to succeed).
pub struct Writer {
    file: Box<dyn Disk>,
    path: PathBuf,
    link: Link,
    /// The most time that a frame waits for the disk.
    every: Duration,
    /// When the first of those that wait was written.
    waiting: Option<Instant>,
    /// The list of tasks that failed, once there is one.
    quarantine: Option<File>,
    _claim: Claim,
}

impl Writer {
    /// Appends to `file`, which ends in `link`.
    pub fn new(
        file: Box<dyn Disk>,
        path: PathBuf,
        link: Link,
        every: Duration,
        claim: Claim,
    ) -> Self {
        Self { file, path, link, every, waiting: None, quarantine: None, _claim: claim }
    }

    /// Appends the outputs of `tasks`.
    ///
    /// # Errors
    /// They can't be written, or be brought to the disk where that is due.
    pub fn append(&mut self, tasks: &Range<u64>, outputs: &[u8]) -> Result<()> {
        let frame = frame(tasks, outputs, &self.link);
        self.file.write_all(&frame).map_err(|error| self.failed(&self.path, &error))?;
        self.link = end_of(&frame);
        self.waiting.get_or_insert_with(Instant::now);
        self.sync_if_due()
    }

    /// Appends a task that failed for good to the file `quarantine`, a line of JSON each: number, input, reason, worker
    /// and attempts. A run that goes on from the journal tries it again.
    ///
    /// # Errors
    /// It can't be written.
    pub fn quarantine(&mut self, failed: &Failed) -> Result<()> {
        let path = self.path.with_file_name("quarantine");
        let Failed { task, worker, what, input, attempts } = failed;
        let line = json!({
            "task": task, "input": input, "error": what, "worker": worker.to_string(),
            "attempts": attempts
        });
        let write = |file: &mut File| writeln!(file, "{line}");
        if self.quarantine.is_none() {
            if path.symlink_metadata().is_ok_and(|known| !known.is_file()) {
                let hint = "remove it, then continue with --resume";
                return Err(Error::file(path, "is not a regular file", hint));
            }
            let file = without_links(File::options().create(true).append(true)).open(&path);
            self.quarantine = Some(file.map_err(|error| self.failed(&path, &error))?);
        }
        self.quarantine.as_mut().map_or(Ok(()), write).map_err(|error| self.failed(&path, &error))
    }

    /// Brings what was appended to the disk, if something waits for long enough.
    ///
    /// # Errors
    /// It can't be.
    pub fn sync_if_due(&mut self) -> Result<()> {
        match self.waiting.is_some_and(|since| since.elapsed() >= self.every) {
            true => self.sync(),
            false => Ok(()),
        }
    }

    /// Brings what was appended to the disk.
    ///
    /// # Errors
    /// It can't be.
    pub fn sync(&mut self) -> Result<()> {
        match self.waiting.take() {
            Some(_) => self.file.sync().map_err(|error| self.failed(&self.path, &error)),
            None => Ok(()),
        }
    }

    fn failed(&self, path: &Path, error: &io::Error) -> Error {
        let room = "free disk space, then continue with --resume";
        refused(path, "the journal can't be written", error, room)
    }
}
