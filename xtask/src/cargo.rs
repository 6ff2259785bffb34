//! Calling cargo and test programs.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::tally::{Reader, Tally};

/// The cargo that runs this program, in the repository's root.
pub fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// The same, but for the time of cores that nobody else wants.
pub fn unhurried(root: &Path) -> Command {
    let cargo = cargo(root);
    let mut command = Command::new("nice");
    command.args(["-n", "19"]).arg(cargo.get_program()).current_dir(root);
    command
}

/// Runs a check; says its name and returns whether it held.
pub fn check(name: &str, command: &mut Command) -> Result<bool, String> {
    println!("== {name}");
    let status = command.status().map_err(|error| format!("{name} can't be run: {error}"))?;
    Ok(status.success())
}

/// Runs a check next to others; prints its name and its whole output when it ends.
pub fn run_captured(name: &str, command: &mut Command) -> Result<bool, String> {
    let output = command.output().map_err(|error| format!("{name} can't be run: {error}"))?;
    let said = [output.stdout, output.stderr].map(|s| String::from_utf8_lossy(&s).into_owned());
    println!("== {name}\n{}", said.concat().trim_end());
    Ok(output.status.success())
}

/// Runs test programs, shows their results and adds them up.
///
/// A failing status without a failed test (a build error, a crash) counts as one failure.
pub fn tests(name: &str, command: &mut Command) -> Result<Tally, String> {
    println!("== {name}");
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{name} can't be run: {error}"))?;
    let mut reader = Reader::default();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = line.map_err(|error| format!("reading the output of {name}: {error}"))?;
            let line = String::from_utf8_lossy(&line);
            if reader.line(&line) {
                println!("{line}");
            }
        }
    }
    let status = child.wait().map_err(|error| format!("waiting for {name}: {error}"))?;
    for (test, reason) in &reader.skips {
        println!("skipped {test}: {reason}");
    }
    if !status.success() && reader.tally.failed == 0 {
        reader.tally.failed = 1;
    }
    Ok(reader.tally)
}
