//! The built program `warpweft-lab` as users meet it through the command: what it says, writes and exits with.

#[path = "../../../warpweft-cli/tests/command/harness.rs"]
mod harness;
mod model;
mod sample;
mod speech;
mod verify;

use harness::{warpweft, warpweft_in};

/// The program that is tested, and the variable that names it where the tests were carried elsewhere.
const PROGRAM: (&str, &str) = (env!("CARGO_BIN_EXE_warpweft-lab"), "WARPWEFT_LAB");
/// What has it measure the machine, which is kept for all tests: nothing, since one test alone needs it.
const MEASURES: Option<&str> = None;
