//! `cargo xtask test`: everything that a change must pass, on a machine with or without a GPU.

use std::path::Path;
use std::process::Command;
use std::thread;

use crate::cargo::{cargo, check, tests, told, unhurried};
use crate::tally::Tally;
use crate::{nvrtc, tidy};

const LOOM: &str = "lock-free code under loom";

/// Runs every check and test; the last line printed is the total.
///
/// Tests wait a good deal, for clocks, signals and one another. What only compiles goes on beside
/// them, and takes the time of cores that they leave.
pub fn run(root: &Path) -> Result<bool, String> {
    let mut total = Tally::default();
    total += Tally::one(check("format", cargo(root).args(["fmt", "--all", "--check"]))?);
    println!("== tidy");
    total += Tally::one(tidy::run(root)?);
    println!("== NVRTC");
    nvrtc::provide(root);
    let all = ["test", "--workspace", "--no-fail-fast", "--quiet"];
    // What does not compile is told once more, and counted, by the tests themselves.
    check("compiling the tests", cargo(root).args(all).arg("--no-run"))?;
    total += thread::scope(|scope| {
        let compiled = scope.spawn(|| beside(root));
        let tested = tests("tests", cargo(root).args(all).args(["--", "--show-output"]))?;
        let mut total = compiled.join().map_err(|_| "compiling beside the tests panicked")??;
        total += tested;
        Ok::<_, String>(total)
    })?;
    total += tests(
        LOOM,
        loom(cargo(root)).args([
            "--",
            "--show-output",
            "cpu::barrier",
            "cpu::progress",
            "cpu::request",
            "cpu::sleep",
            "master",
        ]),
    )?;
    println!("{total}");
    Ok(total.failed == 0)
}

/// What only compiles.
fn beside(root: &Path) -> Result<Tally, String> {
    // First, since it is in a folder of its own: the tests' cargo looks into the other one once more
    // before they run. It is counted where it runs.
    told(&format!("compiling {LOOM}"), loom(unhurried(root)).arg("--no-run"))?;
    let lints = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
    let mut total = Tally::one(told("lints", unhurried(root).args(lints))?);
    let mut without = unhurried(root);
    without.args(["check", "--quiet", "--package", "warpweft-cli", "--package", "warpweft-lab"]);
    without.args(["--no-default-features", "--features", "warpweft-lab/command"]);
    total += Tally::one(told("without MPI", &mut without)?);
    Ok(total)
}

/// The library's own tests where loom takes the place of threads and atomics.
fn loom(mut cargo: Command) -> Command {
    cargo
        .env("RUSTFLAGS", "--cfg loom")
        .args(["test", "--lib", "--target-dir", "target/loom", "--quiet"])
        .args(["--package", "warpweft-core", "--package", "warpweft-farm"])
        .args(["--package", "warpweft-channels"])
        // A few small modules are run of all that is compiled: only loom itself is worth optimising.
        .args(["--config", "profile.dev.opt-level=0", "--config", "profile.test.opt-level=0"])
        .args(["--config", "profile.dev.package.loom.opt-level=1"]);
    cargo
}
