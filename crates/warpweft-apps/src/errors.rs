//! Errors with what they are about: a file, or one of several things.

use std::fmt::Display;
use std::path::Path;

use warpweft::error::Error;

/// An error in the file at `path`, not in a command line.
pub fn in_file(path: &Path, error: Error) -> Error {
    match error {
        Error::Spec { what, hint } => Error::file(path, what, hint),
        other => other,
    }
}

/// An error in `subject`, one of several things that are computed.
pub fn about(subject: impl Display, error: Error) -> Error {
    match error {
        Error::Spec { what, hint } => Error::Spec { what: format!("{subject}: {what}"), hint },
        other => other,
    }
}
