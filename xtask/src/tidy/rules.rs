//! The invariants as data, and the functions that look for their violation.

use super::source::Source;

/// Sources that leave speaking to the user to the command.
const SILENT: &str = "crates/";

/// Those that speak: the command, and the laboratory that checks and measures.
const COMMANDS: [&str; 2] = ["crates/warpweft-cli/", "crates/warpweft-lab/"];

/// Macros that speak.
const SPEAKING: [&str; 5] = ["println!", "eprintln!", "print!", "eprint!", "dbg!"];

/// The files that may hold unsafe code.
const UNSAFE_FILES: &str = include_str!("../../unsafe-files.txt");

/// Directories that are one person's or one machine's. Spelled in halves: this file is checked too.
const PLACES: [[&str; 2]; 4] = [["/ho", "me/"], ["/ro", "ot/"], ["/wo", "rk/"], ["/Us", "ers/"]];

/// Cases that a test compiles: their text is the test.
pub fn is_test_case(path: &str) -> bool {
    path.contains("/tests/ui/") || path.contains("/tests/ui_")
}

/// A module opens by saying what it is.
pub fn header(path: &str, text: &str) -> Option<String> {
    (!text.starts_with("//!"))
        .then(|| format!("{path}:1: open with `//!`: what the module is and is not"))
}

/// Nothing below the command prints.
pub fn prints(path: &str, source: &Source) -> Vec<String> {
    let library = path.starts_with(SILENT) && path.contains("/src/");
    if !library || COMMANDS.iter().any(|command| path.starts_with(command)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (number, code) in source.code() {
        let word = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        for speaking in SPEAKING {
            if code.match_indices(speaking).any(|(at, _)| word(at)) {
                found.push(format!(
                    "{path}:{number}: {speaking} below the command; return it instead"
                ));
            }
        }
    }
    found
}

/// Unsafe code stands in files named for it, each use under its reason.
pub fn unsafety(path: &str, source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    // Tests may be unsafe anywhere, but not without a reason.
    let mut named = !path.contains("/src/") || unsafe_files().any(|file| names(file, path));
    for (number, code) in source.code() {
        if !has_word(code, "unsafe") {
            continue;
        }
        // What is unsafe to call or to promise says why in its documentation, as clippy sees to.
        let explained = !code.contains("unsafe {") && !code.contains("unsafe impl");
        if !named {
            found.push(format!(
                "{path}:{number}: unsafe; if it must be, name the file in xtask/unsafe-files.txt"
            ));
            named = true;
        } else if !explained && !has_reason(source, number - 1) {
            found.push(format!("{path}:{number}: unsafe without a `// SAFETY:` line above"));
        }
    }
    found
}

/// Whether `word` stands in `code` by itself.
fn has_word(code: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        !code[..at].ends_with(inside) && !code[at + word.len()..].starts_with(inside)
    })
}

/// Whether the statement around line `index` (from 0) has a SAFETY comment on it or just above.
fn has_reason(source: &Source, index: usize) -> bool {
    if source.lines[index].comment.contains("SAFETY:") {
        return true;
    }
    let mut in_comment = false;
    for line in source.lines[..index].iter().rev() {
        let code = line.code.trim();
        if code.is_empty() && !line.comment.is_empty() {
            in_comment = true;
            if line.comment.contains("SAFETY:") {
                return true;
            }
        } else if in_comment
            || code.is_empty()
            || (code.ends_with([';', '{', '}']) && !code.starts_with("#["))
        {
            return false;
        }
    }
    false
}

fn unsafe_files() -> impl Iterator<Item = &'static str> {
    UNSAFE_FILES
        .lines()
        .filter_map(|line| line.split('#').next())
        .map(str::trim)
        .filter(|line| !line.is_empty())
}

/// Whether an entry of the list is about the file at `path`.
fn names(entry: &str, path: &str) -> bool {
    entry == path || (entry.ends_with('/') && path.starts_with(entry))
}

/// Entries of the list whose file is gone.
pub fn stale_unsafe_files(files: &[String]) -> Vec<String> {
    unsafe_files()
        .filter(|entry| !entry.ends_with('/'))
        .filter(|entry| !files.iter().any(|path| names(entry, path)))
        .map(|file| format!("xtask/unsafe-files.txt: {file} is not there any more"))
        .collect()
}

/// No file names a place on somebody's machine.
pub fn places(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for place in PLACES.map(|halves| halves.concat()) {
            // Inside an address or a longer path it is something else.
            let is_root = |at: usize| {
                !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-/~".contains(c))
            };
            if line.match_indices(&place).any(|(at, _)| is_root(at)) {
                found.push(format!("{path}:{}: names a place on one machine: {place}", index + 1));
            }
        }
    }
    found
}
