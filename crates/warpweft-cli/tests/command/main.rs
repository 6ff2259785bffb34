//! The built command as users meet it: what it says, writes and exits with.

mod bad_input;
mod files;
mod info;
mod interrupt;
mod run;
mod speech;

use std::path::Path;
use std::process::Command;

/// What a run of the command came to.
struct Ran {
    status: Option<i32>,
    out: String,
    err: String,
}

/// The command in `directory`, its own caches there too.
fn command(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpweft"));
    command.current_dir(directory).env("XDG_CACHE_HOME", directory.join("cache"));
    command
}

/// Runs the command with the words of `line` as its arguments.
fn warpweft_in(directory: &Path, line: &str) -> Ran {
    let output = command(directory).args(line.split_whitespace()).output().expect("it starts");
    Ran {
        status: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn warpweft(line: &str) -> Ran {
    let directory = tempfile::tempdir().expect("a temporary directory");
    warpweft_in(directory.path(), line)
}

impl Ran {
    /// Asserts success and returns standard output.
    fn fine(self) -> String {
        assert_eq!(self.status, Some(0), "{}{}", self.out, self.err);
        self.out
    }

    /// Asserts the status, one error line, and what it contains.
    fn fails(&self, status: i32, expect: &[&str]) {
        assert_eq!(self.status, Some(status), "{}{}", self.out, self.err);
        let first = self.err.lines().next().unwrap_or_default();
        assert!(first.starts_with("error: "), "{}", self.err);
        for expect in expect {
            assert!(self.err.contains(expect), "{:?} should contain {expect:?}", self.err);
        }
    }

    /// The one JSON object on standard output.
    fn json(self) -> serde_json::Value {
        let status = self.status;
        let out = self.out.trim();
        match serde_json::from_str(out) {
            Ok(json) => json,
            Err(error) => panic!("status {status:?}, {error}: {out}{}", self.err),
        }
    }
}
