//! Writes a file completely or not at all.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind::NotFound, Write};
use std::path::{Path, PathBuf, is_separator};
use std::sync::{Mutex, PoisonError};

use super::stall::{Calling, Counted, Naming};
use super::temporary::{TemporaryFile, remove_abandoned};
use crate::error::{Error, Result};

/// The hint for a file that can't be written.
const HINT: &str = "choose a place that can be written and has room";

/// Writes the file at `path` by `content`: first under a temporary name in the same folder, then renamed, so
/// that a failure leaves the previous file, and its permissions stay. Symbolic links to files are followed; devices
/// and pipes are written directly. The temporary file of a process that was killed is removed a day later, by the
/// first write to `path` of another process.
///
/// # Errors
/// The file can't be created or written; a symbolic link to nothing.
pub fn write_whole(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    let mut content = Some(content);
    let mut content = |to: &mut dyn Write| content.take().map_or(Ok(()), |content| content(to));
    whole(path, TemporaryFile::next_to, &mut content)
}

/// The same of a file that only this user may write, whatever the umask and the permissions of the file before:
/// one that is read by [`read_own`](super::read_own).
///
/// # Errors
/// As [`write_whole`]; what is there is no file.
pub fn write_own(path: &Path, content: &[u8]) -> Result<()> {
    if fs::metadata(path).is_ok_and(|known| !known.is_file()) {
        // Nobody reads such a pipe.
        return Err(Error::file(path, "is not a regular file", "remove it"));
    }
    whole(path, TemporaryFile::own_next_to, &mut |to| to.write_all(content))
}

/// Compiled once for all contents.
fn whole(
    path: &Path,
    temporary: fn(&Path) -> io::Result<TemporaryFile>,
    content: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    let refused = |error: io::Error| write_error(path, &error);
    let target = target(path)?;
    let _naming = Naming::of(path);
    let mut calling = Calling::begin();
    if fs::metadata(&target).is_ok_and(|known| !known.is_file() && !known.is_dir()) {
        let file = File::options().write(true).open(&target).map_err(refused)?;
        let mut file = BufWriter::new(Counted(file));
        let written = calling.pause(|| content(&mut file));
        return written.and_then(|()| file.flush()).map_err(refused);
    }
    if first_time(&target) {
        remove_abandoned(&target);
    }
    let written = temporary(&target).and_then(|temporary| {
        let mut file = BufWriter::with_capacity(1 << 20, Counted(temporary.file()));
        calling.pause(|| content(&mut file))?;
        file.flush()?;
        drop(file);
        temporary.put(&target)
    });
    written.map_err(refused)
}

/// Whether a file can be created at `path`; to be called before hours of work, not after.
///
/// # Errors
/// It can't be created.
pub fn check_writable(path: &Path) -> Result<()> {
    let target = target(path)?;
    match fs::metadata(&target) {
        Ok(known) if known.is_dir() => Err(Error::file(path, "is a directory", HINT)),
        Ok(known) if !known.is_file() => Ok(()),
        _ => TemporaryFile::next_to(&target).map(drop).map_err(|error| write_error(path, &error)),
    }
}

/// The file that `path` names, links followed.
fn target(path: &Path) -> Result<PathBuf> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let bytes = bytes.strip_suffix(b".").unwrap_or(bytes);
    if bytes.last().is_some_and(|&last| is_separator(char::from(last))) {
        // Splitting the path loses this.
        return Err(Error::file(path, "names a folder", "name a file"));
    }
    match (fs::canonicalize(path), fs::read_link(path)) {
        (Ok(target), _) => Ok(target),
        // What a process has open may have no path.
        (Err(_), _) if fs::metadata(path).is_ok() => Ok(path.to_path_buf()),
        (Err(_), Ok(to)) => Err(Error::file(
            path,
            format!("is a symbolic link to {}, where no file can be found", to.display()),
            "remove the link, or name the file itself",
        )),
        (Err(_), Err(_)) => Ok(path.to_path_buf()),
    }
}

/// The error for a file at `path` that can't be written.
pub(super) fn write_error(path: &Path, error: &io::Error) -> Error {
    let folder = path.parent().filter(|folder| {
        // That of a bare name is empty, and there.
        error.kind() == NotFound && !folder.as_os_str().is_empty() && !folder.exists()
    });
    match folder.map(Path::display) {
        None => Error::file(path, error, HINT),
        Some(folder) => Error::file(
            path,
            format!("there is no folder {folder}"),
            format!("make it with `mkdir -p {folder}`, or choose another place"),
        ),
    }
}

/// Whether this process has not written to `target` before. A run that writes a file again and again reads
/// its folder once.
fn first_time(target: &Path) -> bool {
    static WRITTEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    WRITTEN.lock().unwrap_or_else(PoisonError::into_inner).insert(target.to_path_buf())
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
    #[cfg(unix)]
    fn what_this_program_keeps_for_itself_is_no_pipe() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        if !made.is_ok_and(|made| made.success()) {
            return println!("skipped: no mkfifo");
        }
        let refusal = write_own(&pipe, b"text").unwrap_err().to_string();
        assert!(refusal.contains("pipe: is not a regular file; help: remove it"), "{refusal}");
    }

    #[test]
    #[cfg(unix)]
    fn permissions_stay_and_links_are_followed_to_files_only() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let text = |text: &'static str| move |to: &mut dyn Write| to.write_all(text.as_bytes());
        fs::write(at("private"), "old").unwrap();
        fs::set_permissions(at("private"), fs::Permissions::from_mode(0o600)).unwrap();
        symlink(at("private"), at("link")).unwrap();
        for path in ["private", "link"] {
            write_whole(&at(path), text(path)).unwrap();
            assert_eq!(fs::read_to_string(at("private")).unwrap(), path);
            assert_eq!(mode(&at("private")), 0o600);
        }
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        // A new file's are those of any new file.
        fs::write(at("any"), "").unwrap();
        write_whole(&at("new"), text("new")).unwrap();
        assert_eq!(mode(&at("new")), mode(&at("any")));
        symlink(at("nowhere"), at("dangling")).unwrap();
        for refusal in [check_writable(&at("dangling")), write_whole(&at("dangling"), text("x"))] {
            let refusal = refusal.unwrap_err().to_string();
            assert!(
                refusal.contains("is a symbolic link to") && refusal.contains("nowhere"),
                "{refusal}"
            );
        }
        assert!(!at("nowhere").exists());
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
