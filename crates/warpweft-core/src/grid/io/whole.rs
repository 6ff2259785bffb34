//! Writes a file completely or not at all.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind::NotFound, Write};
use std::path::{Path, PathBuf, is_separator};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::error::{Error, Result};

/// A temporary file that was not written for a day belongs to a process that was killed.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The hint for a file that can't be written.
const HINT: &str = "choose a place that can be written and has room";

/// Writes the file at `path` by `content`: first under a temporary name in the same folder, then renamed, so
/// that a failure leaves the previous file. Symbolic links are followed; devices and pipes are written
/// directly. The temporary file of a process that was killed is removed a day later, by the first write to
/// `path` of another process.
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
    let refused = |error: io::Error| write_error(path, &error);
    let target = target(path)?;
    if fs::metadata(&target).is_ok_and(|known| !known.is_file() && !known.is_dir()) {
        let mut file = BufWriter::new(File::options().write(true).open(&target).map_err(refused)?);
        return content(&mut file).and_then(|()| file.flush()).map_err(refused);
    }
    let beside = beside(&target).map_err(refused)?;
    if first_time(&target) {
        remove_abandoned(&target);
    }
    let written = File::create(&beside).and_then(|file| {
        let mut file = BufWriter::with_capacity(1 << 20, file);
        content(&mut file)?;
        file.flush()?;
        drop(file);
        fs::rename(&beside, &target)
    });
    written.map_err(|error| {
        // If the temporary file can't be removed either, there is nothing to add to the error.
        let _ = fs::remove_file(&beside);
        refused(error)
    })
}

/// Whether a file can be created at `path`; to be called before hours of work, not after.
///
/// # Errors
/// It can't be created.
pub fn check_writable(path: &Path) -> Result<()> {
    let refused = |error: io::Error| write_error(path, &error);
    let target = target(path)?;
    match fs::metadata(&target) {
        Ok(known) if known.is_dir() => Err(Error::file(path, "is a directory", HINT)),
        Ok(known) if !known.is_file() => Ok(()),
        _ => {
            let beside = beside(&target).map_err(refused)?;
            File::create(&beside).and_then(|_| fs::remove_file(&beside)).map_err(refused)
        }
    }
}

/// The file that `path` names, links followed.
fn target(path: &Path) -> Result<PathBuf> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let bytes = bytes.strip_suffix(b".").unwrap_or(bytes);
    match bytes.last() {
        // Splitting the path loses this.
        Some(&last) if is_separator(char::from(last)) => {
            Err(Error::file(path, "names a folder", "name a file"))
        }
        _ => Ok(fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())),
    }
}

/// The error for a file at `path` that can't be written.
pub(super) fn write_error(path: &Path, error: &io::Error) -> Error {
    let folder = path.parent().filter(|folder| error.kind() == NotFound && !folder.exists());
    match folder.map(Path::display) {
        None => Error::file(path, error, HINT),
        Some(folder) => Error::file(
            path,
            format!("there is no folder {folder}"),
            format!("make it with `mkdir -p {folder}`, or choose another place"),
        ),
    }
}

/// The name of the temporary file. It is in the same folder, so that renaming stays on one file system.
fn beside(target: &Path) -> io::Result<PathBuf> {
    let name = target
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
    let name = format!(".{}.{}.partial", name.to_string_lossy(), std::process::id());
    Ok(target.with_file_name(name))
}

/// Whether this process has not written to `target` before. A run that writes a file again and again reads
/// its folder once.
fn first_time(target: &Path) -> bool {
    static WRITTEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    WRITTEN.lock().unwrap_or_else(PoisonError::into_inner).insert(target.to_path_buf())
}

/// Removes temporary files of `target` whose writers were killed. One that can't be removed does no harm.
fn remove_abandoned(target: &Path) {
    let (Some(folder), Some(name)) = (target.parent(), target.file_name()) else { return };
    // The parent of a bare name is empty.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let begin = format!(".{}.", name.to_string_lossy());
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name =
            name.to_str().and_then(|name| name.strip_prefix(&begin)?.strip_suffix(".partial"));
        let ours = name.is_some_and(|process| process.parse::<u32>().is_ok());
        let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        if ours && age().is_some_and(|age| age > DAY) {
            let _ = fs::remove_file(entry.path());
        }
    }
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
    fn what_killed_writers_left_is_removed_a_day_later() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.txt");
        let left = |name: &str, age: Duration| {
            let path = directory.path().join(name);
            fs::write(&path, "half").unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            file.set_modified(std::time::SystemTime::now() - age).unwrap();
            path
        };
        let old = left(".a.txt.123.partial", 2 * DAY);
        // A temporary file of a writer at work, one of another file, and a file that only looks like one.
        let others = [
            left(".a.txt.124.partial", DAY / 2),
            left(".b.txt.123.partial", 2 * DAY),
            left(".a.txt.mine.partial", 2 * DAY),
        ];
        write_whole(&path, |to| to.write_all(b"whole")).unwrap();
        assert!(!old.exists() && others.iter().all(|other| other.exists()));
        // The folder is read once a process.
        let again = left(".a.txt.123.partial", 2 * DAY);
        write_whole(&path, |to| to.write_all(b"again")).unwrap();
        assert!(again.exists());
    }

    #[test]
    fn a_place_that_does_not_exist_is_found_early() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("no/such/a.npy");
        let refusal = check_writable(&missing).unwrap_err().to_string();
        let folder = missing.parent().unwrap().display();
        assert!(refusal.contains("a.npy: there is no folder"), "{refusal}");
        assert!(refusal.contains(&format!("`mkdir -p {folder}`")), "{refusal}");
        assert!(check_writable(directory.path()).unwrap_err().to_string().contains("directory"));
        for folder in ["a.npy/", "a.npy/."] {
            let refusal = check_writable(&directory.path().join(folder)).unwrap_err();
            assert!(refusal.to_string().contains("names a folder; help: name a file"), "{refusal}");
        }
        assert!(check_writable(&directory.path().join("a.npy")).is_ok());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
