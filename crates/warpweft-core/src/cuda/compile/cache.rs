//! Compiled code stored on disk by the hash of everything it depends on. The compiler is not here.

use std::collections::HashSet;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use crate::grid::io::{check_trusted, make_private, narrow, new_file};

/// The first bytes of a cache file; the number changes with the format.
const MAGIC: &[u8; 8] = b"WWCUBIN1";
/// Largest size of the cache in bytes: thousands of kernels. Beyond it, the least recently used entries are
/// removed until three quarters are left.
const LIMIT: u64 = 256 << 20;
/// The resolution of the time of last use: at most one write a day.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A folder of compiled kernels, shared by all processes of a user.
#[derive(Debug)]
pub struct Cache {
    folder: Option<PathBuf>,
    limit: u64,
    /// The folder above it that must be this user's own too.
    within: Option<PathBuf>,
    /// Whether code in the folder is this user's own, once it was looked at.
    trusted: OnceLock<Result<(), String>>,
    // Notes that were given already: each is given once a process.
    said: Mutex<HashSet<String>>,
}

/// The key of a compilation.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Key(String);

/// The folder for everything that can be made again: `$WARPWEFT_CACHE`, else `$XDG_CACHE_HOME/warpweft`, else
/// `~/.cache/warpweft`; `None` if none of the three variables is set.
pub fn folder() -> Option<PathBuf> {
    named("WARPWEFT_CACHE")
        .or_else(|| Some(named("XDG_CACHE_HOME")?.join("warpweft")))
        .or_else(|| Some(named("HOME")?.join(".cache/warpweft")))
}

/// The [`folder`] if only this user may write there, or `None` if there is none. A folder that
/// does not exist yet counts as this user's.
///
/// # Errors
/// Others may write there, so nothing may be read from it. The text says what to do.
pub fn trusted_folder() -> Result<Option<PathBuf>, String> {
    let Some(folder) = folder() else { return Ok(None) };
    if named("WARPWEFT_CACHE").is_none() {
        narrow(&folder);
    }
    trusted(folder).map(Some)
}

/// This folder, if nobody else can have written there.
fn trusted(folder: PathBuf) -> Result<PathBuf, String> {
    match folder.exists().then(|| check_trusted(&folder, &folder)) {
        None | Some(Ok(())) => Ok(folder),
        Some(Err(why)) => Err(format!(
            "nothing is kept in {} or taken from there: {why}; make it your own (`chmod go-w`), or set \
             WARPWEFT_CACHE to a folder of yours",
            folder.display()
        )),
    }
}

