//! `cargo xtask test`: everything that a change must pass, on a machine with or without a GPU.

use std::path::Path;

use crate::cargo::{cargo, check, tests};
use crate::tally::Tally;
use crate::{nvrtc, tidy};

/// Runs every check and test; the last line printed is the total.
pub fn run(root: &Path) -> Result<bool, String> {
    let mut total = Tally::default();
    total += Tally::one(check("format", cargo(root).args(["fmt", "--all", "--check"]))?);
    println!("== tidy");
    total += Tally::one(tidy::run(root)?);
    total += Tally::one(check(
        "lints",
        cargo(root).args([
            "clippy",
            "--workspace",
            "--all-targets",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ]),
    )?);
    total += Tally::one(check(
        "without MPI",
        cargo(root).args(["check", "-p", "warpweft-cli", "--no-default-features", "--quiet"]),
    )?);
    println!("== NVRTC");
    nvrtc::provide(root);
    total += tests(
        "tests",
        cargo(root).args([
            "test",
            "--workspace",
            "--no-fail-fast",
            "--quiet",
            "--",
            "--show-output",
        ]),
    )?;
    total += tests(
        "lock-free code under loom",
        cargo(root)
            .env("RUSTFLAGS", "--cfg loom")
            .args(["test", "--package", "warpweft", "--lib", "--target-dir", "target/loom"])
            // A few small modules are run of all that is compiled: only loom itself is worth optimising.
            .args(["--config", "profile.dev.opt-level=0", "--config", "profile.test.opt-level=0"])
            .args(["--config", "profile.dev.package.loom.opt-level=1"])
            .args([
                "--quiet",
                "--",
                "--show-output",
                "cpu::barrier",
                "cpu::progress",
                "cpu::request",
                "cpu::sleep",
                "farm::master",
            ]),
    )?;
    println!("{total}");
    Ok(total.failed == 0)
}
