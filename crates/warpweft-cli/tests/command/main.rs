//! The built command as users meet it: what it says, writes and exits with.

mod align;
mod apps;
mod apsp;
mod bad_input;
mod caches;
mod channels;
mod checkpoint;
mod files;
mod gpu;
mod info;
mod interrupt;
#[path = "../../../warpweft/tests/launchers/mod.rs"]
mod launchers;
mod memory;
mod model;
#[cfg(feature = "mpi")]
mod nodes;
mod numbers;
mod ranks;
mod run;
mod speech;
mod wavefronts;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What a run of the command came to.
struct Ran {
    status: Option<i32>,
    out: String,
    err: String,
}

/// The command in `directory`, with a cache that all tests share: measuring the machine takes
/// seconds and is done once.
fn command(directory: &Path) -> Command {
    cached(bare(), directory)
}

/// `command` with that cache.
fn cached(mut command: Command, directory: &Path) -> Command {
    static CACHE: OnceLock<PathBuf> = OnceLock::new();
    let cache = CACHE.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let cache = match target.is_dir() {
            true => target.join("cache"),
            false => std::env::temp_dir().join(format!("warpweft-tests-{}", std::process::id())),
        };
        let line = ["run", "heat", "--size", "8", "--steps", "1"];
        let ran = bare().args(line).env("WARPWEFT_CACHE", &cache).output().expect("it starts");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        cache
    });
    command.current_dir(directory).env("WARPWEFT_CACHE", cache);
    command
}

fn bare() -> Command {
    Command::new(program())
}

/// The command itself: the one named from outside where the tests were carried elsewhere.
fn program() -> PathBuf {
    let named = std::env::var_os("WARPWEFT_COMMAND").map(PathBuf::from);
    named.unwrap_or_else(|| env!("CARGO_BIN_EXE_warpweft").into())
}

/// Runs the command with the words of `line` as its arguments.
fn warpweft_in(directory: &Path, line: &str) -> Ran {
    Ran::of(command(directory).args(line.split_whitespace()))
}

fn warpweft(line: &str) -> Ran {
    let directory = tempfile::tempdir().expect("a temporary directory");
    warpweft_in(directory.path(), line)
}

impl Ran {
    /// Runs `command` to its end.
    fn of(command: &mut Command) -> Self {
        let output = command.output().expect("it starts");
        Self {
            status: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Asserts success and returns standard output.
    fn fine(self) -> String {
        assert_eq!(self.status, Some(0), "{}{}", self.out, self.err);
        self.out
    }

    /// Asserts the status, one error line, and what it contains.
    fn fails(&self, status: i32, expect: &[&str]) {
        assert_eq!(self.status, Some(status), "{}{}", self.out, self.err);
        // Notes come first, e.g. of limits that were measured on a busy machine.
        let first = self.err.lines().find(|line| !line.starts_with("note: ")).unwrap_or_default();
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
