//! `warpweft apsp`: graphs in, checked answers out, and what is wrong with them named.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;
use warpweft::farm::{Flush, Journal, Run, on_cores};
use warpweft::grid::io::npy;
use warpweft::prelude::*;
use warpweft_apps::apsp::{Reach, fingerprint, read};

use crate::gpu::there_is_one;
use crate::{Ran, cached, command, program, warpweft, warpweft_in};

/// Two roads from 1 to 3, and 4, which no road leads to.
const ROADS: &str = "c a town\np sp 4 4\na 1 2 5\na 2 3 4\na 1 3 10\na 4 1 1\n";

#[test]
fn a_graph_is_searched_from_all_its_vertices_and_saved() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("roads.gr"), ROADS).unwrap();
    let line = "apsp roads.gr --output reach.csv --output reach.npy --distances rows.npy --trace t.json --json";
    let object = warpweft_in(folder.path(), line).json();
    assert_eq!((&object["app"], &object["pattern"]), (&"apsp".into(), &"farm".into()));
    assert_eq!(object["check"]["passed"], true);
    assert_eq!(object["check"]["part"], "3 of 4 sources");
    // 1 to 2 and 3, 2 to 3, 4 to 1, 2 and 3: 5 + 9 + 4 + 1 + 6 + 10.
    let result = &object["result"];
    assert_eq!((&result["paths"], &result["farthest"]), (&6.into(), &10.into()));
    assert!((result["mean_distance"].as_f64().unwrap() - 35.0 / 6.0).abs() < 1e-12);
    let tasks: u64 =
        result["workers"].as_array().unwrap().iter().filter_map(|u| u["tasks"].as_u64()).sum();
    assert_eq!(tasks, 4);
    assert_eq!(
        object["outputs"],
        serde_json::json!(["reach.csv", "reach.npy", "rows.npy", "t.json"])
    );
    let csv = std::fs::read_to_string(folder.path().join("reach.csv")).unwrap();
    assert_eq!(csv, "source,reached,farthest,total\n1,3,9,14\n2,2,4,4\n3,1,0,0\n4,4,10,17\n");
    let table: Volume<u64, 2> = npy::read(&folder.path().join("reach.npy")).unwrap();
    assert_eq!((table.extents(), table.get([3, 3])), ([4, 4], Some(17)));
    let rows: Volume<u32, 2> = npy::read(&folder.path().join("rows.npy")).unwrap();
    let none = u32::MAX;
    assert_eq!(
        rows.as_slice(),
        [0, 5, 9, none, none, 0, 4, none, none, none, 0, none, 1, 6, 10, 0]
    );

    let said = warpweft_in(folder.path(), "apsp roads.gr --sources 4,1 --check 9").fine();
    assert!(said.contains("roads.gr, 4 vertices and 4 edges, 2 sources"), "{said}");
    assert!(
        said.contains("passed: largest error 0 of 0 allowed, against the algorithm of Dijkstra"),
        "{said}"
    );
    let said = warpweft_in(folder.path(), "apsp roads.gr --check 0").fine();
    assert!(said.contains("not checked: --check 0"), "{said}");
}

#[test]
fn answers_are_the_same_whatever_the_schedule_packs_and_threads() {
    let folder = tempfile::tempdir().unwrap();
    let saved = |options: &str| {
        let line = format!("apsp random:300,4 --output a.csv --check 300 {options}");
        warpweft_in(folder.path(), &line).fine();
        std::fs::read(folder.path().join("a.csv")).unwrap()
    };
    let expect = saved("--threads 1");
    assert_eq!(expect.iter().filter(|byte| **byte == b'\n').count(), 301);
    for options in [
        "--schedule eq1",
        "--schedule eq2 --chunk 7 --threads 3",
        "--schedule single",
        "--chunk 1000 --device cpu",
        "--form dial --lanes 1",
    ] {
        assert!(saved(options) == expect, "{options}");
    }
    std::fs::write(folder.path().join("some"), "5 7\n9\n").unwrap();
    let lines = |options: &str| String::from_utf8(saved(options)).unwrap().lines().count();
    assert_eq!(lines("--sources some"), 4);
    assert_eq!(lines("--sources 10..20"), 11);
    assert_eq!(lines("--sources random:50"), 51);
}

