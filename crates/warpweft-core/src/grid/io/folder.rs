//! Folders in which runs save their states: checked for write access early, created once, and locked by one
//! run at a time.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;

use super::bounded::open_regular;
use super::synced::sync_folder;
use super::temporary::{TemporaryFile, without_links};
use super::whole::write_error;
use crate::error::{Error, Result};

const HINT: &str = "choose a folder that can be written";

/// Checks that files can be created in a folder at `path`. The folder need not exist yet, but its parent
/// must.
///
/// # Errors
/// Files can't be created there.
pub fn check_folder(path: &Path) -> Result<()> {
    let refused = |what: &dyn std::fmt::Display| Error::file(path, what, HINT);
    let mut above = path.ancestors();
    let there = above.find(|folder| folder.symlink_metadata().is_ok());
    // The parent of a bare name is empty.
    let there = there.unwrap_or(Path::new("."));
    match fs::metadata(there) {
        Err(error) if error.kind() == ErrorKind::NotFound && there.is_symlink() => Err(refused(
            &format!("{} is a symbolic link to a folder that is not there", there.display()),
        )),
        Err(error) => Err(refused(&error)),
        Ok(known) if !known.is_dir() && there == path => match known.is_file() {
            true => Err(refused(&"is a file")),
            false => Err(refused(&"is no folder")),
        },
        Ok(known) if !known.is_dir() => Err(refused(&format!("{} is a file", there.display()))),
        Ok(_) if there != path && !parent(path).exists() => {
            Err(write_error(path, &ErrorKind::NotFound.into()))
        }
        Ok(_) => {
            let probe = TemporaryFile::next_to(&there.join("warpweft"));
            probe.map(drop).map_err(|error| refused(&error))
        }
    }
}

/// The parent folder of `path`.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The lock file.
const LOCK: &str = ".lock";

/// `ENOLCK` on Linux: a network file system whose lock service does not answer.
const NO_LOCKS: Option<i32> = Some(37);

/// Exclusive use of a folder by one run, until this is dropped or the process ends in any way: a lock on the
/// file `.lock` in it. The file stays.
#[derive(Debug)]
pub struct Claim(Option<File>);

impl Claim {
    /// Checks that a run could lock `folder`, without creating anything.
    ///
    /// # Errors
    /// See [`Claim::of`].
    pub fn check(folder: &Path) -> Result<()> {
        match folder.join(LOCK).exists() {
            true => Self::of(folder).map(drop),
            false => check_folder(folder),
        }
    }

