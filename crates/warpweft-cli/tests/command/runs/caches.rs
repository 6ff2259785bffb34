//! What is kept between runs: found again, and made anew when damaged, which is said once.

use std::path::Path;
use std::process::Command;

use crate::{Ran, bare};

/// A run with a cache folder of its own.
fn ran(cache: &Path, line: &str) -> Ran {
    let mut command: Command = bare();
    command.args(line.split_whitespace()).env("WARPWEFT_CACHE", cache);
    Ran::of(&mut command)
}

#[test]
fn tuning_is_kept_for_later_runs_of_the_same_problem() {
    let cache = tempfile::tempdir().expect("a temporary directory");
    let tuned = ran(cache.path(), "tune heat --device cpu --size 24 --budget 2 --json").json();
    assert!(tuned["tried"].as_u64().is_some_and(|tried| tried >= 1), "{tuned}");
    assert_eq!(tuned["refused"], serde_json::json!([]));
    let run = "run heat --device cpu --size 24 --steps 3 --json";
    assert_eq!(ran(cache.path(), run).json()["policy"], tuned["policy"]);
    // What can't have been tuned stops nothing.
    let file = cache.path().join("tuning.json");
    let tuning = std::fs::read_to_string(&file).expect("just written");
    let depth = tuning.lines().find(|line| line.contains("\"temporal_depth\"")).expect("a policy");
    std::fs::write(&file, tuning.replace(depth, "\"temporal_depth\": 0,")).expect("a small file");
    let ran = ran(cache.path(), run);
    let said = ran.err.matches("is not used: policy has `temporal_depth` 0").count();
    assert_eq!(said, 1, "{}", ran.err);
    ran.fine();
}

#[test]
fn a_few_cells_are_tuned_within_the_budget_and_a_longer_search_is_not_lost() {
    let cache = tempfile::tempdir().expect("a temporary directory");
    let tune = "tune heat --device cpu --size 2 --budget 1";
    let begin = std::time::Instant::now();
    ran(cache.path(), tune).fine();
    // A step of eight cells takes what the hand-over between threads takes, however long that is.
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
    let path = cache.path().join("tuning.json");
    let text = std::fs::read_to_string(&path).expect("just written");
    let mut tuning: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for (_, entry) in tuning["entries"].as_object_mut().expect("entries") {
        (entry["tried"], entry["rate"]) = (1_000_000.into(), 1e30.into());
    }
    std::fs::write(&path, tuning.to_string()).expect("a small file");
    let again = ran(cache.path(), tune);
    assert!(again.err.contains("an earlier search that tried 1000000"), "{}", again.err);
    assert!(again.fine().contains("not kept"));
    let kept = std::fs::read_to_string(&path).expect("still there");
    assert_eq!(kept, tuning.to_string());
}

#[test]
fn whatever_stencil_runs_is_tuned_and_then_runs_so() {
    let cache = tempfile::tempdir().expect("a temporary directory");
    let known = |command: &str| -> Vec<String> {
        let said = ran(cache.path(), &format!("{command} none")).err;
        let list =
            said.split_once("[possible subcommands: ").and_then(|(_, rest)| rest.split_once(']'));
        let list = list.expect("they are told").0.split(", ");
        let mut apps: Vec<_> = list.filter(|app| *app != "help").map(String::from).collect();
        apps.sort();
        apps
    };
    let mut apps = known("tune");
    // Farms: their lanes are tuned, and nothing on the cores. The others are no stencils.
    apps.retain(|app| !["apsp", "farm", "align", "dtw", "channels"].contains(&app.as_str()));
    let mut run = known("run");
    // Swept in place: a wavefront. Paths of light: a channel-flow graph. Two are farms. The last are fork-join tasks, and a graph.
    let others =
        ["laplace", "paths", "mandelbrot", "options", "fib", "queens", "uts", "quadrature"];
    let others = [&others[..], &["knapsack", "sort", "strassen"]].concat();
    run.retain(|app| !others.contains(&app.as_str()));
    assert_eq!(apps, run);
    for app in apps {
        let line = format!("{app} --device cpu --size 24 --json");
        let tuned = ran(cache.path(), &format!("tune {line} --budget 1")).json();
        assert_eq!(
            (&tuned["app"], &tuned["refused"]),
            (&app.as_str().into(), &serde_json::json!([]))
        );
        let run = ran(cache.path(), &format!("run {line} --steps 3")).json();
        assert_eq!((&run["policy"], &run["check"]["passed"]), (&tuned["policy"], &true.into()));
    }
    let refused = ran(cache.path(), "tune laplace --size 64 --device cpu");
    refused.fails(2, &["no policies of laplace to search", "use `warpweft run laplace`"]);
    let refused = ran(cache.path(), "tune swim --size 24 --boundary neumann");
    refused.fails(2, &["swim has no --boundary neumann", "leave --boundary out"]);
}

