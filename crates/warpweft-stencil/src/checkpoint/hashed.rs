//! Files with their checksum: written once or at their end only, and read in pieces, however long they are.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::format::FORMAT;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::io::{Input, hex, new_file, sync_folder, without_links};

/// Bytes of a piece at most: what a reader holds of a file.
const PIECE: u64 = 1 << 20;

/// How long a file is, or the begin of one that grows, and what is in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Sum {
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of its bytes.
    pub sha256: String,
}

/// A file that is being written.
pub(super) struct Writer {
    file: BufWriter<File>,
    hash: Sha256,
    bytes: u64,
}

impl Writer {
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = BufWriter::new(new_file().open(path)?);
        Ok(Self { file, hash: Sha256::new(), bytes: 0 })
    }

    pub fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        self.file.write_all(bytes)
    }

    /// Brings it to the disk.
    pub fn finish(mut self) -> io::Result<Sum> {
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        Ok(Sum { bytes: self.bytes, sha256: hex(&self.hash.finalize()) })
    }
}

/// A file that grows at its end: what was in it once stays.
#[derive(Debug)]
pub(super) struct Growing {
    path: PathBuf,
    hash: Sha256,
    bytes: u64,
}

impl Growing {
    /// An empty file, made by the first [`Growing::append`].
    pub fn new(path: PathBuf) -> Self {
        Self { path, hash: Sha256::new(), bytes: 0 }
    }

    /// Adds `bytes` and brings them to the disk: what is in the file now.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<Sum> {
        let mut file = without_links(File::options().write(true).create(true).truncate(false))
            .open(&self.path)?;
        if file.metadata()?.len() < self.bytes {
            return Err(io::Error::other("the file is shorter than what was written to it before"));
        }
        // What an append that failed has left.
        file.set_len(self.bytes)?;
        file.seek(SeekFrom::Start(self.bytes))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        if let (0, Some(folder)) = (self.bytes, self.path.parent()) {
            sync_folder(folder)?;
        }
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(Sum { bytes: self.bytes, sha256: hex(&self.hash.clone().finalize()) })
    }
}

/// A file that is being read, from its begin to its end.
pub(super) struct Reader<'a> {
    path: PathBuf,
    file: Input,
    sum: &'a Sum,
    hash: Sha256,
    read: u64,
    piece: Vec<u8>,
}

impl<'a> Reader<'a> {
    /// # Errors
    /// No such file, or one of another length than `sum` has.
    pub fn open(path: PathBuf, sum: &'a Sum) -> Result<Self> {
        Self::checked(path, sum, |bytes| bytes == sum.bytes)
    }

    /// The begin of a file that may have grown since.
    ///
    /// # Errors
    /// No such file, or a shorter one than `sum` has.
    pub fn begin_of(path: PathBuf, sum: &'a Sum) -> Result<Self> {
        Self::checked(path, sum, |bytes| bytes >= sum.bytes)
    }

    fn checked(path: PathBuf, sum: &'a Sum, fits: impl Fn(u64) -> bool) -> Result<Self> {
        let opened = Input::open_file(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (bytes, file) = opened.map_err(|error| damaged(&path, error))?;
        if !fits(bytes) {
            return Err(damaged(&path, format!("has {bytes} bytes of {}", sum.bytes)));
        }
        Ok(Self { path, file, sum, hash: Sha256::new(), read: 0, piece: Vec::new() })
    }

    /// The next piece, of `most` bytes or fewer; none once `most` is 0.
    ///
    /// # Errors
    /// The file can't be read so far.
    pub fn next(&mut self, most: u64) -> Result<Option<&[u8]>> {
        self.piece.resize(most.min(PIECE) as usize, 0);
        self.file.read_exact(&mut self.piece).map_err(|error| damaged(&self.path, error))?;
        self.hash.update(&self.piece);
        self.read += self.piece.len() as u64;
        Ok((most > 0).then_some(&self.piece))
    }

    /// Reads what is left.
    ///
    /// # Errors
    /// Another checksum than that of the [`Sum`].
    pub fn finish(mut self) -> Result<()> {
        while self.next(self.sum.bytes - self.read)?.is_some() {}
        match hex(&self.hash.clone().finalize()) == self.sum.sha256 {
            true => Ok(()),
            false => Err(damaged(&self.path, "its checksum is wrong")),
        }
    }
}

/// The error that passes a checkpoint over.
pub(super) fn damaged(path: &Path, what: impl ToString) -> Error {
    Error::file(path, what, FORMAT.hint)
}
