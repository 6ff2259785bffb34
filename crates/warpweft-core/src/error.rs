//! The error type: what failed, at which stage, with the values and a hint.

use std::path::PathBuf;

/// The result type of every function that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of every function that can fail. Each message names the stage, the values and what to do.
/// `Debug` prints the same message, so `fn main() -> Result<()>` shows it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request is impossible. This is found before anything runs.
    #[error("{what}; help: {hint}")]
    Spec {
        /// What is wrong, with the value.
        what: String,
        /// What to write instead.
        hint: String,
    },
    /// Not enough memory for the plan.
    #[error("{whose} memory: {needed} bytes needed{}, {available} available{}; help: {hint}", in_units(*needed), in_units(*available))]
    Memory {
        /// `host`, or the device's name.
        whose: String,
        /// Bytes the plan needs.
        needed: u64,
        /// Available bytes.
        available: u64,
        /// What would fit into memory.
        hint: String,
    },
    /// An element function faulted (division by zero, index out of bounds).
    #[error("the element function failed at {place}: {what}; help: guard the operation there")]
    Element {
        /// Source file and line, or the device.
        place: String,
        /// What happened.
        what: String,
    },
    /// A GPU, or the software that drives it, failed or is not there.
    #[error("{stage} on {device}: {what}; help: {hint}")]
    Device {
        /// The stage, e.g. compiling or launching.
        stage: String,
        /// Which device.
        device: String,
        /// The driver's message.
        what: String,
        /// What may help.
        hint: String,
    },
    /// The compiler of device code refused a kernel.
    #[error("compiling {kernel} for the device failed:\n{log}")]
    Compile {
        /// Which kernel.
        kernel: String,
        /// The compiler's log.
        log: String,
    },
    /// A rank of a distributed run failed, or was stopped because another did.
    #[error("rank {rank}: {what}; help: {hint}")]
    Rank {
        /// The rank that reports the error.
        rank: usize,
        /// What happened.
        what: String,
        /// What to do.
        hint: String,
    },
    /// A task of a farm failed.
    #[error(
        "task {task} failed on {worker}: {what}; help: correct the task, or let the farm skip tasks that fail"
    )]
    Task {
        /// Its number.
        task: u64,
        /// The worker that ran it.
        worker: String,
        /// Why.
        what: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {what}; help: {hint}")]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        what: String,
        /// What to do.
        hint: String,
    },
    /// The run was asked to stop. What was complete by then is kept.
    #[error("interrupted after {done} of {total} {unit}")]
    Interrupted {
        /// Work that was done.
        done: u64,
        /// Work that was requested.
        total: u64,
        /// What is counted, in the plural: "steps", "cells", "calls".
        unit: &'static str,
    },
}

/// The same number of bytes in a readable unit: ` (1.50 GiB)`; empty below a KiB.
fn in_units(bytes: u64) -> String {
    let units = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = units.into_iter().find(|&(unit, _): &(u64, _)| bytes >= unit);
    let told = |(unit, name)| format!(" ({:.2} {name})", bytes as f64 / unit as f64);
    unit.map(told).unwrap_or_default()
}

impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl Error {
    /// An [`Error::Spec`].
    pub fn spec(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Spec { what: what.into(), hint: hint.into() }
    }
    /// An [`Error::File`].
    pub fn file(path: impl Into<PathBuf>, what: impl ToString, hint: impl Into<String>) -> Self {
        Self::File { path: path.into(), what: what.to_string(), hint: hint.into() }
    }
}

/// The error for a thread that the operating system refused.
pub fn no_thread(stage: &str, error: &std::io::Error) -> Error {
    Error::Device {
        stage: stage.into(),
        device: "this host".into(),
        what: format!("the system refused to start a thread: {error}"),
        hint: "raise the limits on processes and memory (`ulimit -u`, `-v`), or use fewer threads or ranks".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::Error;

    #[test]
    fn a_program_that_ends_with_an_error_shows_its_message() {
        let error = Error::spec("0 ranks", "use at least 1");
        assert_eq!(format!("{error:?}"), "0 ranks; help: use at least 1");
    }

    #[test]
    fn memory_is_told_in_units_that_people_read() {
        let (needed, available, hint) = (3 << 29, 1000, "choose less".into());
        let error = Error::Memory { whose: "host".into(), needed, available, hint };
        let expect =
            "host memory: 1610612736 bytes needed (1.50 GiB), 1000 available; help: choose less";
        assert_eq!(error.to_string(), expect);
    }
}
