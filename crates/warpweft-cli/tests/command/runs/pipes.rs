//! Pipes as outputs that nobody reads: a signal ends the run, the other files are written, and the user is told which are.
#![cfg(unix)]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::nodes::{each, mpirun, rank_process};
use crate::command;
use crate::launchers::ends_within;

/// A run that would take years, which asks for a pipe first and then for files. It saves a checkpoint when it begins.
const LINE: &str = "run heat --device cpu --size 20 --steps 1000000000 --output pipe.npy --output b.npy --trace t.json \
                    --checkpoint kept --checkpoint-every 100000000";

/// A folder with a pipe that nobody reads.
fn with_pipe() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let made = Command::new("mkfifo").arg(folder.path().join("pipe.npy")).status();
    match made.is_ok_and(|made| made.success()) {
        true => Some(folder),
        false => {
            println!("skipped: no mkfifo");
            None
        }
    }
}

/// Waits until the run in `folder` has begun its steps.
fn begun(folder: &Path) {
    let begin = Instant::now();
    while !folder.join("kept/step-000000000000/manifest").exists() {
        assert!(begin.elapsed() < Duration::from_secs(60), "no checkpoint is written");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(500));
}

fn terminate(child: &Child) {
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success());
}

/// What `child`, which was asked to end, says on standard error, and its status.
fn ended(mut child: Child) -> (Option<i32>, String) {
    let status = ends_within(Duration::from_secs(20), &mut child);
    let output = child.wait_with_output().expect("it ended");
    (status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// All that was asked for but the pipe is there.
fn assert_saved(folder: &Path) {
    let saved = std::fs::read(folder.join("b.npy")).expect("saved");
    assert_eq!(saved.len(), 128 + 20 * 20 * 20 * 4);
    assert!(folder.join("t.json").exists());
}

#[test]
fn a_pipe_that_nobody_reads_costs_no_other_file() {
    let Some(folder) = with_pipe() else { return };
    let mut command = command(folder.path());
    command.args(LINE.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    begun(folder.path());
    terminate(&child);
    let (status, err) = ended(child);
    assert_eq!(status, Some(130), "{err}");
    for part in [
        "error: interrupted while pipe.npy could be neither read nor written",
        "; written: b.npy, t.json; not written: pipe.npy; help: start the program at the other end",
    ] {
        assert!(err.contains(part), "{err}");
    }
    assert_saved(folder.path());
}

/// A launcher kills its processes about a second after it has passed the signal on.
#[test]
fn so_it_is_under_a_launcher_which_gives_them_a_second() {
    each(|launcher| {
        let Some(folder) = with_pipe() else { return };
        let mut command = mpirun(launcher, folder.path(), &[(2, LINE)]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let child = child.expect("it starts");
        begun(folder.path());
        terminate(&child);
        let (status, err) = ended(child);
        assert_ne!(status, Some(0), "{err}");
        let told = "waits for pipe.npy; written: b.npy, t.json; not written: pipe.npy";
        assert!(err.contains(told), "{err}");
        assert_saved(folder.path());
    });
}

/// The rank that writes the files waits for a pipe, and the signal goes to another one.
#[test]
fn a_signal_to_a_rank_that_waits_for_the_end_ends_all() {
    each(|launcher| {
        let Some(folder) = with_pipe() else { return };
        let line = "run heat --device cpu --size 20 --steps 3 --output pipe.npy --output b.npy";
        let mut command = mpirun(launcher, folder.path(), &[(2, line)]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let child = child.expect("it starts");
        let begin = Instant::now();
        while !folder.path().join("b.npy").exists() {
            assert!(begin.elapsed() < Duration::from_secs(60), "b.npy is not written");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(500));
        let rank = rank_process(folder.path(), 1).expect("it runs");
        assert!(Command::new("kill").args(["-TERM", &rank]).status().expect("kill").success());
        let (status, err) = ended(child);
        assert_ne!(status, Some(0), "{err}");
        assert!(err.contains("written: b.npy; not written: pipe.npy"), "{err}");
    });
}

#[test]
fn a_second_signal_ends_the_wait_and_the_same_is_told() {
    let Some(folder) = with_pipe() else { return };
    let mut command = command(folder.path());
    command.args(LINE.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    begun(folder.path());
    terminate(&child);
    let begin = Instant::now();
    while !folder.path().join("t.json").exists() {
        assert!(begin.elapsed() < Duration::from_secs(20), "no timeline is written");
        std::thread::sleep(Duration::from_millis(5));
    }
    // Until the process knows it, too.
    std::thread::sleep(Duration::from_millis(300));
    terminate(&child);
    let (status, err) = ended(child);
    assert_eq!(status, Some(130), "{err}");
    let told = "error: ended by a signal; written: b.npy, t.json; not written: pipe.npy";
    assert!(err.contains(told), "{err}");
}

#[test]
fn a_run_without_partial_results_says_what_is_not_written() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let mut command = command(folder.path());
    command.args(["channels", "fib", "60", "--device", "cpu", "--trace", "t.json"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().expect("it starts");
    std::thread::sleep(Duration::from_secs(2));
    terminate(&child);
    let (status, err) = ended(child);
    assert_eq!(status, Some(130), "{err}");
    assert!(err.contains("not written: t.json"), "{err}");
}
