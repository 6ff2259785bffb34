//! What a farm has committed, in a folder: a run that was killed goes on from there.
//!
//! One writer, the committer, appends frames; each carries the head of a SHA-256 over itself and the frame before,
//! so a file is right up to its first frame that does not chain, whatever a crash left after it (`frame`). What a
//! resumed run takes as done it writes anew before it appends (`open`). Of a task's side effects nothing is known
//! here: they may happen again, never after its output was committed.

mod begin;
mod frame;
mod header;
mod open;
mod refused;
mod torn;
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
    /// The folder. It is created if it does not exist, but its parent must exist. Only one run at a time can use it.
    pub directory: PathBuf,
    /// A description that identifies the computation: the task, its parameters, its inputs. A run resumes only a journal with the
    /// same description.
    pub of: String,
    /// Whether to resume the journal in the folder; if false, the folder must not have a journal.
    pub resume: bool,
    /// When outputs are flushed to disk. If the process is killed, no output that reached the sink is lost, whatever this
    /// value. A power failure may lose the outputs of this time, plus those that arrived while the sink took one chunk's outputs.
    pub flush: Flush,
}

/// When outputs are brought to the disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Flush {
    /// Before a chunk counts as committed.
    EveryChunk,
    /// This many seconds after the first output that is not flushed yet.
    Every(f64),
}

impl Journal {
    /// Checks whether a run can write a journal to the folder at `path`, or resume the one there, as far as the folder alone
    /// shows. Call it before long preparations.
    ///
    /// # Errors
    /// The folder can't be written, or another run uses it; it has a journal, but `resume` is false; it has none, but
    /// `resume` is true.
    pub fn check(path: &Path, resume: bool) -> Result<()> {
        open::check(path, resume)
    }

    /// The tasks, out of `tasks` tasks with outputs of type `O`, that are complete in the journal; empty if `resume` is
    /// false. The journal is not changed. Takes time proportional to its size.
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
                    format!("`flush` of the journal is {seconds} seconds"),
                    "give a time of 0 or more, and below 1e19",
                )
            }),
        }
    }
}
