//! Ctrl-C: the sweep is finished, the requested files are saved, the status is 130.
#![cfg(unix)]

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::command;
use crate::launchers::ends_within;

#[test]
fn ctrl_c_saves_what_is_done_and_exits_130() {
    interrupted("--device cpu --size 40", "-INT");
}

#[test]
fn so_do_kill_and_a_terminal_that_goes_away() {
    interrupted("--device cpu --size 40", "-TERM");
    if hang_ups_are_ignored() {
        return println!(
            "skipped: SIGHUP is ignored here, as under nohup, and by what is started here"
        );
    }
    interrupted("--device cpu --size 40", "-HUP");
}

/// Whether this process has SIGHUP, signal 1, ignored: children inherit that.
fn hang_ups_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let bits = line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    bits.is_some_and(|bits| bits & 1 == 1)
}

#[test]
fn ctrl_c_ends_all_ranks_after_the_same_step() {
    interrupted("--device cpu --size 40 --ranks 3 --depth 2", "-INT");
}

#[test]
fn ctrl_c_ends_a_run_on_a_gpu() {
    if crate::gpu::there_is_one() {
        interrupted("--device gpu --size 40", "-INT");
    }
}

#[test]
fn ctrl_c_ends_sweeps_in_place_after_a_whole_one() {
    let line = "run laplace --device cpu --size 300x200 --sweeps 18446744073709551615";
    let (json, err, folder) = asked_to_end(line, "-INT");
    let sweeps = json["result"]["sweeps"].as_u64().expect("a number");
    assert!(sweeps > 0, "{json}");
    assert!(err.contains(&format!("interrupted after {sweeps} sweep")), "{err}");
    assert_eq!(json["result"]["interrupted_before"], u64::MAX);
    assert_eq!(json["check"]["reason"], "the result was not checked: interrupted");
    let saved = std::fs::read(folder.path().join("a.npy")).expect("saved");
    assert_eq!(saved.len(), 128 + 300 * 200 * 4);
}

#[test]
fn farms_save_the_tasks_that_are_done() {
    let line = "run options --count 4000000 --device cpu --trace t.json";
    let (json, err, folder) = asked_to_end_with("a.csv", line, "-TERM");
    assert!(err.contains("; the requested files are saved"), "{err}");
    assert_eq!(json["check"]["reason"], "the result was not checked: interrupted");
    let saved = std::fs::read_to_string(folder.path().join("a.csv")).expect("saved");
    assert!((2..4_000_000).contains(&saved.lines().count()));
    assert!(folder.path().join("t.json").exists());
}

#[test]
fn what_was_not_asked_for_is_not_said_to_be_saved() {
    for (more, told) in
        [("", " steps\n"), ("--checkpoint kept", " steps, whose state is in kept\n")]
    {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let line = format!("run heat --device cpu --size 16 --steps 1000000000 {more}");
        let mut child = command(directory.path())
            .args(line.split_whitespace())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        std::thread::sleep(Duration::from_secs(2));
        signal("-INT", child.id());
        ended(&mut child);
        let output = child.wait_with_output().expect("it ended");
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(err.contains("interrupted after") && err.contains(told), "{err}");
        assert!(!err.contains("is saved"), "{err}");
    }
}

#[test]
fn what_was_started_to_outlive_its_terminal_does() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut run = Command::new("nohup");
    let inner = command(directory.path());
    for (name, value) in inner.get_envs() {
        value.map(|value| run.env(name, value));
    }
    run.current_dir(directory.path()).arg(inner.get_program());
    let line = "run heat --device cpu --size 40 --steps 1000000000 --json";
    run.args(line.split_whitespace()).stdin(Stdio::null());
    let Ok(mut child) = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() else {
        return println!("skipped: no nohup");
    };
    std::thread::sleep(Duration::from_secs(2));
    signal("-HUP", child.id());
    std::thread::sleep(Duration::from_secs(1));
    assert!(child.try_wait().expect("it is ours").is_none(), "it ended");
    signal("-INT", child.id());
    assert_eq!(ended(&mut child).code(), Some(130));
}

/// A run of `options` that would take years is asked to end.
fn interrupted(options: &str, how: &str) {
    let line = format!("run heat {options} --steps 1000000000 --trace t.json");
    let (json, err, folder) = asked_to_end(&line, how);
    assert!(err.contains("error: interrupted after"), "{err}");
    assert!(err.contains("; the requested files are saved"), "{err}");
    assert!(json["result"]["steps"].as_u64().is_some_and(|steps| steps > 0), "{json}");
    assert_eq!(json["result"]["interrupted_before"], 1_000_000_000);
    let saved = std::fs::read(folder.path().join("a.npy")).expect("saved");
    assert_eq!(saved.len(), 128 + 40 * 40 * 40 * 4);
    assert!(folder.path().join("t.json").exists());
}

/// Signals `line`'s run once it has begun: its report, its errors, and the folder with its `a.npy`.
fn asked_to_end(line: &str, how: &str) -> (serde_json::Value, String, tempfile::TempDir) {
    asked_to_end_with("a.npy", line, how)
}

/// The same for a run that saves `output`.
fn asked_to_end_with(
    output: &str,
    line: &str,
    how: &str,
) -> (serde_json::Value, String, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut child = command(directory.path())
        .args(line.split_whitespace())
        .args(["--json", "--output", output])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // Long enough to have begun; the run itself would take years.
    std::thread::sleep(Duration::from_secs(2));
    signal(how, child.id());
    let status = ended(&mut child);
    let output = child.wait_with_output().expect("it ended");
    assert_eq!(status.code(), Some(130));
    let json = serde_json::from_slice(&output.stdout).expect("one object");
    (json, String::from_utf8_lossy(&output.stderr).into_owned(), directory)
}

fn signal(how: &str, process: u32) {
    let sent = Command::new("kill").args([how, &process.to_string()]).status();
    assert!(sent.expect("kill is there").success());
}

/// The status of a process that was asked to end, which it does soon.
fn ended(child: &mut Child) -> ExitStatus {
    ends_within(Duration::from_secs(20), child)
}
