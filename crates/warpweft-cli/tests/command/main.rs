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
mod harness;
mod info;
mod interrupt;
mod lab;
#[path = "../../../warpweft/tests/launchers/mod.rs"]
mod launchers;
mod memory;
#[cfg(feature = "mpi")]
mod nodes;
mod numbers;
mod ranks;
mod run;
mod speech;
mod wavefronts;

use harness::{Ran, bare, cached, command, program, warpweft, warpweft_in};

/// The program that is tested, and the variable that names it where the tests were carried elsewhere.
const PROGRAM: (&str, &str) = (env!("CARGO_BIN_EXE_warpweft"), "WARPWEFT_COMMAND");
/// What has it measure the machine, which is kept for all tests.
const MEASURES: Option<&str> = Some("run heat --size 8 --steps 1");
