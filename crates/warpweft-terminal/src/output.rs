//! Output: texts to standard output, one-line errors to standard error.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use warpweft::Error;

use crate::{line, place, requested};

/// The exit status of an interrupted run: 128 + SIGINT.
pub const INTERRUPTED: u8 = 130;

/// Writes `text` and a newline to standard output. A closed pipe (`| head`) is not an error.
pub fn say(text: &str) -> ExitCode {
    if !place::speaks() {
        return ExitCode::SUCCESS;
    }
    let print = || {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{text}").and_then(|()| out.flush())
    };
    printed(line::aside(print))
}

/// The exit status after printing to standard output.
pub fn printed(outcome: std::io::Result<()>) -> ExitCode {
    match outcome {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            complain(&format!("standard output: {error}; help: write to a place that has room"));
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Writes one line to standard error.
pub fn complain(what: &str) {
    // If standard error is closed, there is nowhere to report it.
    let _ = line::aside(|| writeln!(std::io::stderr(), "error: {what}"));
}

/// Prints a note on standard error, once.
pub fn note(what: &str) {
    if place::speaks() {
        note_here(what);
    }
}

/// The same by any process, for when the process that usually prints is gone.
pub fn note_here(what: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if !SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(what.into()) {
        return;
    }
    // As in `complain`.
    let _ = line::aside(|| writeln!(std::io::stderr(), "note: {what}"));
}

/// Prints an error and returns the exit status: 2 for an impossible request, 130 for an interrupt, else 1.
pub fn fail(error: &Error) -> ExitCode {
    let text = match (error, requested::state()) {
        (Error::Interrupted { .. }, Some(files)) => format!("{error}; {files}"),
        _ => error.to_string(),
    };
    match place::place().filter(|place| place.rank > 0) {
        None => complain(&text),
        Some(place) => match error {
            // Rank 0 prints it too.
            Error::Spec { .. } => {}
            Error::Rank { what, .. } if what.starts_with("stopped because") => {}
            Error::Rank { .. } => complain(&text),
            _ => complain(&format!("rank {}: {text}", place.rank)),
        },
    }
    ExitCode::from(status(error))
}

/// The exit status of an error.
pub fn status(error: &Error) -> u8 {
    match error {
        Error::Spec { .. } => 2,
        Error::Interrupted { .. } => INTERRUPTED,
        _ => 1,
    }
}

/// A number with a prefix, with one to three digits before the point: `4.53 G`.
pub fn scaled(value: f64) -> String {
    let prefixes = [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let (scale, prefix) =
        prefixes.into_iter().find(|(scale, _)| value.abs() >= *scale).unwrap_or((1.0, ""));
    let value = value / scale;
    let digits = if value.abs() >= 100.0 {
        0
    } else if value.abs() >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {prefix}")
}

/// A time: three digits below a second, milliseconds above.
pub fn time(seconds: f64) -> String {
    let units = [(1e-3, 1e3, "ms"), (1e-6, 1e6, "us"), (0.0, 1e9, "ns")];
    match units.iter().find(|(least, ..)| seconds < 1.0 && seconds >= *least) {
        None => format!("{seconds:.3} s"),
        Some((_, scale, unit)) => format!("{}{unit}", scaled(seconds * scale)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_fits() {
        let cases =
            [(0.0, "0.00 ns"), (5.6e-7, "560 ns"), (1.03e-6, "1.03 us"), (0.0123, "12.3 ms")];
        cases.iter().for_each(|(seconds, expect)| assert_eq!(time(*seconds), *expect));
        assert_eq!(time(75.25), "75.250 s");
    }

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!(scaled(4.534e9), "4.53 G");
        assert_eq!(scaled(501.2e9), "501 G");
        assert_eq!(scaled(12.0), "12.0 ");
        assert_eq!(scaled(0.0), "0.00 ");
    }
}
