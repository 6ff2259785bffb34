//! Temporary files next to the files that they become: names that nobody can guess, never through a link, and gone
//! when the process ends by a signal that it handles.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

/// The temporary files of this process.
static OPEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A temporary file that was not written for a day belongs to a process that was killed.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long the end of the process waits for files to be removed.
const PATIENCE: Duration = Duration::from_secs(2);
/// The ending of a name.
const ENDING: &str = ".partial";
/// Digits of the random part of a name, which are hexadecimal.
const DIGITS: usize = 16;
/// Bytes of the target's name that the temporary one begins with: a name has at most 255.
const KEPT: usize = 200;

/// A file that is removed unless it is [put](TemporaryFile::put) in the place of another.
pub(super) struct TemporaryFile {
    file: File,
    path: PathBuf,
}

impl TemporaryFile {
    /// A new file in the folder of `target`, with the owner and the permissions of the file there, if there is one.
    ///
    /// # Errors
    /// It can't be created; `target` names no file.
    pub fn next_to(target: &Path) -> io::Result<Self> {
        let this = Self::in_folder_of(target)?;
        this.resemble(target)?;
        Ok(this)
    }

    /// A new file in the folder of `target` that belongs to this user, and that nobody else may write whatever the
    /// umask.
    ///
    /// # Errors
    /// As [`TemporaryFile::next_to`].
    pub fn own_next_to(target: &Path) -> io::Result<Self> {
        let this = Self::in_folder_of(target)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = this.file.metadata()?.permissions().mode() & 0o755;
            this.file.set_permissions(fs::Permissions::from_mode(mode))?;
        }
        Ok(this)
    }

    fn in_folder_of(target: &Path) -> io::Result<Self> {
        let begin = begin_of(target)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
        loop {
            let number = RandomState::new().build_hasher().finish();
            let path = target.with_file_name(format!("{begin}{number:016x}{ENDING}"));
            // Locked until the name is in the list, so that no signal comes in between.
            let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
            match new_file().open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(file) => {
                    open.insert(path.clone());
                    drop(open);
                    return Ok(Self { file, path });
                }
            }
        }
    }

    /// To write to.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives it the name of `target`, whose former file is gone then.
    ///
    /// # Errors
    /// It can't be renamed.
    pub fn put(self, target: &Path) -> io::Result<()> {
        fs::rename(&self.path, target)
        // Dropping it finds no file of its name to remove.
    }

    #[cfg(unix)]
    fn resemble(&self, target: &Path) -> io::Result<()> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        let Ok(there) = fs::metadata(target) else { return Ok(()) };
        let own = self.file.metadata()?;
        if (own.uid(), own.gid()) != (there.uid(), there.gid()) {
            // Only root may give files away; then the new file is the writer's own.
            let _ = fchown(&self.file, Some(there.uid()), Some(there.gid()));
        }
        self.file.set_permissions(fs::Permissions::from_mode(there.mode() & 0o777))
    }

    #[cfg(not(unix))]
    fn resemble(&self, _target: &Path) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if open.remove(&self.path) {
            // It may have been renamed; if it can't be removed, there is nobody to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Options that create a file of this process alone: nothing may be there, not even a link.
pub fn new_file() -> OpenOptions {
    let mut options = File::options();
    options.write(true).create_new(true);
    options
}

/// `options` that open no file through a symbolic link of its name, and wait for no pipe.
pub fn without_links(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options
}

/// Removes the temporary files of this process, which ends at once: no other is created afterwards. On a file system
/// that is gone, neither this nor the creation of a file may ever come back; after two seconds the rest stays.
pub fn remove_temporary_files() {
    remove_all(&OPEN, PATIENCE);
}

fn remove_all(open: &'static Mutex<BTreeSet<PathBuf>>, patience: Duration) {
    let (done, wait) = mpsc::channel();
    let removal = move || {
        let open = open.lock().unwrap_or_else(PoisonError::into_inner);
        for path in &*open {
            let _ = fs::remove_file(path);
        }
        std::mem::forget(open);
        let _ = done.send(());
    };
    // Without a thread for it nothing is removed: that might hang, and later runs do it after a day.
    if thread::Builder::new().spawn(removal).is_ok() {
        let _ = wait.recv_timeout(patience);
    }
}

/// How the names of temporary files of `target` begin.
fn begin_of(target: &Path) -> Option<String> {
    let name = target.file_name()?.to_string_lossy();
    let end = name.floor_char_boundary(KEPT);
    Some(format!(".{}.", &name[..end]))
}

/// Removes temporary files of `target` whose writers were killed. One that can't be removed does no harm.
pub(super) fn remove_abandoned(target: &Path) {
    let (Some(folder), Some(begin)) = (target.parent(), begin_of(target)) else { return };
    // The parent of a bare name is empty.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let random = name.to_str().and_then(|name| name.strip_prefix(&begin)?.strip_suffix(ENDING));
        let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let ours = random.is_some_and(|random| random.len() == DIGITS && is_hex(random));
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
        let old = left(".a.txt.0123456789abcdef.partial", 2 * DAY);
        // A temporary file of a writer at work, one of another file, and a file that only looks like one.
        let others = [
            left(".a.txt.0123456789abcdee.partial", DAY / 2),
            left(".b.txt.0123456789abcdef.partial", 2 * DAY),
            left(".a.txt.mine.partial", 2 * DAY),
        ];
        remove_abandoned(&path);
        assert!(!old.exists() && others.iter().all(|other| other.exists()));
    }

    #[test]
    fn the_end_removes_what_is_open_and_waits_for_nobody() {
        static LIST: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        fs::write(&path, "half").unwrap();
        // As by a thread that hangs in creating a file.
        let mut held = LIST.lock().unwrap();
        held.insert(path.clone());
        remove_all(&LIST, Duration::from_millis(20));
        assert!(path.exists());
        drop(held);
        while path.exists() {
            thread::sleep(Duration::from_millis(5));
        }
        // No other may be created afterwards.
        assert!(LIST.try_lock().is_err());
    }

    #[test]
    fn a_file_that_is_not_put_anywhere_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        // The longest name that Linux allows.
        let target = directory.path().join("a".repeat(255));
        let one = TemporaryFile::next_to(&target).unwrap();
        let other = TemporaryFile::next_to(&target).unwrap();
        assert_ne!(one.path, other.path);
        drop(one);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        other.put(&target).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        assert!(target.exists());
        assert!(TemporaryFile::next_to(Path::new("..")).is_err());
    }
}
