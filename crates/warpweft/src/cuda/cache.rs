//! Compiled code kept on disk by the hash of everything it depends on. Not: the compiler.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use sha2::{Digest, Sha256};

/// How a file of the cache begins; the number changes with its form.
const MAGIC: &[u8; 8] = b"WWCUBIN1";

/// A folder of compiled kernels, shared by all processes of a user.
#[derive(Debug)]
pub struct Cache {
    folder: Option<PathBuf>,
    // What was said already: a note is given once a process.
    said: Mutex<HashSet<String>>,
}

/// The identity of a compilation.
pub(super) struct Key(String);

/// The folder for what can be made again: `$WARPWEFT_CACHE`, else `$XDG_CACHE_HOME/warpweft`, else
/// `~/.cache/warpweft`; `None` where none of the three is set.
pub fn folder() -> Option<PathBuf> {
    let path = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    path("WARPWEFT_CACHE")
        .or_else(|| Some(path("XDG_CACHE_HOME")?.join("warpweft")))
        .or_else(|| Some(path("HOME")?.join(".cache/warpweft")))
}

/// Writes `bytes` beside `path` and renames, so that a reader sees the old file or the new one.
///
/// # Errors
/// The file system's.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let beside = path.with_extension(format!("{}-{number}.part", std::process::id()));
    let written = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

impl Key {
    /// The hash of `parts`, each told apart from the next.
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
    /// The user's, under [`folder`].
    pub fn user() -> &'static Self {
        static USER: OnceLock<Cache> = OnceLock::new();
        USER.get_or_init(|| Self {
            folder: folder().map(|folder| folder.join("cubin")),
            said: Mutex::default(),
        })
    }

    /// One in a folder of its own, made when something is first kept.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()), said: Mutex::default() }
    }

    /// One that keeps nothing.
    pub fn none() -> Self {
        Self { folder: None, said: Mutex::default() }
    }

    /// What was kept under `key`, whole and unchanged. A damaged entry counts as none and adds a
    /// note.
    pub(super) fn get(&self, key: &Key, notes: &mut Vec<String>) -> Option<Vec<u8>> {
        let path = self.path(key)?;
        let file = match fs::read(&path) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return None,
            Err(error) => {
                let what = format!("can't read {}: {error}; compiled anew", path.display());
                self.say(format!("read {:?}", error.kind()), what, notes);
                return None;
            }
        };
        let body = body(&file);
        if body.is_none() {
            let what = format!("{} was damaged; compiled anew", path.display());
            self.say(what.clone(), what, notes);
        }
        body.map(<[u8]>::to_vec)
    }

    /// Keeps `bytes` under `key`; a folder that can't be written adds a note.
    pub(super) fn put(&self, key: &Key, bytes: &[u8], notes: &mut Vec<String>) {
        let Some(path) = self.path(key) else { return };
        let mut file = MAGIC.to_vec();
        file.extend(Sha256::digest(bytes));
        file.extend(bytes);
        if let Err(error) = write_whole(&path, &file) {
            let folder = path.parent().unwrap_or(&path).display();
            let what = format!(
                "can't keep compiled kernels in {folder}: {error}; set WARPWEFT_CACHE to a folder \
                 that can be written"
            );
            self.say("write".into(), what, notes);
        }
    }

    fn path(&self, key: &Key) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{}.cubin", key.0)))
    }

    fn say(&self, once: String, what: String, notes: &mut Vec<String>) {
        if self.said.lock().unwrap_or_else(PoisonError::into_inner).insert(once) {
            notes.push(what);
        }
    }
}

/// The content of a file of the cache, if the file is whole.
fn body(file: &[u8]) -> Option<&[u8]> {
    let (hash, body) = file.strip_prefix(MAGIC)?.split_at_checked(32)?;
    (Sha256::digest(body).as_slice() == hash).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

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
