//! Running a program as users do: what it says, writes and exits with. Which program, the tests' root says.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What a run of the program came to.
pub struct Ran {
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
}

/// The command in `directory`, with a cache that all tests share: measuring the machine takes
/// seconds and is done once.
pub fn command(directory: &Path) -> Command {
    cached(bare(), directory)
}

/// `command` with that cache.
pub fn cached(mut command: Command, directory: &Path) -> Command {
    static CACHE: OnceLock<PathBuf> = OnceLock::new();
    let cache = CACHE.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let cache = match target.is_dir() {
            true => target.join("cache"),
            false => std::env::temp_dir().join(format!("warpweft-tests-{}", std::process::id())),
        };
        if let Some(line) = super::MEASURES {
            let mut command = bare();
            command.args(line.split_whitespace()).env("WARPWEFT_CACHE", &cache);
            Ran::of(&mut command).fine();
        }
        cache
    });
    command.current_dir(directory).env("WARPWEFT_CACHE", cache);
    command
}

/// The program, with a cache of its own.
pub fn bare() -> Command {
    Command::new(program())
}

/// The program itself: the one named from outside where the tests were carried elsewhere.
pub fn program() -> PathBuf {
    let (built, variable) = super::PROGRAM;
    std::env::var_os(variable).map_or_else(|| built.into(), PathBuf::from)
}

/// Runs the command with the words of `line` as its arguments.
pub fn warpweft_in(directory: &Path, line: &str) -> Ran {
    Ran::of(command(directory).args(line.split_whitespace()))
}

/// The same in a folder of its own.
pub fn warpweft(line: &str) -> Ran {
    let directory = tempfile::tempdir().expect("a temporary directory");
    warpweft_in(directory.path(), line)
}

impl Ran {
    /// Runs `command` to its end.
    pub fn of(command: &mut Command) -> Self {
        let output = command.output().expect("it starts");
        Self {
            status: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Asserts success and returns standard output.
    pub fn fine(self) -> String {
        assert_eq!(self.status, Some(0), "{}{}", self.out, self.err);
        self.out
    }

    /// Asserts the status, one error line, and what it contains; `help: ` before a hint may be left out of `expect`.
    pub fn fails(&self, status: i32, expect: &[&str]) {
        assert_eq!(self.status, Some(status), "{}{}", self.out, self.err);
        // Notes come first, e.g. of limits that were measured on a busy machine.
        let first = self.err.lines().find(|line| !line.starts_with("note: ")).unwrap_or_default();
        assert!(first.starts_with("error: "), "{}", self.err);
        let unmarked = self.err.replace("; help: ", "; ");
        for expect in expect {
            let said = self.err.contains(expect) || unmarked.contains(expect);
            assert!(said, "{:?} should contain {expect:?}", self.err);
        }
    }

    /// The one JSON object on standard output.
    pub fn json(self) -> serde_json::Value {
        let status = self.status;
        let out = self.out.trim();
        match serde_json::from_str(out) {
            Ok(json) => json,
            Err(error) => panic!("status {status:?}, {error}: {out}{}", self.err),
        }
    }
}