#[test]
fn a_gpu_finds_what_the_cores_do() {
    if !there_is_one() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let saved = |options: &str| {
        let line = format!("apsp random:3000,6,10 --output a.csv --check 9 --json {options}");
        let object = warpweft_in(folder.path(), &line).json();
        assert_eq!(object["check"]["passed"], true, "{options}");
        (std::fs::read(folder.path().join("a.csv")).unwrap(), object)
    };
    let (expect, _) = saved("--device cpu");
    for options in [
        "--device gpu",
        "--device gpus --form batched --lanes 3",
        "--device cpu+gpu --form planes",
        "--device gpu --form planes --chunk 100 --lanes 1",
        "--schedule eq2",
        "--device gpu --distances rows.npy",
        "--device gpu --distances rows.npy --form batched",
    ] {
        let (found, object) = saved(options);
        assert!(found == expect, "{options}");
        let workers = object["result"]["workers"].as_array().unwrap();
        let lanes = workers.iter().filter(|worker| worker["worker"]["place"]["lane"].is_object());
        assert!(lanes.count() > 0, "{options}: {workers:?}");
        assert!(workers.iter().all(|worker| worker["lost"].is_null()), "{options}: {workers:?}");
    }
    warpweft("apsp random:9,3,300 --device gpu --form planes")
        .fails(2, &["`planes` needs weights from 1 to"]);
    warpweft("apsp random:9 --device gpu --form dial").fails(2, &["dial runs on cores"]);
}

#[test]
fn a_plan_runs_nothing_and_shares_evenly_where_asked() {
    let folder = tempfile::tempdir().unwrap();
    let line = "apsp random:500 --sources 0..100 --plan --threads 3 --json --output none.csv";
    let object = warpweft_in(folder.path(), &format!("{line} --schedule eq2")).json();
    let tasks = |object: &serde_json::Value| -> Vec<u64> {
        object["workers"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|worker| worker["tasks"].as_u64())
            .collect()
    };
    assert_eq!(tasks(&object), [33, 33, 34]);
    assert!(
        object["seconds"].as_f64().unwrap() >= 33.0 * object["seconds_a_source"].as_f64().unwrap()
    );
    let object = warpweft_in(folder.path(), line).json();
    assert_eq!(tasks(&object).iter().sum::<u64>(), 100);
    assert!(!folder.path().join("none.csv").exists());
    let said = warpweft("apsp random:500 --plan --schedule single --threads 2").fine();
    assert!(said.contains("250 sources each") && said.contains("500, of 1 to 1 source"), "{said}");
}

/// What is in a folder: names and bytes.
fn contents(folder: &std::path::Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut all: Vec<_> =
        files.map(|file| (file.file_name(), std::fs::read(file.path()).unwrap())).collect();
    all.sort();
    all
}

#[test]
fn a_plan_tells_what_a_journal_leaves_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let plan = |more: &str| {
        let line = "apsp random:300 --sources 0..100 --threads 2 --plan --journal kept";
        warpweft_in(folder.path(), &format!("{line} {more}"))
    };
    assert!(plan("").fine().contains("plan for 100 sources: only a few"));
    plan("--resume").fails(1, &["kept: holds no journal to resume"]);
    assert!(!folder.path().join("kept").exists());
    let run = "apsp random:300 --sources 0..100 --threads 2 --chunk 10 --journal kept";
    warpweft_in(folder.path(), run).fine();
    plan("").fails(2, &["kept: holds the journal of an earlier run"]);
    let said = plan("--resume").fine();
    assert!(said.contains("the journal has all of 100 sources"), "{said}");
    let object = plan("--resume --json").json();
    assert_eq!((&object["sources"], &object["kept"]), (&json!(0), &json!(100)));
    // Cut within its last frame, which has ten sources or fewer.
    let results = folder.path().join("kept/results");
    let bytes = std::fs::read(&results).unwrap();
    std::fs::write(&results, &bytes[..bytes.len() - 1]).unwrap();
    let before = contents(&folder.path().join("kept"));
    let object = plan("--resume --json").json();
    let [left, kept] = ["sources", "kept"].map(|of| object[of].as_u64().unwrap());
    assert!((1..=10).contains(&left) && left + kept == 100, "{left} {kept}");
    let said = plan("--resume").fine();
    let expect = format!("plan for {left} source");
    assert!(said.contains(&expect) && said.contains(&format!("has {kept} more")), "{said}");
    plan("--resume --distances d.npy").fails(2, &["kept: holds a journal of outputs {reached"]);
    assert_eq!(contents(&folder.path().join("kept")), before);
}