/// By the process that measured the limits, and by those that compare with them.
#[test]
fn that_other_work_disturbed_the_limits_is_said_once() {
    let cache = tempfile::tempdir().expect("a temporary directory");
    let enough = std::sync::atomic::AtomicBool::new(false);
    let busy = || {
        while !enough.load(std::sync::atomic::Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    };
    let run = || ran(cache.path(), "run heat --device cpu --size 8 --steps 1");
    let all = std::thread::scope(|scope| {
        (0..3).for_each(|_| drop(scope.spawn(busy)));
        let first = run();
        // Measured again, and as disturbed.
        let file = cache.path().join("probe.json");
        let kept = std::fs::read_to_string(&file).expect("just written");
        let when = kept.lines().find(|line| line.contains("\"when\"")).expect("it is kept");
        std::fs::write(&file, kept.replace(when, "\"when\": 1")).expect("a small file");
        let again = run();
        // Later runs have it with the roofline, and note nothing.
        let text = std::fs::read_to_string(&file).expect("just written");
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
        let fresh = text.lines().find(|line| line.contains("\"when\"")).expect("it is kept");
        std::fs::write(&file, text.replace(fresh, &format!("\"when\": {now}")))
            .expect("a small file");
        let later = run();
        enough.store(true, std::sync::atomic::Ordering::Relaxed);
        [first, again, later]
    });
    if !std::path::Path::new("/proc/loadavg").exists() {
        return println!("skipped: nothing tells here how busy the cores are");
    }
    let [first, again, later] = all;
    assert!(!later.err.contains("busy"), "{}", later.err);
    assert!(later.fine().contains("bandwidth measured on busy cores"), "with the roofline");
    for (ran, measured) in [(first, "limits, once"), (again, "limits again")] {
        assert!(ran.err.contains(measured), "{}", ran.err);
        assert_eq!(ran.err.matches("busy").count(), 1, "{}", ran.err);
        assert!(ran.err.contains("measure them again with `warpweft info --probe`"), "{}", ran.err);
        ran.fine();
    }
}

#[test]
fn damaged_files_are_made_anew_and_said_once() {
    let cache = tempfile::tempdir().expect("a temporary directory");
    let run = "run heat --device cpu --size 8 --steps 1";
    let first = ran(cache.path(), run);
    assert!(first.err.contains("note: measuring this machine's limits, once"), "{}", first.err);
    first.fine();
    for name in ["probe.json", "tuning.json"] {
        std::fs::write(cache.path().join(name), "{ \"form\": 1, \"entr").expect("a small file");
    }
    let second = ran(cache.path(), run);
    for name in ["probe.json was damaged", "tuning.json was damaged"] {
        assert_eq!(second.err.matches(name).count(), 1, "{}", second.err);
    }
    second.fine();
    let third = ran(cache.path(), run);
    assert!(!third.err.contains("damaged"), "{}", third.err);
    third.fine();
    let tuned = ran(cache.path(), "tune heat --device cpu --size 16 --budget 1");
    assert!(tuned.err.is_empty(), "{}", tuned.err);
    assert!(tuned.fine().contains("kept for runs of this size"));
    let tuning = std::fs::read_to_string(cache.path().join("tuning.json")).expect("just written");
    assert!(tuning.contains("[16, 16, 16]"), "{tuning}");
}

#[test]
fn a_cache_that_can_not_be_written_stops_no_run_but_fails_tuning() {
    let cache = tempfile::tempdir().expect("a temporary directory");
    let file = cache.path().join("in-the-way");
    std::fs::write(&file, "").expect("a small file");
    let run = ran(&file, "run heat --device cpu --size 8 --steps 1");
    assert!(run.err.contains("WARPWEFT_CACHE"), "{}", run.err);
    // What was measured serves this run.
    let report = run.fine();
    assert!(report.contains("  roofline "), "{report}");
    let tuned = ran(&file, "tune heat --device cpu --size 16 --budget 1");
    // To keep it is what tuning is for.
    tuned.fails(1, &["error: the policy is not kept: ", "WARPWEFT_CACHE"]);
    assert!(tuned.out.contains("not kept") && !tuned.out.contains("kept for"), "{}", tuned.out);
    let tuned = ran(&file, "tune heat --device cpu --size 16 --budget 1 --json");
    assert_eq!(tuned.status, Some(1), "{}", tuned.err);
    assert_eq!(tuned.json()["kept"], false);
}
