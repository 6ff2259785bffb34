//! Tuning results, stored on disk.
//!
//! One JSON file, written under another name and renamed, so that readers see an old or a new file and never
//! half of one. If several processes write at once, an entry may be lost, which costs a search.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Measured;
use crate::cuda;
use crate::error::{Error, Result};
use crate::grid::io::{make_private, read_own, write_own};

/// Raised when the format changes; files of another format count as empty.
const FORM: u32 = 1;

/// One tuned result and its measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The policy, in the pattern's JSON form.
    pub policy: serde_json::Value,
    /// The times of the best candidate.
    pub measured: Measured,
    /// Its rate, in the pattern's unit.
    pub rate: f64,
    /// Number of candidates that were measured, the best one included.
    pub tried: usize,
}

impl Entry {
    /// Whether this entry is faster than `new` and came from a longer search. Then it should be kept, because the shorter
    /// search has only tried fewer candidates. A new result from an equally long search is preferred, because it reflects
    /// the present state of the machine.
    pub fn outdoes(&self, new: &Self) -> bool {
        self.tried > new.tried && self.rate > new.rate
    }
}

#[derive(Default, Serialize, Deserialize)]
struct File {
    form: u32,
    entries: BTreeMap<String, Entry>,
}

/// The tuning results of a folder.
#[derive(Clone, Debug)]
pub struct TuningCache {
    path: Option<PathBuf>,
    entries: BTreeMap<String, Entry>,
    note: Option<String>,
}

impl TuningCache {
    /// The user's cache. It is empty and not stored if there is no cache folder, or if others may
    /// write there.
    pub fn user() -> Self {
        static SAID: AtomicBool = AtomicBool::new(false);
        let nowhere = |note| Self { path: None, entries: BTreeMap::new(), note };
        let mut cache = match cuda::trusted_folder() {
            Ok(None) => return nowhere(None),
            Ok(Some(folder)) => Self::open(&folder),
            Err(why) => nowhere(Some(why)),
        };
        // Once a process is enough.
        if cache.note.is_some() && SAID.swap(true, Ordering::Relaxed) {
            cache.note = None;
        }
        cache
    }

    /// The cache in a folder. A damaged file counts as empty, is renamed and leaves a note. One that others may have
    /// written counts as empty, too, and leaves a note; it is replaced when something is kept.
    pub fn open(folder: &Path) -> Self {
        let path = folder.join("tuning.json");
        let mut cache = Self { path: Some(path.clone()), entries: BTreeMap::new(), note: None };
        let text = match read_own(&path) {
            Ok(text) => text,
            Err(error) => {
                if error.kind() == io::ErrorKind::PermissionDenied {
                    let path = path.display();
                    let text = format!("tuned policies in {path} are not used: {error}; remove it");
                    cache.note = Some(text);
                }
                return cache;
            }
        };
        match serde_json::from_slice::<File>(&text) {
            Ok(file) if file.form == FORM => cache.entries = file.entries,
            Ok(_) => {}
            Err(error) => {
                let aside = path.with_extension("json.damaged");
                let what = match std::fs::rename(&path, &aside) {
                    Ok(()) => format!(
                        "was replaced by an empty one; the damaged file is now {}",
                        aside.display()
                    ),
                    Err(error) => format!("can't be set aside: {error}"),
                };
                let path = path.display();
                cache.note = Some(format!("{path} was damaged ({error}) and {what}"));
            }
        }
        cache
    }

    /// A note for the user, if the file was damaged or its folder is not trusted.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The entry for `key`.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// The entry for a key that begins with `start`; if there are several, that of the longest search.
    pub fn beginning(&self, start: &str) -> Option<&Entry> {
        let from = self.entries.range(start.to_owned()..);
        let known = from.take_while(|(key, _)| key.starts_with(start));
        known.map(|(_, entry)| entry).max_by_key(|entry| entry.tried)
    }

    /// The policy for `key`; `None` also if it can't be read as a `P`.
    pub fn policy<P: DeserializeOwned>(&self, key: &str) -> Option<P> {
        serde_json::from_value(self.get(key)?.policy.clone()).ok()
    }