/// The folder that a variable names.
fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Writes `bytes` to a file next to `path` and renames it, so that a reader sees the old file or the new one.
///
/// # Errors
/// The file system's.
pub fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        make_private(folder)?;
    }
    let number = RandomState::new().build_hasher().finish();
    let temporary = path.with_extension(format!("{number:016x}.part"));
    let mut options = new_file();
    // Whatever the umask: code in a file that others may write is not loaded.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o644);
    let written = options.open(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        fs::rename(&temporary, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

impl Key {
    /// The hash of `parts`, with their boundaries.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl Cache {
    /// The user's cache, in [`folder`].
    pub fn user() -> &'static Self {
        static USER: OnceLock<Cache> = OnceLock::new();
        USER.get_or_init(|| match folder() {
            None => Self::none(),
            Some(above) => Self::below(above, named("WARPWEFT_CACHE").is_none()),
        })
    }

    /// The cache in a folder `above`, which has another use too; `own` if this program made that folder.
    fn below(above: PathBuf, own: bool) -> Self {
        let kernels = above.join("cubin");
        if own {
            close(&above, &kernels);
        }
        Self { within: Some(above), ..Self::at(kernels) }
    }

    /// A cache in a folder of its own, which is created when something is first stored.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), ..Self::none() }
    }

    /// A cache that stores nothing.
    pub fn none() -> Self {
        Self {
            folder: None,
            limit: LIMIT,
            within: None,
            trusted: OnceLock::new(),
            said: Mutex::default(),
        }
    }

    /// The entry for `key`, complete and unchanged. A damaged entry counts as none and adds a note.
    pub(super) fn get(&self, key: &Key, notes: &mut Vec<String>) -> Option<Vec<u8>> {
        let path = self.path(key).filter(|_| self.is_trusted(notes))?;
        let file = match fs::read(&path) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return None,
            Err(error) => {
                let what = format!("can't read {}: {error}; compiled anew", path.display());
                self.note_once(format!("read {:?}", error.kind()), what, notes);
                return None;
            }
        };
        if let Err(why) = check_trusted(&path, &path) {
            self.note_once("file".into(), format!("{why}; compiled anew"), notes);
            return None;
        }
        let body = body(&file);
        if body.is_none() {
            let what = format!("{} was damaged; compiled anew", path.display());
            self.note_once(what.clone(), what, notes);
        } else {
            used(&path);
        }
        body.map(<[u8]>::to_vec)
    }

    /// Stores `bytes` for `key`; a folder that can't be written adds a note.
    pub(super) fn put(&self, key: &Key, bytes: &[u8], notes: &mut Vec<String>) {
        let Some(path) = self.path(key).filter(|_| self.is_trusted(notes)) else { return };
        let mut file = MAGIC.to_vec();
        file.extend(Sha256::digest(bytes));
        file.extend(bytes);
        if let Err(error) = write_whole(&path, &file) {
            let folder = path.parent().unwrap_or(&path).display();
            let what = format!(
                "can't keep compiled kernels in {folder}: {error}; set WARPWEFT_CACHE to a folder \
                 that can be written"
            );
            self.note_once("write".into(), what, notes);
        }
        self.trim();
    }

    /// Removes entries until the rest is within the limit, and temporary files of interrupted writers.
    /// Another process may do the same: a missing file is no error.
    fn trim(&self) {
        let Some(entries) = self.folder.as_ref().and_then(|folder| fs::read_dir(folder).ok())
        else {
            return;
        };
        let now = SystemTime::now();
        let mut kept = Vec::new();
        for entry in entries.flatten() {
            let (Ok(meta), path) = (entry.metadata(), entry.path()) else { continue };
            let time = meta.modified().unwrap_or(now);
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("cubin") => kept.push((time, meta.len(), path)),
                Some("part") if now.duration_since(time).is_ok_and(|age| age > DAY) => {
                    let _ = fs::remove_file(path);
                }
                _ => {}
            }
        }
        let mut bytes: u64 = kept.iter().map(|(_, bytes, _)| bytes).sum();
        if bytes <= self.limit {
            return;
        }
        kept.sort();
        for (_, size, path) in kept {
            if bytes <= self.limit / 4 * 3 {
                return;
            }
            let _ = fs::remove_file(path);
            bytes -= size;
        }
    }

    /// Whether nobody else can have put code into the folder, or could from now on. It is made if it is missing.
    fn is_trusted(&self, notes: &mut Vec<String>) -> bool {
        let Some(folder) = &self.folder else { return false };
        let trusted = self.trusted.get_or_init(|| match make_private(folder) {
            // An error of making it is told when something is written.
            Err(_) => Ok(()),
            Ok(()) => check_trusted(self.within.as_deref().unwrap_or(folder), folder),
        });
        if let Err(why) = trusted {
            let what = format!(
                "compiled kernels are neither kept in {} nor taken from there: {why}; make it your own \
                 (`chmod go-w`), or set WARPWEFT_CACHE to a folder of yours",
                folder.display()
            );
            self.note_once("trust".into(), what, notes);
        }
        trusted.is_ok()
    }

    fn path(&self, key: &Key) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{}.cubin", key.0)))
    }

    fn note_once(&self, once: String, what: String, notes: &mut Vec<String>) {
        if self.said.lock().unwrap_or_else(PoisonError::into_inner).insert(once) {
            notes.push(what);
        }
    }
}

/// Forbids others to write to the folder `above` and to that of kernels in it, which earlier versions made as the umask
/// said. Kernels that others may have written are removed.
fn close(above: &Path, kernels: &Path) {
    narrow(above);
    if narrow(kernels) {
        let entries = fs::read_dir(kernels).into_iter().flatten().flatten();
        entries.for_each(|entry| drop(fs::remove_file(entry.path())));
    }
}

/// Records that the file was used today.
fn used(path: &Path) {
    let now = SystemTime::now();
    let last = fs::metadata(path).and_then(|meta| meta.modified());
    if last.is_ok_and(|last| now.duration_since(last).is_ok_and(|age| age > DAY))
        && let Ok(file) = fs::File::options().write(true).open(path)
    {
        let _ = file.set_modified(now);
    }
}

