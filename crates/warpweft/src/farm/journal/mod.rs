//! What a farm has committed, in a folder: a run that was killed goes on from there.
//!
//! One writer, the clerk, appends frames; each carries the head of a SHA-256 over itself and the frame before,
//! so a file is right up to its first frame that does not chain, whatever a crash left after it (`frame`). What a
//! resumed run takes as done it writes anew before it appends (`open`). Of a task's side effects nothing is known
//! here: they may happen again, never after its output was committed.

mod frame;
mod header;
mod open;
mod write;

use std::path::PathBuf;

use crate::error::{Error, Result};

pub(super) use open::{Opened, open};
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
    /// that loses its power may lose this much.
    pub flush: Flush,
}

/// When outputs are brought to the disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Flush {
    /// Before a pack counts as committed.
    EveryPack,
    /// After a pack, if so many seconds have passed.
    Every(f64),
}

impl Default for Flush {
    fn default() -> Self {
        Self::Every(1.0)
    }
}

impl Flush {
    /// The most seconds between two times.
    fn seconds(self) -> Result<f64> {
        match self {
            Self::EveryPack => Ok(0.0),
            Self::Every(seconds) if seconds >= 0.0 && seconds.is_finite() => Ok(seconds),
            Self::Every(seconds) => Err(Error::spec(
                format!("a journal flushed every {seconds} seconds"),
                "give a time of 0 or more",
            )),
        }
    }
}
