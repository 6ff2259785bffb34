//! Runs under compute-sanitizer: memory errors, races in shared memory, barriers that not all threads reach, and reads
//! of memory that nobody wrote. The script does it all, since it is packed for machines without cargo too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::last_line;
use crate::tally::Tally;

/// The script, and what the tools report of kernels that are right all the same: tool, kernel and reason a line.
pub const SCRIPT: &str = include_str!("sanitize.sh");
pub const KNOWN: &str = include_str!("known.txt");

/// Runs the script on `command`; `folder` is where it is put.
pub fn run(command: &Path, folder: &Path) -> Result<Tally, String> {
    println!("== compute-sanitizer");
    let [script, known] = put(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let output = Command::new("bash")
        .args([script.as_path(), command, &known])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("the script can't be run: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    Ok(last_line(&text).unwrap_or_else(|| Tally::one(false)))
}

/// Writes the script and its list into `folder`.
pub fn put(folder: &Path) -> std::io::Result<[PathBuf; 2]> {
    fs::create_dir_all(folder)?;
    let files = ["sanitize.sh", "known.txt"].map(|name| folder.join(name));
    fs::write(&files[0], SCRIPT)?;
    fs::write(&files[1], KNOWN)?;
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_report_names_tool_kernel_and_reason() {
        let tools = ["memcheck", "racecheck", "synccheck", "initcheck"];
        assert!(tools.iter().all(|tool| SCRIPT.contains(tool)));
        for line in KNOWN.lines() {
            let words: Vec<_> = line.split(' ').collect();
            assert!(tools.contains(&words[0]) && words[1].contains('_'), "{line}");
            assert!(words.len() > 5 && line.ends_with(')'), "{line}");
        }
    }
}
