//! The progress line on the terminal, which printed text must not overwrite.

use std::sync::{Mutex, PoisonError};

use indicatif::ProgressBar;

static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Sets or removes the present line.
pub fn show(line: Option<ProgressBar>) {
    *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = line;
}

/// Prints while the line, if there is one, is hidden.
pub fn aside<T>(print: impl FnOnce() -> T) -> T {
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match shown {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}
