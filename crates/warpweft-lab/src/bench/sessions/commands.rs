//! Wall time of whole commands on a machine with a GPU: set-up, run and check, with and without kernels in the cache.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use warpweft::prelude::*;
use warpweft_terminal::output::note;

use super::{Figure, Place};

/// What is timed.
const COMMANDS: [&str; 3] = [
    "run heat --size 1024 --steps 400",
    "run himeno --class L",
    "run seismic --size 256 --steps 500",
];

/// Runs first, so that the machine is known: an application and a size that is none of theirs.
const FIRST: &str = "run heat --size 40x40 --steps 3";

/// Seconds of each command as the user sees them, once without kernels in any cache, then again.
///
/// # Errors
/// There is no command `warpweft` next to this program, or it fails.
pub fn measured(place: &Place<'_>) -> Result<Vec<Figure>> {
    if place.machine.gpus.is_empty() {
        note("commands are timed on machines with a GPU only");
        return Ok(Vec::new());
    }
    let own = std::env::current_exe().unwrap_or_default();
    let program = own.with_file_name("warpweft");
    let failed = |what: std::io::Error| {
        Error::file(&program, what, "build it: cargo build --release -p warpweft-cli")
    };
    let cache = tempfile::tempdir().map_err(failed)?;
    let seconds = |line: &str| -> Result<f64> {
        let begin = Instant::now();
        let status = prepared(&program, cache.path(), line).status().map_err(failed)?;
        match status.success() {
            true => Ok(begin.elapsed().as_secs_f64()),
            false => Err(failed(std::io::Error::other(format!("{line}: {status}")))),
        }
    };
    seconds(FIRST)?;
    let mut figures = Vec::new();
    for line in COMMANDS {
        let name = |cache: &str| format!("{line}, {cache}");
        figures.push(Figure::median(
            name("no kernels in a cache"),
            "default",
            vec![seconds(line)?],
            "s",
        ));
        let again = (0..place.repeats).map(|_| seconds(line)).collect::<Result<_>>()?;
        figures.push(Figure::median(name("again"), "default", again, "s"));
    }
    Ok(figures)
}

/// `program` with the arguments of `line`, with caches in `cache`: Warpweft's own and the driver's.
fn prepared(program: &Path, cache: &Path, line: &str) -> Command {
    let mut command = Command::new(program);
    command.args(line.split(' ')).stdout(Stdio::null()).stderr(Stdio::null());
    command.env("WARPWEFT_CACHE", cache.join("own")).env("CUDA_CACHE_PATH", cache.join("driver"));
    command
}
