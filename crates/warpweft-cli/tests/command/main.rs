//! The built command as users meet it: what it says, writes and exits with.

mod gpu;
mod harness;
#[path = "../../../warpweft/tests/launchers/mod.rs"]
mod launchers;
mod patterns;
mod runs;
mod terminal;

use harness::{Ran, bare, cached, command, program, warpweft, warpweft_in};

/// The program that is tested, and the variable that names it where the tests were carried elsewhere.
const PROGRAM: (&str, &str) = (env!("CARGO_BIN_EXE_warpweft"), "WARPWEFT_COMMAND");
/// What has it measure the machine, which is kept for all tests.
const MEASURES: Option<&str> = Some("run heat --size 8 --steps 1");
