//! `cargo xtask gpu-test`: what only a machine with a GPU can show.

mod pack;
mod sanitize;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{cargo, tests};
use crate::nvrtc;
use crate::programs::Program;
use crate::tally::Tally;
pub use pack::pack;

/// Set for test programs that must fail, not skip, when there is no GPU.
const NEED_GPU: (&str, &str) = ("WARPWEFT_NEED_GPU", "1");

/// The test program that writes random functions, and where the one that runs them looks.
const GENERATOR: &str = "translation_random-";
const RUNNER: &str = "translation-";
const OUT: &str = "WARPWEFT_RANDOM_OUT";
/// How many functions a run on a GPU must see at least, and in how many compilations; both may be
/// set from outside.
const FUNCTIONS: (&str, &str) = ("WARPWEFT_RANDOM_FUNCTIONS", "10000");
const SHARDS: (&str, &str) = ("WARPWEFT_RANDOM_SHARDS", "40");

/// Runs every test program, ignored tests included, `warpweft verify`, and small runs under compute-sanitizer.
pub fn run(root: &Path) -> Result<bool, String> {
    nvrtc::provide(root);
    let programs = build(root)?;
    let folder = random_folder(root);
    let mut total = generate(&programs, &folder)?;
    for program in programs.carried() {
        let mut command = Command::new(&program.path);
        command.env(OUT, &folder).env(FUNCTIONS.0, setting_or_default(FUNCTIONS));
        // How many functions ran is worth seeing.
        let output = if program.name.starts_with(RUNNER) { "--nocapture" } else { "--show-output" };
        command.args(["--include-ignored", output]).current_dir(&program.package);
        command.env(NEED_GPU.0, NEED_GPU.1);
        total += tests(&program.name, &mut command)?;
    }
    total += verify(&programs.commands[0], root)?;
    total += sanitize::run(&programs.commands[0], &root.join("target/gpu-test"))?;
    println!("{total}");
    Ok(total.failed == 0)
}

/// The value set from outside, or the default.
fn setting_or_default((name, default): (&str, &str)) -> String {
    std::env::var(name).unwrap_or_else(|_| default.into())
}

fn random_folder(root: &Path) -> PathBuf {
    root.join("target/gpu-test/random")
}

/// Has the functions written into `folder`, which is emptied first, and run as Rust and C++ here.
fn generate(programs: &Programs, folder: &Path) -> Result<Tally, String> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let generator = programs.tests.iter().find(|program| program.name.starts_with(GENERATOR));
    let generator = generator.ok_or("there is no test program `translation_random`")?;
    let mut command = Command::new(&generator.path);
    command.args(["--include-ignored", "--show-output"]).current_dir(&generator.package);
    for setting in [FUNCTIONS, SHARDS] {
        command.env(setting.0, setting_or_default(setting));
    }
    tests(&generator.name, command.env(OUT, folder))
}

struct Programs {
    tests: Vec<Program>,
    /// The command and the lab, which it starts for `verify`: next to one another.
    commands: [PathBuf; 2],
}

impl Programs {
    /// All but the generator, which needs this host's compilers.
    fn carried(&self) -> impl Iterator<Item = &Program> {
        self.tests.iter().filter(|program| !program.name.starts_with(GENERATOR))
    }
}

/// Builds all test programs, and the release command and lab.
fn build(root: &Path) -> Result<Programs, String> {
    let output = cargo(root)
        .args(["test", "--workspace", "--tests", "--no-run", "--message-format=json"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("building the tests: {error}"))?;
    if !output.status.success() {
        return Err("building the tests failed".into());
    }
    let tests = programs(&String::from_utf8_lossy(&output.stdout));
    let built = cargo(root)
        .args(["build", "--release", "--package", "warpweft-cli", "--package", "warpweft-lab"])
        .status()
        .map_err(|error| format!("building the command: {error}"))?;
    if !built.success() {
        return Err("building the command failed".into());
    }
    let commands = ["warpweft", "warpweft-lab"].map(|name| root.join("target/release").join(name));
    Ok(Programs { tests, commands })
}

/// The test programs named in cargo's messages. Tests of the chores themselves need no GPU.
fn programs(messages: &str) -> Vec<Program> {
    let built = messages.lines().filter_map(Program::built);
    built.filter(|program| !program.package.iter().any(|folder| folder == "xtask")).collect()
}

/// Runs `warpweft verify` and reads its last line.
fn verify(command: &Path, root: &Path) -> Result<Tally, String> {
    println!("== verify");
    let output = Command::new(command)
        .args(["verify", "--all"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("verify can't be run: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    Ok(last_line(&text).unwrap_or_else(|| Tally::one(false)))
}

/// The tally in a closing line `N passed, N failed, N skipped`.
fn last_line(text: &str) -> Option<Tally> {
    let numbers: Vec<u64> = text
        .lines()
        .last()?
        .split(", ")
        .filter_map(|part| part.split(' ').next()?.parse().ok())
        .collect();
    let [passed, failed, skipped] = numbers[..] else { return None };
    Some(Tally { passed, failed, skipped })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closing_line_is_read_back_as_it_is_written() {
        let tally = Tally { passed: 12, failed: 0, skipped: 3 };
        assert_eq!(last_line(&format!("heat ok\n{tally}\n")), Some(tally));
        assert_eq!(last_line("nothing of the kind\n"), None);
    }

    #[test]
    fn the_generator_is_run_first_and_not_carried() {
        let program = |name: &str| Program {
            name: name.into(),
            path: PathBuf::new(),
            package: PathBuf::new(),
            unit: false,
        };
        let tests = vec![program("translation-1"), program("translation_random-2")];
        let programs = Programs { tests, commands: [PathBuf::new(), PathBuf::new()] };
        let names: Vec<_> = programs.carried().map(|program| &program.name[..]).collect();
        assert_eq!(names, ["translation-1"]);
    }
}