#[test]
fn what_can_t_be_is_refused_with_a_hint() {
    for (line, expect) in [
        ("apsp random:9 --sources 5..3", "the range 5..3 is empty"),
        ("apsp random:9 --sources random:0", "at least 1"),
        (
            "apsp random:9 --sources random:10",
            "10 random sources were requested, but the graph has 9 vertices",
        ),
        ("apsp random:9 --sources 3,9", "source 9 of a graph whose vertices are 0 to 8"),
        ("apsp random:9 --sources 0..10", "source 9 of a graph"),
        ("apsp random:", "'random:' is not a random graph; write random:VERTICES"),
        ("apsp random:9,1,1,1,1", "is not a random graph"),
        ("apsp random:0", "a random graph of 0 vertices"),
        ("apsp random:9,7,0", "weights 1 to 0"),
        ("apsp random:9 --chunk 0", "at least 1"),
        ("apsp random:9 --threads 0", "at least 1"),
        ("apsp random:9 --schedule eq3", "possible values: master, eq1, eq2, single"),
        ("apsp random:9 --schedule single --chunk 4", "leave the chunk size out"),
        ("apsp random:9 --device tpu", "no device 'tpu'"),
        ("apsp random:9 --lanes 0", "0 lanes of a GPU; give 1 to 8"),
        ("apsp random:9 --lanes 9", "9 lanes of a GPU"),
        ("apsp random:9 --device cpu --form planes", "--form planes without a GPU"),
        ("apsp random:9 --form heap", "possible values: auto, dial, batched, planes"),
        ("apsp random:9 --on-failure retry", "possible values: stop, skip"),
        ("apsp random:9 --output a.txt", "end it in .csv or .npy"),
        ("apsp random:9 --output a.txt --plan", "end it in .csv or .npy"),
        ("apsp random:9 --output a.npy --distances a.npy", "written twice"),
    ] {
        warpweft(line).fails(2, &[expect]);
    }
}

#[test]
fn what_the_world_has_wrong_is_named_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("empty", ""),
        ("early.gr", "a 1 2 3\n"),
        ("few.gr", "p sp 2 2\na 1 2 3\n"),
        ("negative.txt", "0 1 2\n1 0 -2\n"),
        ("far.txt", "0 1 4000000000\n1 2 4000000000\n"),
        ("roads.gr", ROADS),
        ("words", "1 two\n"),
        ("none", " \n"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    for (line, expect) in [
        ("apsp missing.gr", "missing.gr: No such file"),
        ("apsp .", ".: "),
        ("apsp empty", "empty: is empty"),
        ("apsp early.gr", "early.gr: line 1: an edge before the line `p`"),
        ("apsp few.gr", "few.gr: has 1 edge, but its header says 2"),
        ("apsp negative.txt", "negative.txt: line 2: the weight -2 is negative"),
        ("apsp far.txt", "searching from source 0 on core"),
        ("apsp roads.gr --sources words", "words: \"two\" is not a vertex number"),
        ("apsp roads.gr --sources none", "none: lists no sources"),
        ("apsp roads.gr --sources nowhere", "nowhere: No such file"),
        ("apsp roads.gr --output no/such/a.csv", "there is no folder no/such"),
        (
            "apsp random:4000000,1 --threads 2 --distances d.npy",
            "host memory: 64000192000000 bytes needed",
        ),
    ] {
        warpweft_in(folder.path(), line).fails(1, &[expect]);
    }
    warpweft_in(folder.path(), "apsp roads.gr --output roads.gr").fails(2, &["end it in"]);
}

