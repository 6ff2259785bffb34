//! Libraries of NVIDIA's that are loaded at run time: which they are, and loading one. What they do is not here.

mod find;

use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use self::find::Host;
use crate::error::{Error, Result};

/// A library, and what to say where there is none.
pub(in crate::cuda) struct Wanted {
    /// Its file's name without `.so`.
    pub name: &'static str,
    /// What it is, for messages.
    pub what: &'static str,
    /// The environment variable that may name it or its folder.
    pub variable: &'static str,
    /// Versions that the system's loader is asked for, the newest first.
    pub versions: &'static [&'static str],
    /// How to install it.
    pub install: &'static str,
}

impl Wanted {
    /// The error for a machine without it.
    pub fn missing(&self, what: &str) -> Error {
        Error::Device {
            stage: format!("loading {}", self.what),
            device: "this machine".into(),
            what: format!("{} was not found: {what}", self.name),
            hint: self.install.into(),
        }
    }

    /// Loads it from `path`, or without one from where the system's loader finds it. It is never unloaded: its threads
    /// and static state do not support that.
    ///
    /// # Errors
    /// There is none, or it can't be loaded.
    pub fn open(&self, path: Option<&Path>) -> Result<&'static Library> {
        let versioned = self.versions.iter().map(|version| format!(".{version}"));
        let names = match path {
            Some(path) => vec![path.to_path_buf()],
            None => std::iter::once(String::new())
                .chain(versioned)
                .map(|version| PathBuf::from(format!("{}.so{version}", self.name)))
                .collect(),
        };
        let mut reason = String::new();
        for name in &names {
            // SAFETY: runs the initialisers of NVIDIA's library, as in every program linked to it.
            match unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) } {
                Ok(library) => return Ok(Box::leak(Box::new(library))),
                Err(error) => reason = error.to_string(),
            }
        }
        Err(self.missing(&match path {
            Some(path) => format!("{} can't be loaded ({reason})", path.display()),
            None => "neither the system, nor a toolkit, nor a Python environment has it".into(),
        }))
    }
}

/// Where this machine has the library; `None` leaves it to the system's loader.
///
/// # Errors
/// See [`find::find`].
pub(in crate::cuda) fn find(wanted: &Wanted) -> Result<Option<PathBuf>> {
    let current = std::env::current_dir().unwrap_or_default();
    let host =
        Host { env: &|name| std::env::var_os(name), root: Path::new("/"), current: &current };
    find::find(&host, wanted)
}
