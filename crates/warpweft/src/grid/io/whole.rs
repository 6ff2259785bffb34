//! Writing a file whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// What to do about a file that can't be written.
const REMEDY: &str = "choose a place that can be written and has room";

/// Writes the file at `path` by `content`: beside it first, then renamed over it, so that a failure
/// leaves what was there before. Symbolic links are followed; devices and pipes are written directly.
///
/// # Errors
/// The file can't be created or written.
pub fn write_whole(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    let mut content = Some(content);
    whole(path, &mut |to| content.take().map_or(Ok(()), |content| content(to)))
}

/// Compiled once for all contents.
fn whole(path: &Path, content: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let told = |error: io::Error| Error::file(path, error, REMEDY);
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if fs::metadata(&target).is_ok_and(|known| !known.is_file() && !known.is_dir()) {
        let mut file = BufWriter::new(File::options().write(true).open(&target).map_err(told)?);
        return content(&mut file).and_then(|()| file.flush()).map_err(told);
    }
    let beside = beside(&target).map_err(told)?;
    let written = File::create(&beside).and_then(|file| {
        let mut file = BufWriter::with_capacity(1 << 20, file);
        content(&mut file)?;
        file.flush()?;
        drop(file);
        fs::rename(&beside, &target)
    });
    written.map_err(|error| {
        // Nothing to add when the partial file can't be removed either.
        let _ = fs::remove_file(&beside);
        told(error)
    })
}

/// Whether a file could be created at `path`, found out before hours of work rather than after.
///
/// # Errors
/// It can't be.
pub fn check_writable(path: &Path) -> Result<()> {
    let told = |error: io::Error| Error::file(path, error, REMEDY);
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    match fs::metadata(&target) {
        Ok(known) if known.is_dir() => Err(Error::file(path, "is a directory", REMEDY)),
        Ok(known) if !known.is_file() => Ok(()),
        _ => {
            let beside = beside(&target).map_err(told)?;
            File::create(&beside).and_then(|_| fs::remove_file(&beside)).map_err(told)
        }
    }
}

/// The name of the partial file, in the same directory so that renaming stays on one file system.
fn beside(target: &Path) -> io::Result<PathBuf> {
    let name = target
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
    let name = format!(".{}.{}.partial", name.to_string_lossy(), std::process::id());
    Ok(target.with_file_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_leaves_what_was_there_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.txt");
        write_whole(&path, |to| to.write_all(b"first")).unwrap();
        let failed = write_whole(&path, |to| {
            to.write_all(b"sec")?;
            Err(io::Error::other("disk full"))
        });
        assert!(failed.unwrap_err().to_string().contains("disk full"));
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_place_that_does_not_exist_is_found_early() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("no/such/a.npy");
        assert!(check_writable(&missing).unwrap_err().to_string().contains("a.npy"));
        assert!(check_writable(directory.path()).unwrap_err().to_string().contains("directory"));
        assert!(check_writable(&directory.path().join("a.npy")).is_ok());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