#[test]
fn a_source_that_fails_is_named_and_takes_no_other_with_it() {
    let folder = tempfile::tempdir().unwrap();
    // From 1 and 2 the way to 4 is too long.
    let far = "p sp 4 3\na 1 2 1\na 2 3 4000000000\na 3 4 4000000000\n";
    std::fs::write(folder.path().join("far.gr"), far).unwrap();
    let line = "apsp far.gr --sources 4,3,2,1 --threads 1 --chunk 1 --output a.csv";
    let csv = || std::fs::read_to_string(folder.path().join("a.csv")).unwrap();
    let done = "source,reached,farthest,total\n4,1,0,0\n3,2,4000000000,4000000000\n";
    warpweft_in(folder.path(), line).fails(
        1,
        &[
            "searching from source 2 on core 0: a path has length 4000000000",
            "scale the weights down; do the others with --on-failure skip",
            "note: wrote a.csv, of 2 sources done",
        ],
    );
    assert_eq!(csv(), done);
    let all = format!("{line} --on-failure skip --check 4");
    let skipped = ["searching from source 2 on core 0", "2 sources were skipped, this one first"];
    warpweft_in(folder.path(), &all).fails(1, &skipped);
    assert_eq!(csv(), done);
    let object = warpweft_in(folder.path(), &format!("{all} --json")).json();
    assert_eq!(object["check"]["part"], "2 of 4 sources");
    let failed = object["result"]["failed"].as_array().unwrap();
    assert_eq!(failed.iter().map(|f| f["source"].as_u64()).collect::<Vec<_>>(), [Some(2), Some(1)]);
    let none = "apsp far.gr --sources 1 --on-failure skip --json";
    let object = warpweft_in(folder.path(), none).json();
    assert_eq!(
        object["check"]["reason"],
        "the result was not checked: the sources chosen for it failed"
    );
}

#[test]
fn what_is_printed_says_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let line = "apsp random:20 --threads 2 --schedule eq2 --check 1";
    let said = warpweft_in(folder.path(), line).fine();
    assert!(said.contains("2 cores, 10 sources each, in "), "{said}");
    assert_eq!(said.matches("overhead").count(), 1, "{said}");
    let said = warpweft_in(folder.path(), "apsp random:20 --chunk 5 --threads 1").fine();
    assert!(
        said.contains("chunk 5,") && said.contains("1 core, 20 sources, in 4 chunks"),
        "{said}"
    );
}

#[test]
fn rows_of_another_width_in_a_journal_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("roads.gr"), ROADS).unwrap();
    let graph = read(&folder.path().join("roads.gr")).unwrap();
    let journal = Journal {
        directory: folder.path().join("kept"),
        of: format!(
            "shortest paths in graph {:016x} from sources {:016x}",
            graph.fingerprint(),
            fingerprint(0..4)
        ),
        resume: false,
        flush: Flush::EveryChunk,
    };
    let run = Run { checkpoint: Some(&journal), ..Run::default() };
    let short = Farm::of(on_cores(|_: u32| Ok((Reach::default(), vec![0u32; 3]))));
    let machine = Machine::detect().unwrap();
    let sources = [0u32, 1, 2, 3];
    short.run_into(&sources[..], &machine, &run, &mut |_, _| Ok(())).unwrap();
    warpweft_in(folder.path(), "apsp roads.gr --distances d.npy --journal kept --resume")
        .fails(1, &["kept: holds 3 distances of source number 0, of 4", "an empty folder"]);
}

#[test]
#[cfg(unix)]
fn ctrl_c_saves_the_sources_that_are_done() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = command(folder.path())
        .args(
            "apsp random:200000 --output a.csv --json --journal kept --flush 0".split_whitespace(),
        )
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // All would take an hour of a core; when it keeps the first chunk, it listens and has something to save.
    let kept = || std::fs::metadata(folder.path().join("kept/results")).is_ok_and(|f| f.len() > 0);
    while !kept() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
    let status = crate::launchers::ends_within(Duration::from_secs(60), &mut child);
    assert_eq!(status.code(), Some(130));
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("error: interrupted after") && err.contains("of 200000 sources"), "{err}");
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["check"]["reason"], "the result was not checked: interrupted");
    let done = object["result"]["sources_done"].as_u64().unwrap();
    let csv = std::fs::read_to_string(folder.path().join("a.csv")).unwrap();
    assert!(done > 0 && csv.lines().count() as u64 == done + 1, "{done}");
}

/// Tasks of the frames of a journal, by the lengths that stand in it.
fn kept(folder: &std::path::Path) -> Vec<u64> {
    let bytes = std::fs::read(folder.join("kept/results")).unwrap();
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let (mut at, mut tasks) = (0, Vec::new());
    while at < bytes.len() {
        tasks.extend(number(at + 8)..number(at + 8) + number(at + 16));
        // A reach is 16 bytes.
        assert_eq!(number(at), 16 * number(at + 16));
        at += 24 + number(at) as usize + 16;
    }
    tasks.sort_unstable();
    tasks
}

