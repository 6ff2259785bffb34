//! `cargo xtask test`: everything that a change must pass, on a machine with or without a GPU.

mod measured;
mod queue;
mod runner;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Instant;

use crate::cargo::{cargo, check, run_captured, tests, unhurried};
use crate::programs::Program;
use crate::tally::Tally;
use crate::{nvrtc, tidy, torture};
use runner::Runner;

/// How many of the slowest tests are named.
const SLOWEST: usize = 30;

/// Runs every check and test, or only the tests of `packages`; the last line printed is the total.
///
/// A test is run as soon as its program is built. Tests wait a good deal, for clocks, signals and one another:
/// what compiles takes the time of cores that they leave. So do the campaigns of `torture`, of so many seconds: they follow
/// the tests, while lints and documentation are compiled.
pub fn run(root: &Path, packages: &[&str], torture: Option<u64>) -> Result<bool, String> {
    let begin = Instant::now();
    let mut total = Tally::default();
    let everything = packages.is_empty();
    if everything {
        total += Tally::one(check("format", cargo(root).args(["fmt", "--all", "--check"]))?);
        println!("== tidy");
        total += Tally::one(tidy::run(root)?);
    }
    let workers = thread::available_parallelism().map_or(2, usize::from);
    let runner = Runner::new();
    total += thread::scope(|scope| {
        let compiled = scope.spawn(|| {
            let built = build(root, packages, &runner);
            runner.close();
            let mut total = built?;
            println!("== the tests are compiled after {:.0} s", begin.elapsed().as_secs_f64());
            if everything {
                total += beside(root)?;
            }
            println!("== all is compiled after {:.0} s", begin.elapsed().as_secs_f64());
            Ok::<_, String>(total)
        });
        // Tests of kernels need it.
        nvrtc::provide(root);
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(|| runner.work())).collect();
        if !workers.into_iter().all(|worker| worker.join().is_ok()) {
            return Err("running the tests panicked".into());
        }
        println!("== the tests ended after {:.0} s", begin.elapsed().as_secs_f64());
        let command = root.join(torture::BUILT);
        let mut ended = Tally::default();
        if let Some(seconds) = torture {
            // Without it nothing is tortured, which is a failure.
            let there = command.exists();
            if !there {
                println!("there is no {}, which torture needs", command.display());
            }
            ended += Tally::one(there && torture::campaigns(&command, (seconds, 1), "")?);
        }
        ended += compiled.join().map_err(|_| "compiling beside the tests panicked")??;
        Ok::<_, String>(ended)
    })?;
    println!("== all ended after {:.0} s", begin.elapsed().as_secs_f64());
    let outcome = runner.outcome();
    outcome.print(SLOWEST);
    println!("== everything took {:.0} s of cores", measured::cpu_of_children().as_secs_f64());
    total += outcome.tally;
    println!("{total}");
    Ok(total.failed == 0)
}

/// Packages whose test programs start a command of theirs.
const COMMANDS: [&str; 2] = ["warpweft-cli", "warpweft-lab"];

/// Builds the test programs and hands each in; how many tests are ignored, and a failure if something does not
/// compile.
fn build(root: &Path, packages: &[&str], runner: &Runner) -> Result<Tally, String> {
    let mut command = unhurried(root);
    // Examples are compiled by the lints.
    command.args(["test", "--tests", "--no-run", "--quiet"]);
    command.arg("--message-format=json-render-diagnostics");
    match packages {
        [] => {
            command.arg("--workspace");
        }
        some => {
            for package in some {
                command.args(["--package", package]);
            }
        }
    }
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("building the tests: {error}"))?;
    let mut total = Tally::default();
    let mut held = Vec::new();
    for line in child.stdout.take().into_iter().flat_map(|output| BufReader::new(output).lines()) {
        let line = line.map_err(|error| format!("reading cargo's messages: {error}"))?;
        match Program::built(&line) {
            // Cargo may still link the command that such a program starts.
            Some(program)
                if !program.unit && COMMANDS.iter().any(|of| program.package.ends_with(of)) =>
            {
                held.push(program);
            }
            Some(program) => total.skipped += runner.take(program)?,
            None => {}
        }
    }
    let status = child.wait().map_err(|error| format!("waiting for cargo: {error}"))?;
    if status.success() {
        for program in held {
            total.skipped += runner.take(program)?;
        }
    }
    total += Tally { failed: u64::from(!status.success()), ..Tally::default() };
    Ok(total)
}

/// Examples of the documentation, and what only compiles.
fn beside(root: &Path) -> Result<Tally, String> {
    let documents = ["test", "--workspace", "--doc", "--quiet", "--no-fail-fast", "--"];
    let mut total = tests(
        "examples of the documentation",
        unhurried(root).args(documents).arg("--show-output"),
    )?;
    let lints = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
    total += Tally::one(run_captured("lints", unhurried(root).args(lints))?);
    // All that is compiled otherwise without the feature, and what lies below it.
    let without = ["check", "--quiet", "--package", "warpweft-terminal", "--no-default-features"];
    total += Tally::one(run_captured("without MPI", unhurried(root).args(without))?);
    Ok(total)
}
