//! What a farm has committed, in a folder: a run that was killed goes on from there.
//!
//! One writer, the committer, appends frames; each carries the head of a SHA-256 over itself and the frame before,
//! so a file is right up to its first frame that does not chain, whatever a crash left after it (`frame`). What a
//! resumed run takes as done it writes anew before it appends (`open`). Of a task's side effects nothing is known
//! here: they may happen again, never after its output was committed.

mod frame;
mod header;
mod open;
mod write;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::schedule::ranges::Ranges;
use warpweft_core::element::Packed;
use warpweft_core::error::{Error, Result};

pub(super) use header::Work;
pub(super) use open::{Opened, open};
#[cfg(all(test, not(loom)))]
pub(super) use write::Disk;
pub(super) use write::Writer;

/// Where a farm keeps its outputs, and whether it goes on from there.
#[derive(Clone, Debug, PartialEq)]
pub struct Journal {
    /// The folder, made if it is not there, in one that is; a run has it to itself.
    pub directory: PathBuf,
    /// What is done, in words that tell it from all else: the task, its parameters, its inputs. A run goes on
    /// from none but its own.
    pub of: String,
    /// Whether to go on from what is there; otherwise there must be none.
    pub resume: bool,
    /// When outputs are brought to the disk. A killed process loses nothing that was handed over, whichever it is; a machine
    /// that loses its power may lose this much, and what came while the sink took one chunk's outputs.
    pub flush: Flush,
}

/// When outputs are brought to the disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Flush {
    /// Before a chunk counts as committed.
    EveryChunk,
    /// So many seconds after the first that was not yet.
    Every(f64),
}

impl Journal {
    /// Whether a run can keep its outputs in the folder at `path`, or go on from what is there, as far as the folder
    /// alone tells: before hours of reading rather than after.
    ///
    /// # Errors
    /// It can't be written, or another run has it; there is a journal, and none is to be resumed; there is none,
    /// and one is.
    pub fn check(path: &Path, resume: bool) -> Result<()> {
        open::check(path, resume)
    }

    /// The tasks, of so many with outputs of `O`, that a run which goes on from the journal finds done; none where it
    /// does not resume one. Nothing is changed. O(its bytes).
    ///
    /// # Errors
    /// As [`Journal::check`]; a journal of another run; one that can't be read.
    pub fn done<O: Packed>(&self, tasks: u64) -> Result<Ranges> {
        open::done(self, tasks, O::form())
    }
}

impl Default for Flush {
    fn default() -> Self {
        Self::Every(1.0)
    }
}

impl Flush {
    /// The most time that what was written waits for the disk.
    fn most(self) -> Result<Duration> {
        match self {
            Self::EveryChunk => Ok(Duration::ZERO),
            Self::Every(seconds) => Duration::try_from_secs_f64(seconds).map_err(|_| {
                Error::spec(
                    format!("a journal flushed every {seconds} seconds"),
                    "give a time of 0 or more, and below 1e19",
                )
            }),
        }
    }
}
