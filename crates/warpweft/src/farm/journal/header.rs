//! What a journal says of itself: one line of JSON, and on the next line its SHA-256.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// The version of the format; raised when it changes.
const VERSION: u32 = 1;

/// Its name in the folder.
pub const NAME: &str = "header";

/// What a journal is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    version: u32,
    /// As the user said.
    pub of: String,
    /// How many tasks there are.
    pub tasks: u64,
    /// The form of an output.
    pub form: String,
}

impl Header {
    /// Of this program's version.
    pub fn new(of: &str, tasks: u64, form: String) -> Self {
        Self { version: VERSION, of: of.into(), tasks, form }
    }

    /// The text of its file.
    ///
    /// # Errors
    /// None that are known.
    pub fn text(&self) -> Result<String> {
        let line = serde_json::to_string(self)
            .map_err(|error| Error::spec(format!("a header: {error}"), "report this as a bug"))?;
        Ok(format!("{line}\n{}\n", sum(&line)))
    }

    /// The one in the file of `folder`; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::File`] for what is damaged; [`Error::Spec`] for another version of the format.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(NAME);
        let damaged = |what: String| Error::file(&path, what, "begin anew in an empty folder");
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|error| damaged(error.to_string()))?,
        };
        let (line, told) = text.split_once('\n').unwrap_or((&text, ""));
        if sum(line) != told.trim() {
            return Err(damaged("its checksum is wrong".into()));
        }
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let told = |error: serde_json::Error| damaged(error.to_string());
        let Version { version } = serde_json::from_str(line).map_err(told)?;
        if version != VERSION {
            return Err(Error::spec(
                format!(
                    "{} is a journal of format {version}, this program reads format {VERSION}",
                    folder.display()
                ),
                "resume with the program that wrote it",
            ));
        }
        serde_json::from_str(line).map(Some).map_err(told)
    }

    /// In what `self`, a journal's, is another than `own`.
    pub fn differs(&self, own: &Self) -> Option<String> {
        let parts = [("of", &self.of, &own.of), ("of outputs", &self.form, &own.form)];
        let part = parts.iter().find(|(_, theirs, ours)| theirs != ours);
        let part = part
            .map(|(what, theirs, ours)| format!("{what} {theirs}, and this run is {what} {ours}"));
        let tasks = || format!("of {} tasks, and this run is of {}", self.tasks, own.tasks);
        part.or_else(|| (self.tasks != own.tasks).then(tasks))
    }
}

/// Lower-case hexadecimal digits of the SHA-256.
fn sum(line: &str) -> String {
    Sha256::digest(line).iter().map(|byte| format!("{byte:02x}")).collect()
}
