//! The line of progress that is there now, which what is printed must not run into. Not: what is on it.

use std::sync::{Mutex, PoisonError};

use indicatif::ProgressBar;

static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// From now on it is this one, or none.
pub fn show(line: Option<ProgressBar>) {
    *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = line;
}

/// Prints something while the line, if there is one, is out of the way.
pub fn aside<T>(print: impl FnOnce() -> T) -> T {
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match shown {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}