/// The contents of a cache file, if it is complete.
fn body(file: &[u8]) -> Option<&[u8]> {
    let (hash, body) = file.strip_prefix(MAGIC)?.split_at_checked(32)?;
    (Sha256::digest(body).as_slice() == hash).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::io::{read_own, write_own};

    #[test]
    fn what_is_kept_comes_back_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().join("new"));
        let (mut notes, key) = (Vec::new(), Key::of(["a", "b"]));
        assert_eq!(cache.get(&key, &mut notes), None);
        cache.put(&key, b"code", &mut notes);
        assert_eq!(cache.get(&key, &mut notes).as_deref(), Some(&b"code"[..]));
        assert_eq!(cache.get(&Key::of(["ab", ""]), &mut notes), None);
        assert_eq!(cache.get(&Key::of(["", "ab"]), &mut notes), None);
        assert!(notes.is_empty(), "{notes:?}");
        assert_eq!(fs::read_dir(folder.path().join("new")).unwrap().count(), 1);
    }

    #[test]
    fn a_damaged_entry_counts_as_none_and_is_noted_once() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path());
        let (mut notes, key) = (Vec::new(), Key::of(["a"]));
        cache.put(&key, b"some machine code", &mut notes);
        let path = cache.path(&key).unwrap();
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        *flipped.last_mut().unwrap() ^= 1;
        for damaged in [&flipped[..], &whole[..whole.len() - 1], &whole[..20], b""] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(cache.get(&key, &mut notes), None);
        }
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains("was damaged; compiled anew"), "{notes:?}");
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache { limit: 1000, ..Cache::at(folder.path()) };
        let (mut notes, now) = (Vec::new(), SystemTime::now());
        let keys: Vec<_> = ["a", "b", "c", "d", "e"].map(|name| Key::of([name])).into();
        let code = [7; 160]; // 200 bytes in a file: five fill the cache
        for (key, days) in keys.iter().zip(10..) {
            cache.put(key, &code, &mut notes);
            let file = fs::File::options().write(true).open(cache.path(key).unwrap()).unwrap();
            file.set_modified(now - days * DAY).unwrap();
        }
        // The oldest entry is used again; an interrupted writer's file is old as well.
        assert!(cache.get(&keys[4], &mut notes).is_some());
        let part = folder.path().join("x.part");
        fs::write(&part, "half").unwrap();
        let file = fs::File::options().write(true).open(&part).unwrap();
        file.set_modified(now - 2 * DAY).unwrap();
        let new = Key::of(["new"]);
        cache.put(&new, &code, &mut notes);
        let there = |key: &Key| cache.path(key).unwrap().exists();
        let kept: Vec<_> = keys.iter().map(there).collect();
        // Of 1200 bytes, three quarters of the limit of 1000 stay: three files.
        assert_eq!(kept, [true, false, false, false, true]);
        assert!(there(&new) && !part.exists() && notes.is_empty(), "{notes:?}");
    }

    #[test]
    #[cfg(unix)]
    fn a_folder_that_others_may_write_is_not_used_and_noted_once() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("cubin");
        let (mut notes, key) = (Vec::new(), Key::of(["a"]));
        Cache::at(&inner).put(&key, b"code", &mut notes);
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o777)).unwrap();
        let cache = Cache::at(&inner);
        assert_eq!(cache.get(&key, &mut notes), None);
        cache.put(&Key::of(["b"]), b"code", &mut notes);
        assert_eq!(fs::read_dir(&inner).unwrap().count(), 1);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains("can be written by other users"), "{notes:?}");
    }

    #[test]
    #[cfg(unix)]
    fn code_that_others_may_have_written_is_compiled_anew() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (mut notes, key) = (Vec::new(), Key::of(["a"]));
        let cache = Cache::at(folder.path());
        cache.put(&key, b"code", &mut notes);
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(&cache.path(&key).unwrap(), 0o666);
        assert_eq!(cache.get(&key, &mut notes), None);
        assert!(
            notes.len() == 1 && notes[0].contains("can be written by other users"),
            "{notes:?}"
        );
        cache.put(&key, b"code", &mut notes);
        assert_eq!(cache.get(&key, &mut notes).as_deref(), Some(&b"code"[..]));
        // The same of the folder for everything.
        assert_eq!(trusted(folder.path().into()), Ok(folder.path().into()));
        assert!(trusted(folder.path().join("none")).is_ok());
        mode(folder.path(), 0o777);
        let refused = trusted(folder.path().into()).unwrap_err();
        assert!(refused.contains("can be written by other users") && refused.contains("chmod"));
        mode(folder.path(), 0o700);
    }

    /// Runs itself under a umask that lets a user's group write, as many systems do.
    #[test]
    #[cfg(target_os = "linux")]
    fn any_umask_leaves_a_folder_that_is_trusted() {
        let key = Key::of(["a"]);
        if let Some(folder) = std::env::var_os("WARPWEFT_TEST_UMASK").map(PathBuf::from) {
            write_whole(&folder.join("new/probe.json"), b"{}").unwrap();
            write_own(&folder.join("new/tuning.json"), b"{}").unwrap();
            assert_eq!(read_own(&folder.join("new/tuning.json")).unwrap(), b"{}");
            fs::create_dir_all(folder.join("old/cubin")).unwrap();
            fs::write(folder.join("old/cubin/planted.cubin"), "by anybody").unwrap();
            for name in ["new", "old"] {
                let mut notes = Vec::new();
                let cache = Cache::below(folder.join(name), true);
                cache.put(&key, b"code", &mut notes);
                assert_eq!(cache.get(&key, &mut notes).as_deref(), Some(&b"code"[..]));
                assert!(notes.is_empty(), "{notes:?}");
                assert_eq!(fs::read_dir(folder.join(name).join("cubin")).unwrap().count(), 1);
            }
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let test = "cuda::compile::cache::tests::any_umask_leaves_a_folder_that_is_trusted";
        let output = std::process::Command::new("sh")
            .args(["-c", "umask 002; exec \"$0\" --exact \"$1\" --nocapture"])
            .args([std::env::current_exe().unwrap().as_os_str(), test.as_ref()])
            .env("WARPWEFT_TEST_UMASK", folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_noted_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "in the way").unwrap();
        let cache = Cache::at(file.join("cubin"));
        let mut notes = Vec::new();
        cache.put(&Key::of(["a"]), b"code", &mut notes);
        cache.put(&Key::of(["b"]), b"code", &mut notes);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].contains("WARPWEFT_CACHE"), "{notes:?}");
    }
}
