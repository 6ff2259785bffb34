//! Rows of blocks on disk, so that a long run that was killed goes on where it was.
//!
//! One file a row of blocks, `row-0003.edges`: what problem it belongs to, the best cell so far, the
//! row's edges, and a SHA-256 of all that. It is written under another name, synced and renamed: a
//! file of that name is whole, unless the disk damaged it, which the checksum shows.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::grid::BlockRow;
use crate::path::End;
use crate::recurrence::{Best, Ranked, Stored, Traced};
use crate::spec::{Band, Wavefront};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::io::{Claim, read_up_to, write_synced};

/// The first bytes of a file; the number is raised when the format changes.
const MAGIC: &[u8; 16] = b"warpweft edges 2";
/// Bytes of a sum.
const SUM: usize = 32;

/// Where a run saves its rows of blocks, and whether it goes on from those that are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The folder, made if it is not there, in one that is; a run has it to itself.
    pub directory: PathBuf,
    /// Whether to go on from what an earlier run left there, which must be something; otherwise there
    /// must be nothing.
    pub resume: bool,
    /// Tells the problem apart from others: the element's parameters, the border and the inputs.
    pub of: String,
}

/// Whether a run saved rows of blocks in `directory`, which need not be there.
///
/// # Errors
/// It can't be read.
pub fn holds_rows(directory: &Path) -> io::Result<bool> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        entries => entries?,
    };
    for entry in entries {
        if entry?.path().extension().is_some_and(|ending| ending == "edges") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The rows of blocks of one problem.
pub(super) struct Store {
    directory: PathBuf,
    identity: [u8; SUM],
    _claim: Claim,
}

impl Store {
    /// In the folder of `given`.
    ///
    /// # Errors
    /// A folder that can't be made or read, or that another run has; no rows of an earlier run to be resumed; some, if none is.
    pub fn open<E: Traced>(
        given: &Checkpoint,
        wavefront: &Wavefront<'_, E>,
        blocks: [usize; 2],
        end: End,
    ) -> Result<Self> {
        let Checkpoint { directory, resume, of } = given;
        let told = |error: io::Error| {
            Error::file(directory, error, "name a folder for checkpoints that can be written")
        };
        let rows = |directory| holds_rows(directory).map_err(told);
        if *resume && !rows(directory)? {
            return Err(Error::file(
                directory,
                "holds no checkpoint to resume",
                "begin without --resume (`resume: false`), or name the folder of the run that was stopped",
            ));
        }
        let claim = Claim::of(directory)?;
        if !*resume && rows(directory)? {
            return Err(Error::file(
                directory,
                "holds checkpoints of an earlier run",
                "go on from them with --resume (`resume: true`), or name another folder",
            ));
        }
        let what = (E::NAME, <E::Cell as Stored>::BYTES, wavefront.extents(), blocks, end, of);
        let band = wavefront.band.map(|Band { lower, upper, outside }| {
            let mut cell = Vec::new();
            outside.store(&mut cell);
            format!("{lower} to {upper}, outside {cell:?}")
        });
        let what = format!("{what:?}{}", band.unwrap_or_default());
        let identity = Sha256::digest(what).into();
        Ok(Self { directory: directory.clone(), identity, _claim: claim })
    }

    fn path(&self, row: usize) -> PathBuf {
        self.directory.join(name(row))
    }

    /// The row of blocks `row`, of `blocks` blocks over `rows` × `columns` cells; none if it is not
    /// there or damaged.
    ///
    /// # Errors
    /// It belongs to another problem, or can't be read.
    pub fn load<C: Ranked<Score: Stored> + Stored>(
        &self,
        row: usize,
        [rows, columns]: [usize; 2],
        blocks: usize,
    ) -> Result<Option<BlockRow<C>>> {
        let path = self.path(row);
        // Blocks' edges, and as much again.
        let cells = (rows as u64 + columns as u64).saturating_mul(64);
        let longest = (1 << 20) + cells.saturating_mul(size_of::<C>() as u64);
        let bytes = match read_up_to(&path, longest) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::file(path, error, "check the file and its folder")),
        };
        let Some(content) = bytes.len().checked_sub(SUM).map(|at| bytes.split_at(at)) else {
            return Ok(None);
        };
        let (content, sum) = content;
        if Sha256::digest(content)[..] != *sum {
            return Ok(None);
        }
        let mut reader = Reader(content);
        if reader.take(MAGIC.len()) != Some(MAGIC) || reader.take(SUM) != Some(&self.identity) {
            return Err(Error::file(
                path,
                "is a checkpoint of another problem, or of another version",
                "resume with the same sequences and weights, or name another folder",
            ));
        }
        Ok(reader.line([rows, columns], blocks))
    }

    /// Saves the row of blocks `row`.
    ///
    /// # Errors
    /// It can't be written.
    pub fn save<C: Ranked<Score: Stored> + Stored>(
        &self,
        row: usize,
        line: &BlockRow<C>,
    ) -> Result<()> {
        let mut bytes = [&MAGIC[..], &self.identity].concat();
        bytes.push(u8::from(line.best.is_some()));
        if let Some(Best { score, row, column }) = line.best {
            score.store(&mut bytes);
            (row as u64).store(&mut bytes);
            (column as u64).store(&mut bytes);
        }
        for cells in std::iter::once(&line.bottom).chain(&line.rights) {
            (cells.len() as u64).store(&mut bytes);
            cells.iter().for_each(|cell| cell.store(&mut bytes));
        }
        let sum = Sha256::digest(&bytes);
        bytes.extend(&sum[..]);
        write_synced(&self.directory, &name(row), &mut &bytes[..]).map_err(|error| {
            let what = format!("a checkpoint can't be written: {error}");
            Error::file(
                self.path(row),
                what,
                "free some disk space, then go on with --resume (`resume: true`)",
            )
        })
    }
}

/// The file of a row of blocks.
fn name(row: usize) -> String {
    format!("row-{row:04}.edges")
}

/// Bytes not yet read.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn value<T: Stored>(&mut self) -> Option<T> {
        self.take(T::BYTES).map(T::load)
    }

    fn cells<C: Stored>(&mut self) -> Option<Vec<C>> {
        let count = usize::try_from(self.value::<u64>()?).ok()?;
        let bytes = self.take(count.checked_mul(C::BYTES)?)?;
        Some(bytes.chunks_exact(C::BYTES).map(C::load).collect())
    }

    /// The rest, if it is what a row of so many blocks leaves behind.
    fn line<C: Ranked<Score: Stored> + Stored>(
        &mut self,
        [rows, columns]: [usize; 2],
        blocks: usize,
    ) -> Option<BlockRow<C>> {
        let best = match self.value::<u8>()? {
            0 => None,
            _ => {
                let score = self.value()?;
                let [row, column] = [self.value::<u64>()?, self.value::<u64>()?];
                Some(Best { score, row: row as usize, column: column as usize })
            }
        };
        let bottom: Vec<C> = self.cells()?;
        let mut rights = Vec::new();
        while !self.0.is_empty() {
            rights.push(self.cells()?);
        }
        // The last block of all may be left out.
        let whole = bottom.len() <= columns
            && rights.len() <= blocks
            && rights.iter().all(|right: &Vec<C>| right.len() == rows);
        whole.then_some(BlockRow { bottom, rights, best })
    }
}
