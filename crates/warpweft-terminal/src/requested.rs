//! The output files that the user has requested, and which of them are written: what a user must know if a signal ends the
//! process in between. Not: how they are written.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::place;

/// By file: whether it is written.
static FILES: Mutex<Vec<(PathBuf, bool)>> = Mutex::new(Vec::new());

/// The user has requested `files` of this process, if it is the one that writes.
pub fn request<'a>(files: impl Iterator<Item = &'a PathBuf>) {
    if !place::speaks() {
        return;
    }
    let mut known = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    known.extend(files.map(|file| (file.clone(), false)));
}

/// The file that was requested by this name is written.
pub fn written(file: &Path) {
    let mut known = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    known.iter_mut().filter(|(name, _)| name == file).for_each(|(_, written)| *written = true);
}

/// Which files are written and which are not, in words; `None` if none was requested.
pub fn state() -> Option<String> {
    words(&FILES.lock().unwrap_or_else(PoisonError::into_inner))
}

fn words(files: &[(PathBuf, bool)]) -> Option<String> {
    let of = |wanted: bool, words: &str| {
        let names = files.iter().filter(|(_, written)| *written == wanted);
        let names: Vec<_> = names.map(|(name, _)| name.display().to_string()).collect();
        (!names.is_empty()).then(|| format!("{words}: {}", names.join(", ")))
    };
    let parts: Vec<_> = of(true, "written").into_iter().chain(of(false, "not written")).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_named_once_with_its_state() {
        let files = |states: &[bool]| -> Vec<_> {
            states
                .iter()
                .enumerate()
                .map(|(k, state)| (format!("{k}.npy").into(), *state))
                .collect()
        };
        assert_eq!(words(&[]), None);
        let some = words(&files(&[false, true, false, true]));
        assert_eq!(some.as_deref(), Some("written: 1.npy, 3.npy; not written: 0.npy, 2.npy"));
        assert_eq!(words(&files(&[true])).as_deref(), Some("written: 0.npy"));
        assert_eq!(words(&files(&[false])).as_deref(), Some("not written: 0.npy"));
    }
}