    /// Keeps `entry` for `key`, here and on disk; `false` where there is no folder to keep it in.
    ///
    /// # Errors
    /// The file can't be written; the entry is known to this object nevertheless.
    pub fn keep(&mut self, key: &str, entry: Entry) -> Result<bool> {
        let Some(path) = self.path.clone() else {
            self.entries.insert(key.into(), entry);
            return Ok(false);
        };
        // Others may have written meanwhile.
        let mut now = Self::open(path.parent().unwrap_or(Path::new(".")));
        now.entries.append(&mut self.entries);
        self.entries = now.entries;
        self.entries.insert(key.into(), entry);
        let refused = |error: String| {
            Error::file(&path, error, "set WARPWEFT_CACHE to a folder that can be written")
        };
        if let Some(folder) = path.parent() {
            make_private(folder).map_err(|error| refused(error.to_string()))?;
        }
        let file = File { form: FORM, entries: self.entries.clone() };
        let text = serde_json::to_vec_pretty(&file).map_err(|error| refused(error.to_string()))?;
        write_own(&path, &text).map(|()| true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(policy: usize) -> Entry {
        let measured = Measured { median: 0.5, least: 0.25, runs: 3 };
        Entry { policy: serde_json::json!(policy), measured, rate: 2.0, tried: 4 }
    }

    #[test]
    fn what_was_kept_is_found_again_by_others_writers_included() {
        let folder = tempfile::tempdir().unwrap();
        let (mut a, mut b) = (TuningCache::open(folder.path()), TuningCache::open(folder.path()));
        a.keep("a", entry(1)).unwrap();
        b.keep("b", entry(2)).unwrap();
        let read = TuningCache::open(folder.path());
        assert_eq!(read.get("a"), Some(&entry(1)));
        assert_eq!(read.policy::<usize>("b"), Some(2));
        assert_eq!(read.policy::<String>("b"), None);
    }

    #[test]
    #[cfg(unix)]
    fn what_others_may_have_written_is_not_used_but_replaced() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tuning.json");
        TuningCache::open(folder.path()).keep("a", entry(1)).unwrap();
        for mode in [0o664, 0o646] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let mut refused = TuningCache::open(folder.path());
            assert_eq!(refused.get("a"), None);
            let note = refused.note().unwrap();
            assert!(note.contains("can be written by other users"), "{note}");
            refused.keep("b", entry(2)).unwrap();
            let now = TuningCache::open(folder.path());
            assert_eq!((now.get("a"), now.get("b"), now.note()), (None, Some(&entry(2)), None));
            now.clone().keep("a", entry(1)).unwrap();
        }
    }

    #[test]
    fn of_keys_that_begin_alike_the_longest_search_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let mut cache = TuningCache::open(folder.path());
        for (key, tried) in [("a; 1", 7), ("ab; 1", 2), ("ab; 2", 3), ("ac", 9)] {
            cache.keep(key, Entry { tried, ..entry(tried) }).unwrap();
        }
        let tried = |start: &str| cache.beginning(start).map(|entry| entry.tried);
        assert_eq!(["ab; ", "a", "ab; 3", "b"].map(tried), [Some(3), Some(9), None, None]);
    }

    #[test]
    fn a_short_search_that_finds_less_is_outdone_a_better_or_longer_one_is_not() {
        let known = entry(1);
        let of = |rate, tried| Entry { rate, tried, ..entry(2) };
        assert!(known.outdoes(&of(1.9, 3)));
        assert!(![of(2.1, 3), of(1.9, 4), of(1.0, 9)].iter().any(|new| known.outdoes(new)));
    }

    #[test]
    fn a_damaged_file_is_begun_anew_with_a_note() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("tuning.json"), "{\"form\": 1, \"ent").unwrap();
        let mut cache = TuningCache::open(folder.path());
        assert!(cache.note().is_some_and(|note| note.contains("was replaced by an empty one")));
        assert_eq!(
            TuningCache::open(folder.path()).note(),
            None,
            "said once, whether tuned or not"
        );
        cache.keep("a", entry(1)).unwrap();
        assert_eq!(TuningCache::open(folder.path()).get("a"), Some(&entry(1)));
        assert_eq!(TuningCache::open(folder.path()).note(), None);
    }
}
