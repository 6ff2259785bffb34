//! What a checkpoint says of itself: one line of JSON, and on the next line its SHA-256.

use std::fmt::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::element::ScalarKind;
use crate::error::{Error, Result};

/// The version of the format; raised when it changes.
pub(super) const VERSION: u32 = 2;
/// Its name in the folder.
pub(super) const NAME: &str = "manifest";

/// A checkpoint's contents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// [`VERSION`] of whoever wrote it.
    pub version: u32,
    /// The program's version, for people.
    pub program: String,
    /// The computation, as [`crate::stencil::Spec::identity`] tells it.
    pub of: String,
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
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of its bytes.
    pub sha256: String,
}

impl Manifest {
    /// The text of its file.
    pub fn text(&self) -> Result<String> {
        let line = serde_json::to_string(self)
            .map_err(|error| Error::spec(format!("a manifest: {error}"), "report this as a bug"))?;
        Ok(format!("{line}\n{}\n", hex(&Sha256::digest(&line))))
    }

    /// Reads the file of a checkpoint's folder.
    ///
    /// # Errors
    /// [`Error::File`] for what is damaged; [`Error::Spec`] for another version of the format.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(NAME);
        let damaged = |what: String| Error::file(&path, what, "resume from another checkpoint");
        let text = std::fs::read_to_string(&path).map_err(|error| damaged(error.to_string()))?;
        let (line, sum) = text.split_once('\n').unwrap_or((&text, ""));
        if hex(&Sha256::digest(line)) != sum.trim() {
            return Err(damaged("its checksum is wrong".into()));
        }
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let version: Version =
            serde_json::from_str(line).map_err(|error| damaged(error.to_string()))?;
        if version.version != VERSION {
            return Err(Error::spec(
                format!(
                    "{} is a checkpoint of format {}, this program reads format {VERSION}",
                    folder.display(),
                    version.version
                ),
                "resume with the program that wrote it",
            ));
        }
        serde_json::from_str(line).map_err(|error| damaged(error.to_string()))
    }
}

/// Lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
