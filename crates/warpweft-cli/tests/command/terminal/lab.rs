//! `bench`, `model` and `verify`: words that another program serves.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Ran, program, warpweft};

const LAB: &str = "warpweft-lab";

/// A folder with the command alone.
fn folder() -> (tempfile::TempDir, PathBuf) {
    // Where tests are built, so that a link will do; elsewhere where tests were carried.
    let near = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = match near.is_dir() {
        true => tempfile::tempdir_in(near),
        false => tempfile::tempdir(),
    };
    let folder = folder.expect("a temporary directory");
    let command = folder.path().join("warpweft");
    if fs::hard_link(program(), &command).is_err() {
        fs::copy(program(), &command).expect("the command is copied");
    }
    (folder, command)
}

/// A lab that says what it was given and ends with 7.
#[cfg(unix)]
fn put_lab(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let lab = folder.join(LAB);
    fs::write(&lab, "#!/bin/sh\necho \"given $# words: $*\"\nexit 7\n").expect("written");
    fs::set_permissions(&lab, fs::Permissions::from_mode(0o755)).expect("made executable");
}

fn ran(command: &Path, path: &str, words: &[&str]) -> Ran {
    Ran::of(Command::new(command).args(words).env("PATH", path))
}

#[test]
#[cfg(unix)]
fn the_lab_next_to_the_command_gets_every_word_and_its_status_is_the_command_s() {
    let (folder, command) = folder();
    put_lab(folder.path());
    for (words, said) in [
        (&["bench", "--help"][..], "given 2 words: bench --help"),
        (&["verify"], "given 1 words: verify"),
        (
            &["model", "stencil", "--", "-x", "two words"],
            "given 5 words: model stencil -- -x two words",
        ),
        (&["help", "bench"], "given 2 words: help bench"),
    ] {
        let ran = ran(&command, "/bin:/usr/bin", words);
        assert_eq!((ran.status, ran.out.trim_end()), (Some(7), said), "{}", ran.err);
    }
}

#[test]
#[cfg(unix)]
fn the_lab_is_looked_for_on_the_path_too() {
    let ((_alone, command), (elsewhere, _)) = (folder(), folder());
    put_lab(elsewhere.path());
    let path = format!("/bin:/usr/bin:{}", elsewhere.path().display());
    assert_eq!(ran(&command, &path, &["verify"]).status, Some(7));
}

#[test]
fn without_the_lab_users_are_told_what_to_build() {
    let (_folder, command) = folder();
    for word in ["bench", "model", "verify"] {
        let ran = ran(&command, "", &[word, "--help"]);
        ran.fails(
            2,
            &[&format!("`warpweft {word}`"), "help: cargo build --release -p warpweft-lab"],
        );
    }
}

#[test]
fn the_command_lists_the_lab_s_words_in_help_completions_and_manual() {
    for line in ["--help", "completions bash", "completions fish", "man"] {
        let told = warpweft(line).fine();
        for word in ["bench", "model", "verify"] {
            assert!(told.contains(word), "{line} should tell of {word}");
        }
    }
}
