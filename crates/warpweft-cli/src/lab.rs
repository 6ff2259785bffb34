//! `warpweft bench`, `model` and `verify`: a second program, `warpweft-lab`, does their work. It is found and
//! executed here; what these subcommands do is not here.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use warpweft_terminal::{output, world};

/// The program.
const PROGRAM: &str = "warpweft-lab";

/// Exit status if it is not installed: that of a request that can't be served.
const MISSING: u8 = 2;

/// Arguments for the program, passed on unchanged.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
#[command(
    after_help = "`warpweft bench --help`, `warpweft model --help` and `warpweft verify --help` list their options.
They belong to a second program:
  cargo build --release -p warpweft-lab"
)]
pub struct Arguments {
    /// The subcommand's options, or --help.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    words: Vec<OsString>,
}

/// The arguments for the lab, if this process was started with `bench ..`, `model ..`, `verify ..`, or `help`
/// for one of them.
pub fn asked() -> Option<Vec<OsString>> {
    let words = words();
    let is_lab = |word: &OsString| ["bench", "model", "verify"].iter().any(|lab| word == lab);
    match words.as_slice() {
        [help, word, ..] if help == "help" && is_lab(word) => Some(words),
        [word, ..] if is_lab(word) => Some(words),
        _ => None,
    }
}

/// All arguments of this process.
pub fn words() -> Vec<OsString> {
    std::env::args_os().skip(1).collect()
}

/// Replaces this process by the lab with the arguments `words`; returns if the lab is not installed.
pub fn become_lab(words: &[OsString]) -> ExitCode {
    let Some(program) = found() else {
        let asked = words.iter().find(|word| *word != "help").map(|word| word.to_string_lossy());
        let what = format!(
            "`warpweft {}` needs the program {PROGRAM}, which is neither next to this program nor on the PATH",
            asked.unwrap_or_default()
        );
        return refuse(&what);
    };
    let mut command = Command::new(&program);
    command.args(words);
    let error = match replace(command) {
        Ok(status) => return status,
        Err(error) => error,
    };
    let what = format!("{} can't be started: {error}", program.display());
    refuse(&what)
}

fn refuse(what: &str) -> ExitCode {
    let print = || output::complain(&format!("{what}\nhelp: cargo build --release -p {PROGRAM}"));
    world::refuse(what, MISSING, print)
}

/// The lab's program: next to this one, else on the PATH.
fn found() -> Option<PathBuf> {
    let file = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(|own| own.parent()).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = beside.into_iter().chain(std::env::split_paths(&path).collect::<Vec<_>>());
    // An empty entry of PATH would mean the current folder.
    let named = folders.filter(|folder| folder.is_absolute()).map(|folder| folder.join(&file));
    named.into_iter().find(|program| program.is_file())
}

/// The same process continues as the lab, with its signals and exit status.
#[cfg(unix)]
fn replace(mut command: Command) -> std::io::Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    Err(command.exec())
}

/// Starts a child and returns its exit status.
#[cfg(not(unix))]
fn replace(mut command: Command) -> std::io::Result<ExitCode> {
    let status = command.status()?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