    /// Locks `folder`. It is created if it does not exist, and its entry is flushed to disk; its parent must
    /// exist.
    ///
    /// # Errors
    /// Another run has locked it; it can't be created or written.
    pub fn of(folder: &Path) -> Result<Self> {
        check_folder(folder)?;
        let refused = |error: io::Error| Error::file(folder, error, HINT);
        match fs::create_dir(folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(refused(error)),
            _ => {}
        }
        // The entry may be new, or left by a run that was killed before this flush.
        match sync_folder(&folder.join("..")) {
            Err(error) if error.kind() != ErrorKind::PermissionDenied => {
                return Err(refused(error));
            }
            _ => {}
        }
        let mut writing = File::options();
        without_links(writing.create(true).truncate(false).write(true));
        let file = folder.join(LOCK);
        if file.metadata().is_ok_and(|known| !known.is_file()) {
            // A pipe would be waited for when it is opened.
            return Err(Error::file(&file, "is not a regular file", "choose another folder"));
        }
        let lock = match writing.open(&file) {
            // The file belongs to another user: read access suffices to lock it.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                open_regular(&file, File::options().read(true)).map_err(|error| {
                    let what =
                        format!("this lock file of another user's run can't be opened: {error}");
                    Error::file(&file, what, "choose another folder, or have them `chmod a+r` it")
                })?
            }
            lock => lock.map_err(|error| match file.is_symlink() {
                true => Error::file(&file, "is a symbolic link", "choose another folder"),
                false => Error::file(&file, error, HINT),
            })?,
        };
        let tried = lock.try_lock();
        Self::held(folder, lock, tried)
    }

    /// The result of an attempt to lock.
    fn held(folder: &Path, lock: File, tried: Result<(), TryLockError>) -> Result<Self> {
        match tried {
            Ok(()) => Ok(Self(Some(lock))),
            Err(TryLockError::WouldBlock) => Err(Error::file(
                folder,
                "another run saves its state there",
                "wait until it has ended, or choose another folder",
            )),
            Err(TryLockError::Error(error))
                if error.kind() == ErrorKind::Unsupported || error.raw_os_error() == NO_LOCKS =>
            {
                Ok(Self(None))
            }
            Err(TryLockError::Error(error)) => {
                let what = format!("its file .lock can't be locked: {error}");
                Err(Error::file(folder, what, "choose a folder on another disk"))
            }
        }
    }

    /// A note for the user: on file systems without locks nothing keeps another run away.
    pub fn note(&self, folder: &Path) -> Option<String> {
        let none = self.0.is_none();
        none.then(|| format!("the file system of {} does not support locks: make sure that no other run saves there", folder.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_there_or_can_be_made() {
        let directory = tempfile::tempdir().unwrap();
        for folder in ["", "new"] {
            assert!(check_folder(&directory.path().join(folder)).is_ok(), "{folder}");
        }
        assert!(check_folder(Path::new("new")).is_ok());
        let deep = directory.path().join("new/in/new");
        for refusal in [check_folder(&deep), Claim::of(&deep).map(drop)] {
            let refusal = refusal.unwrap_err().to_string();
            let missing = deep.parent().unwrap().display();
            assert!(refusal.contains(&format!("there is no folder {missing}; ")), "{refusal}");
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        let file = directory.path().join("a.npy");
        fs::write(&file, "").unwrap();
        for (folder, expect) in
            [(file.clone(), "is a file; "), (file.join("in/it"), "a.npy is a file; ")]
        {
            let refusal = check_folder(&folder).unwrap_err().to_string();
            assert!(refusal.contains(expect) && refusal.contains("choose a folder"), "{refusal}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn links_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let [link, folder] = ["link", "folder"].map(|name| directory.path().join(name));
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        let refusal = Claim::of(&link).unwrap_err().to_string();
        assert!(refusal.contains("link is a symbolic link to a folder that is not"), "{refusal}");
        fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink(&link, folder.join(LOCK)).unwrap();
        let refusal = Claim::of(&folder).unwrap_err().to_string();
        assert!(refusal.contains(".lock: is a symbolic link; "), "{refusal}");
    }

    /// See `flock(2)`: `EOPNOTSUPP`, `ENOSYS` and `ENOLCK` without locks, `EBADF` on NFS for a read-only
    /// file.
    #[test]
    #[cfg(target_os = "linux")]
    fn where_there_are_no_locks_that_is_noted_and_other_errors_are_told() {
        let folder = Path::new("saved");
        let held = |number| {
            let error = io::Error::from_raw_os_error(number);
            Claim::held(folder, tempfile::tempfile().unwrap(), Err(TryLockError::Error(error)))
        };
        for number in [95, 38, 37] {
            let note = held(number).unwrap().note(folder);
            assert_eq!(
                note.as_deref(),
                Some(
                    "the file system of saved does not support locks: make sure that no other run saves there"
                )
            );
        }
        let refusal = held(9).unwrap_err().to_string();
        for part in ["saved: its file .lock can't be locked: Bad file", "on another disk"] {
            assert!(refusal.contains(part), "{refusal}");
        }
    }

    #[test]
    fn a_folder_is_one_runs_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| directory.path().join(name));
        assert!(Claim::check(&one).is_ok() && !one.exists());
        fs::create_dir(&other).unwrap();
        assert!(Claim::check(&other).is_ok() && fs::read_dir(&other).unwrap().count() == 0);
        let claim = Claim::of(&one).unwrap();
        if let Some(note) = claim.note(&one) {
            return println!("skipped: {note}");
        }
        for refusal in [Claim::of(&one).map(drop), Claim::check(&one)] {
            let refusal = refusal.unwrap_err().to_string();
            assert!(
                refusal.contains("one: another run saves its state there; help: wait"),
                "{refusal}"
            );
        }
        assert!(Claim::of(&other).is_ok());
        drop(claim);
        assert!(Claim::of(&one).is_ok());
    }
}
