//! Why a file of a journal can't be used, and what to do about it.

use std::io::{Error as IoError, ErrorKind};
use std::path::Path;

use warpweft_core::error::Error;

/// The error for the file at `path`, with which something `failed` (e.g. "the journal can't be read"). If the disk is full, the
/// hint is `room`.
pub fn refused(path: &Path, failed: &str, error: &IoError, room: &str) -> Error {
    if path.metadata().is_ok_and(|known| !known.is_file()) {
        let hint =
            "put the file that was there back in its place, or begin anew in an empty folder";
        return Error::file(path, "is not a regular file, so it is no part of a journal", hint);
    }
    let hint = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => room,
        ErrorKind::FileTooLarge => {
            "raise the limit on the length of files (`ulimit -f`) or use another file system, then use --resume again"
        }
        ErrorKind::OutOfMemory => "free memory, then use --resume again",
        ErrorKind::PermissionDenied => {
            "give this user the right to read and write it, then use --resume again"
        }
        _ => "check the disk, then use --resume again",
    };
    Error::file(path, format!("{failed}: {error}"), hint)
}
