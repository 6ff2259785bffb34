//! Little memory: what there is no room for is named with what it takes, and nothing ends in an abort.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use warpweft::grid::Volume;
use warpweft::grid::io::npy;

use crate::{Ran, cached, command, program, warpweft_in};

const LARGE: &str = "run heat --device cpu --size 96 --dtype f64";

/// Runs the command with so many KiB of addresses.
fn within(kib: u64, directory: &Path, line: &str) -> Ran {
    let line = format!("ulimit -v {kib}; exec {} {line}", program().display());
    Ran::of(cached(Command::new("sh"), directory).args(["-c", &line]))
}

/// Bytes needed and available, as an error tells them.
fn bytes_in(error: &str) -> Option<[u64; 2]> {
    let number = |until: &str| error.split(until).next()?.rsplit(' ').next()?.parse().ok();
    Some([number(" bytes needed")?, number(" available")?])
}

#[test]
#[cfg(target_os = "linux")]
fn whatever_the_limit_a_run_is_right_or_says_what_it_wanted() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let letters = "GATTACATTGCCA".repeat(80_000);
    std::fs::write(folder.path().join("long.fa"), format!(">long\n{letters}\n")).expect("a file");
    std::fs::write(folder.path().join("short.fa"), ">short\nTTGC\n").expect("a file");
    let greys = Volume::from_fn([1000, 2000], |[i, j]| (i + j) as u8);
    npy::write(&folder.path().join("greys.npy"), &greys, 0).expect("a file");
    let series = Volume::from_fn([500_000], |[i]| (i % 17) as f64);
    npy::write(&folder.path().join("series.npy"), &series, 0).expect("a file");
    let few = Volume::from_fn([3], |[i]| i as f64);
    npy::write(&folder.path().join("few.npy"), &few, 0).expect("a file");
    // In less the system does not even load the program.
    let loads = |kib: &u64| within(*kib, folder.path(), "--version").status == Some(0);
    let least = (1..200).map(|n| 8_000 * n).find(loads).expect("it loads");
    let mut refused = 0;
    for line in [
        "align long.fa short.fa",
        "align short.fa long.fa --score-only",
        "align short.fa long.fa --traceback directions",
        "sat greys.npy --output sums.png --plot",
        "dtw series.npy few.npy --path pairs.npy",
        "run laplace --size 1500 --sweeps 1",
        "run heat --size 96 --steps 1",
    ] {
        let line = format!("{line} --device cpu --threads 2 --json");
        let right = warpweft_in(folder.path(), &line).json();
        for more in [4_000, 12_000, 24_000, 48_000, 96_000] {
            let ran = within(least + more, folder.path(), &line);
            if ran.status == Some(0) {
                let json = ran.json();
                assert_eq!(json["result"], right["result"], "{line} in {more} KiB");
                assert_ne!(json["check"]["passed"], false, "{line} in {more} KiB: {json}");
                continue;
            }
            refused += 1;
            ran.fails(1, &[]);
            let thread = ran.err.contains("refused to start a thread") && ran.err.contains("`-v`");
            let memory = ran.err.contains("out of memory") || bytes_in(&ran.err).is_some();
            assert!(thread || memory, "{line} in {more} KiB: {}", ran.err);
        }
    }
    assert!(refused > 7, "{refused}");
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_shell_allows_is_all_that_is_available() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let ran = within(400_000, folder.path(), "run heat --device cpu --size 1000 --steps 1");
    ran.fails(1, &["host memory: ", "choose a --size up to about"]);
    let [needed, available] = bytes_in(&ran.err).expect("both numbers");
    assert!(needed > 4_000_000_000 && available < 400_000 << 10, "{}", ran.err);
    // The tables of 256 bins are of one volume.
    let greys = Volume::from_fn([1000, 2000], |[i, j]| (i + j) as u8);
    npy::write(&folder.path().join("greys.npy"), &greys, 0).expect("a file");
    let line = "sat greys.npy --bins 256 --no-check --device cpu --threads 2";
    let ran = within(1_500_000, folder.path(), line);
    ran.fails(1, &["host memory: "]);
    let [needed, _] = bytes_in(&ran.err).expect("both numbers");
    assert!((2_048_000_000..2_060_000_000).contains(&needed), "{}", ran.err);
}

/// The most memory, in KiB, that a run over 16 ranks had by the time it saved its first steps.
#[cfg(target_os = "linux")]
fn most_until_saved(directory: &Path, more: &str) -> u64 {
    let line = format!("{LARGE} --steps 1000000 --ranks 16 --checkpoint saved {more}");
    let mut command = command(directory);
    command.args(line.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let begun = Instant::now();
    let saved = || {
        let names = std::fs::read_dir(directory.join("saved")).ok()?.flatten();
        names.filter_map(|entry| entry.file_name().into_string().ok()).max()
    };
    let is_saved = || saved().is_some_and(|name| *name > *"step-000000000002");
    while !is_saved() && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let is_saved = is_saved();
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
    child.kill().and_then(|()| child.wait()).expect("it is ours");
    let status = status.expect("Linux tells it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect(&status);
    assert!(is_saved, "no checkpoint is written");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
#[cfg(target_os = "linux")]
fn a_run_that_goes_on_has_little_more_memory_than_one_that_begins() {
    let [anew, resumed] = [false, true].map(|resume| {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let more = "--checkpoint-every 3";
        if !resume {
            return most_until_saved(folder.path(), more);
        }
        warpweft_in(folder.path(), &format!("{LARGE} --steps 1 --checkpoint saved {more}")).fine();
        most_until_saved(folder.path(), &format!("{more} --resume"))
    });
    // A piece of 1 MiB a rank; the state, of 7 MiB, is in one file.
    assert!(resumed < anew + (40 << 10), "{resumed} KiB, {anew} KiB begun anew");
}
