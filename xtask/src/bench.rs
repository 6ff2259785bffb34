//! `cargo xtask bench`: the command's own benches, built as users build it.

use std::path::Path;

use crate::cargo::{cargo, check};

/// Runs `warpweft bench` with the arguments given, or with those of a full saved run.
pub fn run(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    let arguments = if arguments.is_empty() { &["stencil", "--save"] } else { arguments };
    let mut command = cargo(root);
    command.args(["run", "--release", "--package", "warpweft-lab", "--", "bench"]).args(arguments);
    check("bench", &mut command)
}
