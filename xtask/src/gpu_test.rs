//! `cargo xtask gpu-test`: what only a machine with a GPU can show.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{cargo, tests};
use crate::nvrtc;
use crate::tally::Tally;

/// Set for test programs that must fail, not skip, when there is no GPU.
const NEED_GPU: (&str, &str) = ("WARPWEFT_NEED_GPU", "1");

/// Runs every test program, ignored tests included, and `warpweft verify`.
pub fn run(root: &Path) -> Result<bool, String> {
    nvrtc::provide(root);
    let programs = build(root)?;
    let mut total = Tally::default();
    for program in &programs.tests {
        let mut command = Command::new(&program.path);
        command.args(["--include-ignored", "--show-output"]).current_dir(&program.package);
        command.env(NEED_GPU.0, NEED_GPU.1);
        total += tests(&program.name, &mut command)?;
    }
    total += verify(&programs.command, root)?;
    println!("{total}");
    Ok(total.failed == 0)
}

/// Copies the test programs and the command into `to`, with a script `run` that does the same.
pub fn pack(root: &Path, to: &Path) -> Result<bool, String> {
    let programs = build(root)?;
    let told = |error: std::io::Error| format!("packing into {}: {error}", to.display());
    fs::create_dir_all(to).map_err(told)?;
    let mut script = String::from(
        "#!/usr/bin/env bash\n# Runs the packed tests on this machine's GPUs; made by `cargo xtask gpu-test --pack`.\n\
         cd \"$(dirname \"$0\")\" || exit 1\nexport WARPWEFT_NEED_GPU=1\nfailed=0\n",
    );
    for program in &programs.tests {
        fs::copy(&program.path, to.join(&program.name)).map_err(told)?;
        let line = format!("./{} --include-ignored || failed=1\n", program.name);
        script.push_str(&line);
    }
    fs::copy(&programs.command, to.join("warpweft")).map_err(told)?;
    script.push_str("./warpweft verify || failed=1\nexit $failed\n");
    fs::write(to.join("run"), script).map_err(told)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(to.join("run"), fs::Permissions::from_mode(0o755)).map_err(told)?;
    }
    println!("{} test programs and the command are in {}", programs.tests.len(), to.display());
    Ok(true)
}

struct Program {
    name: String,
    path: PathBuf,
    package: PathBuf,
}

struct Programs {
    tests: Vec<Program>,
    command: PathBuf,
}

/// Builds all test programs and the release command.
fn build(root: &Path) -> Result<Programs, String> {
    let output = cargo(root)
        .args(["test", "--workspace", "--no-run", "--message-format=json"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("building the tests: {error}"))?;
    if !output.status.success() {
        return Err("building the tests failed".into());
    }
    let tests = programs(&String::from_utf8_lossy(&output.stdout));
    let built = cargo(root)
        .args(["build", "--release", "--package", "warpweft-cli"])
        .status()
        .map_err(|error| format!("building the command: {error}"))?;
    if !built.success() {
        return Err("building the command failed".into());
    }
    Ok(Programs { tests, command: root.join("target/release/warpweft") })
}

/// The test programs named in cargo's messages, one JSON object a line.
fn programs(messages: &str) -> Vec<Program> {
    let mut found = Vec::new();
    for line in messages.lines() {
        let Ok(message) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        let (Some(path), Some(manifest), Some(true)) = (
            message["executable"].as_str().map(PathBuf::from),
            message["manifest_path"].as_str().map(PathBuf::from),
            message["profile"]["test"].as_bool(),
        ) else {
            continue;
        };
        // Tests of the chores themselves need no GPU.
        let Some(package) = manifest.parent().filter(|package| !package.ends_with("xtask")) else {
            continue;
        };
        let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else {
            continue;
        };
        found.push(Program { name, path, package: package.to_path_buf() });
    }
    found
}

/// Runs `warpweft verify` and reads its last line.
fn verify(command: &Path, root: &Path) -> Result<Tally, String> {
    println!("== verify");
    let output = Command::new(command)
        .arg("verify")
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
    fn test_programs_are_told_from_other_artifacts() {
        let messages = r#"{"reason":"compiler-artifact","executable":"/t/by_hand-1","manifest_path":"/w/crates/warpweft/Cargo.toml","profile":{"test":true}}
{"reason":"compiler-artifact","executable":"/t/warpweft","manifest_path":"/w/crates/warpweft-cli/Cargo.toml","profile":{"test":false}}
{"reason":"compiler-artifact","executable":null,"manifest_path":"/w/crates/warpweft/Cargo.toml","profile":{"test":true}}
{"reason":"build-finished","success":true}"#;
        let names: Vec<_> = programs(messages).into_iter().map(|program| program.name).collect();
        assert_eq!(names, ["by_hand-1"]);
    }
}
