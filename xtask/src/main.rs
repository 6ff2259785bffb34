//! Project chores: `cargo xtask test|gpu-test|tidy|torture|hot-loops|bench`. Not shipped with the library.

mod bench;
mod cargo;
mod gpu_test;
mod hot_loops;
mod nvrtc;
mod programs;
mod tally;
mod test;
mod tidy;
mod torture;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask <command>

  test [PACKAGE..]     format, lints, tidy, every test and doc test; ends with the totals;
                       or only the tests of those packages
  test --torture N     the same, and N seconds of `torture` while the last of it is compiled
  gpu-test             the tests and the conformance suite on this machine's GPUs
  gpu-test --pack DIR  put them into DIR to run with DIR/run on a GPU machine without a toolchain
  tidy                 the architecture's invariants
  torture [--seconds N] [--seed S] [--only WORD]
                       ranks that disagree, signals, kills, damaged files: campaigns against the command
  hot-loops            whether the release program computes every recurrence in vectors
  bench [ARGS]         `warpweft bench stencil` in a release build";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = root();
    let outcome = match words.as_slice() {
        ["test", "--torture", seconds] => match seconds.parse() {
            Ok(seconds) => test::run(&root, &[], Some(seconds)),
            Err(_) => Err("--torture needs a whole number of seconds".into()),
        },
        ["test", packages @ ..] => test::run(&root, packages, None),
        ["gpu-test"] => gpu_test::run(&root),
        ["gpu-test", "--pack", to] => gpu_test::pack(&root, to.as_ref()),
        ["tidy"] => tidy::run(&root),
        ["hot-loops"] => hot_loops::run(&root),
        ["torture", more @ ..] => torture::run(&root, more),
        ["bench", more @ ..] => bench::run(&root, more),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The repository's root, wherever in it the command was given.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(PathBuf::new, PathBuf::from);
    here.parent().map_or_else(|| PathBuf::from("."), PathBuf::from)
}