#[test]
fn a_run_killed_at_any_time_goes_on_and_keeps_every_source_once() {
    let folder = tempfile::tempdir().unwrap();
    let line = "apsp random:20000 --sources 0..1000 --check 0";
    warpweft_in(folder.path(), &format!("{line} --output alone.csv")).fine();
    let committed = || {
        let results = std::fs::metadata(folder.path().join("kept/results"));
        results.map_or(0, |results| results.len())
    };
    let mut moment = 5u64;
    for kills in 0.. {
        let mut run = command(folder.path());
        run.args(line.split_whitespace())
            .args("--output found.csv --journal kept --flush 0 --chunk 5".split(' '));
        if folder.path().join("kept/header").exists() {
            run.arg("--resume");
        }
        let mut child = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        moment =
            moment.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        match kills {
            // The first once something is kept, however quick the machine.
            0 => {
                while committed() == 0 && child.try_wait().unwrap().is_none() {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            // Later and later, so that it comes through on a busy machine too.
            _ => std::thread::sleep(Duration::from_millis((moment >> 33) % 150 + 30 * kills)),
        }
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
        }
        let output = child.wait_with_output().unwrap();
        if let Some(status) = output.status.code() {
            assert_eq!(status, 0, "{}", String::from_utf8_lossy(&output.stderr));
            assert!(kills > 0, "it was through before it could be killed");
            break;
        }
    }
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert!(read("found.csv") == read("alone.csv"));
    assert!(kept(folder.path()).into_iter().eq(0..1000));
    // Nothing is left to be done.
    let said = warpweft_in(folder.path(), &format!("{line} --journal kept --resume")).fine();
    assert!(said.contains("an earlier run had already computed everything"), "{said}");
    assert!(said.contains("sources from the journal 1000"), "{said}");
    // Found before the graph is read.
    warpweft_in(folder.path(), "apsp none.gr --journal kept")
        .fails(2, &["kept: holds the journal", "continue it with --resume"]);
    let other = "apsp random:20000 --sources 1..1001 --journal kept --resume";
    let said =
        ["holds a journal of shortest paths in graph", "; what differs: sources", "choose another"];
    warpweft_in(folder.path(), other).fails(2, &said);
    warpweft_in(folder.path(), "apsp random:9 --journal new --resume")
        .fails(1, &["no journal to resume"]);
    warpweft_in(folder.path(), "apsp random:9 --resume").fails(2, &["--journal"]);
    warpweft_in(folder.path(), "apsp random:9 --journal no/such")
        .fails(1, &["there is no folder no"]);
}

/// A disk that is full amid a row, of more bytes than a block or a buffer has, and has room later.
#[test]
#[cfg(target_os = "linux")]
fn a_run_whose_disk_was_full_goes_on_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let line = "apsp random:20000 --sources 0..60 --check 0 --distances";
    warpweft_in(folder.path(), &format!("{line} alone.npy")).fine();
    // A row is 80 kB, the 60 are 4.8 MB.
    let within = |bytes: u64, line: &str| {
        let line = format!("ulimit -f {}; exec {} {line}", bytes / 512, program().display());
        Ran::of(cached(Command::new("sh"), folder.path()).args(["-c", &line]))
    };
    let full = "results: the journal can't be written: File too large";
    within(1_000_000, &format!("{line} found.npy --journal kept --output a.csv"))
        .fails(1, &[full, "raise the limit on the length of files", "then use --resume again"]);
    // What was found by then is saved, but for a file that has no room either.
    assert!(!folder.path().join("found.npy").exists());
    let csv = std::fs::read_to_string(folder.path().join("a.csv")).unwrap();
    assert!((10..60).contains(&csv.lines().count()), "{csv}");
    let results = folder.path().join("kept/results");
    let torn = std::fs::metadata(&results).unwrap().len();
    assert!(torn > 900_000, "{torn}");
    // Less room than the copy needs: what there is stays, and nothing else.
    let ran = within(500_000, &format!("{line} found.npy --journal kept --resume"));
    ran.fails(1, &["results: the journal can't be resumed: File too large", "ulimit -f"]);
    assert_eq!(std::fs::metadata(&results).unwrap().len(), torn);
    let names = std::fs::read_dir(folder.path().join("kept")).unwrap();
    assert_eq!(names.count(), 3, "the lock, the header and the results");
    let ran = warpweft_in(folder.path(), &format!("{line} found.npy --journal kept --resume"));
    assert!(!ran.err.contains("damaged"), "{}", ran.err);
    let said = ran.fine();
    assert!(!said.contains("an earlier run had already computed everything"), "{said}");
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    assert!(read("found.npy") == read("alone.npy"));
}
