//! Ctrl-C: the sweep is finished, what was asked for is saved, the status is 130.
#![cfg(unix)]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::command;

#[test]
fn ctrl_c_saves_what_is_done_and_exits_130() {
    interrupted("--device cpu --size 40");
}

#[test]
fn ctrl_c_ends_all_ranks_after_the_same_step() {
    interrupted("--device cpu --size 40 --ranks 3 --depth 2");
}

#[test]
fn ctrl_c_ends_a_run_on_a_gpu() {
    if crate::gpu::there_is_one() {
        interrupted("--device gpu --size 40");
    }
}

/// A run of `options` that would take years is asked to end.
fn interrupted(options: &str) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let line =
        format!("run heat {options} --steps 1000000000 --json --output a.npy --trace t.json");
    let mut child = command(directory.path())
        .args(line.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // Long enough to have begun; the run itself would take years.
    std::thread::sleep(Duration::from_secs(2));
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &pid]).status().expect("kill is there");
    assert!(sent.success());
    let asked = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is ours") {
            break status;
        }
        assert!(asked.elapsed() < Duration::from_secs(20), "it does not stop");
        std::thread::sleep(Duration::from_millis(20));
    };
    let output = child.wait_with_output().expect("it ended");
    assert_eq!(status.code(), Some(130));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("error: interrupted after"), "{err}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert!(json["result"]["steps"].as_u64().is_some_and(|steps| steps > 0), "{json}");
    assert_eq!(json["result"]["interrupted_before"], 1_000_000_000);
    let saved = std::fs::read(directory.path().join("a.npy")).expect("saved");
    assert_eq!(saved.len(), 128 + 40 * 40 * 40 * 4);
    assert!(directory.path().join("t.json").exists());
}
