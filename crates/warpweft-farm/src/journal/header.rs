//! What a journal says of itself.

use std::path::Path;

use serde::{Deserialize, Serialize};

use warpweft_core::error::{Error, Result};
use warpweft_core::grid::io::{Stated, read_small_text};

/// Its format.
const FORMAT: Stated =
    Stated { name: "a journal", version: 2, hint: "begin anew in an empty folder" };

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
    /// A hash of the task's parameters and inputs, as far as their bytes are known.
    pub inputs: String,
    /// The form of an output.
    pub form: String,
}

/// What a run does.
#[derive(Clone, Debug)]
pub struct Work {
    pub tasks: u64,
    pub inputs: String,
    pub form: String,
}

impl Header {
    /// Of this program's version.
    pub fn new(of: &str, work: Work) -> Self {
        let Work { tasks, inputs, form } = work;
        Self { version: FORMAT.version, of: of.into(), tasks, inputs, form }
    }

    /// The text of its file.
    ///
    /// # Errors
    /// None that are known.
    pub fn text(&self) -> Result<String> {
        FORMAT.text(self)
    }

    /// The one in the file of `folder`; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::File`] for what is damaged; [`Error::Spec`] for another version of the format.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(NAME);
        match read_small_text(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::file(path, error, FORMAT.hint)),
            Ok(text) => FORMAT.read(&path, &text).map(Some),
        }
    }

    /// In what `self`, a journal's, is another than `own`.
    pub fn differs(&self, own: &Self) -> Option<String> {
        let parts = [("of", &self.of, &own.of), ("of outputs", &self.form, &own.form)];
        let part = parts.iter().find(|(_, theirs, ours)| theirs != ours);
        let part = part
            .map(|(what, theirs, ours)| format!("{what} {theirs}, and this run is {what} {ours}"));
        let tasks = || format!("of {} tasks, and this run has {}", self.tasks, own.tasks);
        let inputs = || "of a task with other parameters or other inputs than this run".into();
        part.or_else(|| (self.tasks != own.tasks).then(tasks))
            .or_else(|| (self.inputs != own.inputs).then(inputs))
    }
}
