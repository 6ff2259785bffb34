//! What a checkpoint says of itself.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::format::{FORMAT, numbered};
use super::hashed::{Sum, damaged};
use super::probes::ProbesFile;
use crate::spec::identity::Part;
use warpweft_core::element::ScalarKind;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::io::read_small_text;

/// Its name in the folder.
pub(super) const NAME: &str = "manifest";

/// What names of parts' files begin with; a number follows.
pub(super) const PART: &str = "part-";

/// A checkpoint's contents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// [`FORMAT`] of the version that wrote it.
    pub version: u32,
    /// The program's version, for people.
    pub program: String,
    /// The computation, as [`crate::Spec::identity`] tells it.
    pub of: String,
    /// What it is of, as [`crate::Spec::parts`] tells it.
    pub computed: Vec<Part>,
    /// The fingerprint of the state that it began from.
    pub start: String,
    /// Extents of the volume.
    pub extents: Vec<usize>,
    /// Names and scalars of the fields.
    pub fields: Vec<(String, ScalarKind)>,
    /// Steps done.
    pub step: u64,
    /// The bits of the last residual: JSON knows no infinities.
    pub residual: Option<u64>,
    /// The parts, which cover the volume.
    pub parts: Vec<PartFile>,
    /// What probes recorded until then, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<ProbesFile>,
}

/// One part's file: for each field the cells of the part, row-major, in the machine's byte order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PartFile {
    /// Its name in the folder.
    pub file: String,
    /// First cell.
    pub low: Vec<usize>,
    /// One past the last cell.
    pub high: Vec<usize>,
    /// Its length and checksum.
    #[serde(flatten)]
    pub sum: Sum,
}

impl Manifest {
    /// The text of its file.
    pub fn text(&self) -> Result<String> {
        FORMAT.text(self)
    }

    /// Reads the file of a checkpoint's folder.
    ///
    /// # Errors
    /// [`Error::File`] for what is damaged; [`Error::Spec`] for another version of the format.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(NAME);
        match read_small_text(&path) {
            Err(error) => Err(Error::file(path, error, FORMAT.hint)),
            Ok(text) => {
                let manifest: Self = FORMAT.read(&path, &text)?;
                let probes = manifest.probes.iter().all(ProbesFile::is_possible);
                let parts = manifest.parts.iter().all(|part| numbered(&part.file, PART));
                match probes && parts {
                    true => Ok(manifest),
                    false => Err(damaged(&path, "names files or records that no run writes")),
                }
            }
        }
    }
}
