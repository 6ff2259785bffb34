//! The command under `mpirun`: one voice, the same answer, and no rank left behind by an error.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::launchers::{Launcher, ends_within, launchers, within};
use crate::{Ran, command, warpweft_in};

/// Errors must be errors on every rank within this.
const SOON: Duration = Duration::from_secs(10);
/// Whole runs, on a machine that is busy with other tests.
const RUN: Duration = Duration::from_secs(60);

/// A launcher of each kind, or the reason why the test is skipped.
pub(super) fn each(test: impl Fn(Launcher)) {
    let launchers = launchers();
    if launchers.is_empty() {
        return println!("skipped: no mpirun of Open MPI or MPICH");
    }
    launchers.into_iter().for_each(test);
}

/// `mpirun -n ranks warpweft line`, or several such separated by colons.
pub(super) fn mpirun(launcher: Launcher, directory: &Path, programs: &[(usize, &str)]) -> Command {
    let inner = command(directory);
    let mut outer = launcher.command();
    outer.current_dir(directory);
    for (name, value) in inner.get_envs() {
        value.map(|value| outer.env(name, value));
    }
    for (n, (ranks, line)) in programs.iter().enumerate() {
        if n > 0 {
            outer.arg(":");
        }
        outer.arg("-n").arg(ranks.to_string()).arg(inner.get_program());
        outer.args(line.split_whitespace());
    }
    outer
}

fn ran(limit: Duration, command: &mut Command) -> Ran {
    let output = within(limit, command);
    Ran {
        status: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn sweeps_in_place_are_one_processs_work() {
    each(|launcher| {
        let here = tempfile::tempdir().unwrap();
        let line = "run laplace --device cpu --size 20 --sweeps 3 --json";
        let found = ran(RUN, &mut mpirun(launcher, here.path(), &[(2, line)]));
        assert_eq!(
            found.err.matches("note: this is the work of one process, the first of the 2").count(),
            1
        );
        assert_eq!(found.json()["check"]["passed"], true);
        let silent = ran(RUN, &mut mpirun(launcher, here.path(), &[(2, "info --json")]));
        assert!(!silent.err.contains("the work of one"), "{}", silent.err);
    });
}

#[test]
fn one_report_of_the_same_answer() {
    each(|launcher| {
        let here = tempfile::tempdir().unwrap();
        let line = "run heat --device cpu --size 12x9x14 --steps 30 --seed 5 --json";
        let alone = warpweft_in(here.path(), &format!("{line} --output alone.npy")).json();
        let line = format!("{line} --output spread.npy");
        let spread = ran(RUN, &mut mpirun(launcher, here.path(), &[(4, &line)]));
        let spread = spread.json();
        assert_eq!(spread["check"]["passed"], true, "{spread}");
        assert_eq!(spread["policy"]["ranks"], 4);
        assert_eq!(spread["devices"].as_array().map(Vec::len), Some(4));
        assert_eq!(spread["result"]["mean"], alone["result"]["mean"]);
        assert!(spread["roofline"]["value"].as_f64().is_some_and(|bound| bound > 0.0), "{spread}");
        let network = spread["result"]["network"].as_str().unwrap_or_default();
        assert!(network.contains(if launcher.open { "Open MPI" } else { "MPICH" }), "{network}");
        let file = |name| std::fs::read(here.path().join(name)).unwrap();
        assert!(file("alone.npy") == file("spread.npy"));
    });
}

#[test]
fn processes_may_have_several_ranks_each() {
    each(|launcher| {
        let here = tempfile::tempdir().unwrap();
        let line = "run heat --device cpu --size 12x9x14 --steps 30 --seed 5 --json";
        warpweft_in(here.path(), &format!("{line} --output alone.npy")).fine();
        let line = format!("{line} --checkpoint saved --checkpoint-every 10");
        let spread = format!("{line} --rank-grid 1x2x3 --output spread.npy");
        let spread = ran(RUN, &mut mpirun(launcher, here.path(), &[(2, &spread)])).json();
        assert_eq!(
            (&spread["policy"]["ranks"], &spread["check"]["passed"]),
            (&6.into(), &true.into())
        );
        assert_eq!(spread["devices"].as_array().map(Vec::len), Some(6));
        let file = |name| std::fs::read(here.path().join(name)).unwrap();
        assert!(file("alone.npy") == file("spread.npy"));
        // Their checkpoint is any number's, and what is printed may be said again.
        let policy: String = spread["policy"].to_string().replace("\"searched\":true,", "");
        let resumed =
            line.replace("--steps 30", "--steps 40") + " --resume --output on.npy --policy";
        let mut resumed = mpirun(launcher, here.path(), &[(3, &resumed)]);
        let resumed = ran(RUN, resumed.arg(policy)).json();
        assert_eq!(
            (&resumed["policy"]["ranks"], &resumed["result"]["resumed_from_step"]),
            (&6.into(), &30.into())
        );
        let line = "run heat --device cpu --size 12x9x14 --steps 40 --seed 5 --output whole.npy";
        warpweft_in(here.path(), line).fine();
        assert!(file("whole.npy") == file("on.npy"));
        let uneven = "run heat --device cpu --size 24 --steps 3 --ranks 3";
        let refused = ran(RUN, &mut mpirun(launcher, here.path(), &[(2, uneven)]));
        assert_ne!(refused.status, Some(0));
        assert!(
            refused.err.contains("--ranks 3 is not a multiple of the 2 processes"),
            "{}",
            refused.err
        );
        for (grid, told) in [
            ("3x1x1", "3 ranks can't be divided evenly among 2 processes"),
            ("1x1x1", "1 rank can't be divided evenly among 2 processes"),
        ] {
            let line = format!("run heat --device cpu --size 24 --steps 3 --rank-grid {grid}");
            let refused = ran(RUN, &mut mpirun(launcher, here.path(), &[(2, &line)]));
            assert!(refused.err.contains(told), "{}", refused.err);
            assert!(refused.out.is_empty() && refused.status != Some(0), "{}", refused.out);
        }
    });
}

#[test]
fn an_alignment_over_ranks_is_that_of_one() {
    each(|launcher| {
        let here = tempfile::tempdir().unwrap();
        let letters = |seed: usize, n: usize| -> String {
            let letter = |i: usize| b"ACGT"[(i * i * 7 + i * seed + i / 5) % 4] as char;
            (0..n).map(letter).collect()
        };
        for (name, seed, n) in [("a.fa", 3, 900), ("b.fa", 5, 1100)] {
            std::fs::write(here.path().join(name), format!(">{name}\n{}\n", letters(seed, n)))
                .unwrap();
        }
        for more in ["--score-only", "--global --gap-open -5 --gap-extend -1", ""] {
            let line = format!("align a.fa b.fa --device cpu --threads 1 --json {more}");
            let alone = warpweft_in(here.path(), &line).json();
            let spread = ran(RUN, &mut mpirun(launcher, here.path(), &[(3, &line)])).json();
            assert_eq!(spread["result"], alone["result"], "{more}");
            // So small a path is found in one matrix, which every rank computes by itself.
            if more == "--score-only" {
                assert_eq!(spread["policy"]["ranks"], 3, "{spread}");
                assert_eq!(spread["devices"].as_array().map(Vec::len), Some(3));
            }
        }
        let refused = "align a.fa b.fa --device cpu --checkpoint saved";
        let refused = ran(RUN, &mut mpirun(launcher, here.path(), &[(2, refused)]));
        assert_ne!(refused.status, Some(0));
        assert!(
            refused.err.contains("--checkpoint works with one process only, but there are 2"),
            "{}",
            refused.err
        );
    });
}

/// Sources over ranks: the same lines, one report, and every rank's cores.
#[test]
fn shortest_paths_over_ranks_are_those_of_one() {
    each(|launcher| {
        let here = tempfile::tempdir().unwrap();
        let line = "apsp random:3000 --device cpu --threads 1 --json";
        for more in ["", "--sources 0..64 --distances rows.npy", "--schedule eq1 --on-failure skip"]
        {
            let line = format!("{line} {more} --output");
            let alone = warpweft_in(here.path(), &format!("{line} alone.csv")).json();
            let rows = |name| std::fs::read(here.path().join(name)).unwrap();
            let expect = more.contains("rows").then(|| rows("rows.npy"));
            let spread =
                ran(RUN, &mut mpirun(launcher, here.path(), &[(3, &format!("{line} spread.csv"))]));
            let spread = spread.json();
            assert_eq!(spread["check"]["passed"], true, "{spread}");
            assert_eq!(spread["policy"]["ranks"], 3);
            assert_eq!(spread["devices"].as_array().map(Vec::len), Some(3));
            for answer in ["sources_done", "paths", "farthest", "mean_distance"] {
                assert_eq!(spread["result"][answer], alone["result"][answer], "{answer}, {more}");
            }
            let workers = spread["result"]["workers"].as_array().unwrap();
            assert_eq!(workers.len(), 3);
            // A rank whose tasks were copied to an idle worker may have no first result of its own, and 64 sources
            // may be done before a rank begins.
            let worked = |worker: &serde_json::Value| {
                ["tasks", "superseded"].iter().any(|key| worker[key].as_u64() > Some(0))
            };
            assert!(expect.is_some() || workers.iter().all(worked), "{workers:?}");
            assert_eq!(rows("alone.csv"), rows("spread.csv"), "{more}");
            assert_eq!(expect, more.contains("rows").then(|| rows("rows.npy")), "{more}");
        }
        let refused = ran(RUN, &mut mpirun(launcher, here.path(), &[(2, "apsp -")]));
        assert_ne!(refused.status, Some(0));
        assert!(refused.err.contains("standard input in one of several"), "{}", refused.err);
        let (one, other) = ("apsp random:3000 --device cpu", "apsp random:2999 --device cpu");
        let refused = ran(RUN, &mut mpirun(launcher, here.path(), &[(1, one), (1, other)]));
        assert_ne!(refused.status, Some(0));
        assert!(
            refused.err.contains("rank 1 has GRAPH random:2999, rank 0 has random:3000"),
            "{}",
            refused.err
        );
    });
}

/// Whichever rank is killed, all end soon; what was done is in the journal, and any number of ranks goes on from there.
#[test]
fn shortest_paths_of_killed_ranks_are_gone_on_from() {
    each(|launcher| {
        let here = tempfile::tempdir().unwrap();
        let line = "apsp random:20000 --device cpu --threads 1 --chunk 3 --sources 0..6000 --check 1 --json";
        let expect = warpweft_in(here.path(), &format!("{line} --output alone.csv")).json();
        let mut resume = "";
        for rank in [1, 0] {
            let line = format!("{line} --journal kept --flush 0 {resume}");
            let mut command = mpirun(launcher, here.path(), &[(3, &line)]);
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let results = here.path().join("kept/results");
            let bytes = || std::fs::metadata(&results).map_or(0, |results| results.len());
            let (begun, first) = (Instant::now(), bytes());
            while bytes() < first + 4000 {
                assert!(begun.elapsed() < RUN, "nothing is kept");
                std::thread::sleep(Duration::from_millis(2));
            }
            let killed = rank_process(here.path(), rank).expect("a rank that runs");
            assert!(Command::new("kill").args(["-KILL", &killed]).status().unwrap().success());
            assert!(!ends_within(SOON, &mut child).success());
            resume = "--resume";
        }
        let line = format!("{line} --journal kept --resume --output spread.csv");
        let ended = ran(RUN, &mut mpirun(launcher, here.path(), &[(2, &line)])).json();
        assert_eq!(ended["result"]["paths"], expect["result"]["paths"]);
        let tasks: u64 = ended["result"]["workers"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|worker| worker["tasks"].as_u64())
            .sum();
        assert!((1..6000).contains(&tasks), "{tasks} of 6000 were left");
        let file = |name| std::fs::read(here.path().join(name)).unwrap();
        assert!(file("alone.csv") == file("spread.csv"));
    });
}

/// A source whose distances don't fit fails on whichever rank it is; what was done is saved by the one that writes.
#[test]
fn a_source_that_fails_on_some_rank_ends_all_after_what_was_done_is_saved() {
    each(|launcher| {
        let here = tempfile::tempdir().unwrap();
        let far = u32::MAX - 1;
        std::fs::write(here.path().join("far.txt"), format!("0 1 {far}\n1 2 {far}\n3 4 1\n"))
            .unwrap();
        let line = "apsp far.txt --device cpu --threads 1 --sources 3,4,2,0 --output some.csv";
        let ended = ran(RUN, &mut mpirun(launcher, here.path(), &[(2, line)]));
        assert_ne!(ended.status, Some(0));
        assert_eq!(ended.err.matches("searching from source 0").count(), 1, "{}", ended.err);
        assert!(here.path().join("some.csv").exists());
        let skip = format!("{line} --on-failure skip");
        let ended = ran(RUN, &mut mpirun(launcher, here.path(), &[(2, &skip)]));
        assert_ne!(ended.status, Some(0));
        let saved = std::fs::read_to_string(here.path().join("some.csv")).unwrap();
        assert_eq!(saved.lines().count(), 4, "{saved}");
    });
}

#[test]
fn ranks_that_disagree_are_told_so() {
    each(|launcher| {
        let here = tempfile::tempdir().unwrap();
        let line = |rate| format!("run heat --device cpu --size 12 --steps 30 --rate {rate}");
        let (one, other) = (line(0.1), line(0.05));
        let ranks = [(1, one.as_str()), (1, other.as_str())];
        let ran = ran(RUN, &mut mpirun(launcher, here.path(), &ranks));
        assert_ne!(ran.status, Some(0), "{}{}", ran.out, ran.err);
        assert!(ran.err.contains("rank 1 has --rate 0.05, rank 0 has 0.1"), "{}", ran.err);
        assert!(!ran.err.contains("None") && !ran.err.contains("30 steps"), "{}", ran.err);
        assert_eq!(ran.err.matches("error: ").count(), 1, "{}", ran.err);
        assert!(
            ran.err.contains("with the same program, arguments and input files"),
            "{}",
            ran.err
        );
    });
}

#[test]
fn arguments_that_one_process_does_not_know_end_all() {
    each(|launcher| {
        let here = tempfile::tempdir().unwrap();
        let (good, bad) = ("run heat --device cpu --size 16 --steps 5", "run heat --frobnicate");
        let ran_all = |lines: &[(usize, &str)]| ran(RUN, &mut mpirun(launcher, here.path(), lines));
        let second = ran_all(&[(1, good), (1, bad)]);
        let told = "error: rank 1 can't start: unexpected argument '--frobnicate' found; help: ";
        assert!(second.status == Some(2) && second.err.contains(told), "{}", second.err);
        let first = ran_all(&[(1, bad), (1, good)]);
        let told = told.replace("rank 1", "rank 0");
        assert!(first.status == Some(2) && first.err.contains(&told), "{}", first.err);
        let all = ran_all(&[(2, bad)]);
        assert_eq!(all.err.matches("unexpected argument '--frobnicate'").count(), 1, "{}", all.err);
        assert_eq!(all.status, Some(2));
    });
}

#[test]
fn ranks_that_start_from_other_states_are_told_so() {
    each(|launcher| {
        let here = tempfile::tempdir().unwrap();
        let line = |seed| format!("run life --device cpu --size 24 --steps 30 --seed {seed}");
        let (one, other) = (line(1), line(2));
        let ranks = [(1, one.as_str()), (1, other.as_str())];
        let ran = ran(RUN, &mut mpirun(launcher, here.path(), &ranks));
        assert_ne!(ran.status, Some(0), "{}{}", ran.out, ran.err);
        assert!(ran.err.contains("rank 1 has --seed 2, rank 0 has 1"), "{}", ran.err);
        assert!(ran.out.is_empty(), "{}", ran.out);
    });
}

#[test]
fn an_error_on_one_rank_ends_all() {
    each(|launcher| {
        let here = tempfile::tempdir().unwrap();
        let line = "run heat --device cpu --size 12 --steps 30";
        let missing = format!("{line} --input nowhere.npy");
        let ranks = [(2, line), (1, missing.as_str())];
        let ran = ran(RUN, &mut mpirun(launcher, here.path(), &ranks));
        assert_ne!(ran.status, Some(0), "{}{}", ran.out, ran.err);
        let told = "rank 2 has --input nowhere.npy (no such file), rank 0 has none";
        assert!(ran.err.contains(told), "{}", ran.err);
        assert!(ran.out.is_empty(), "{}", ran.out);
    });
}

#[test]
fn ctrl_c_on_the_launcher_saves_a_checkpoint_on_all_ranks() {
    stopped("--size 24");
}

/// Each step ends in a sum over both, which takes the longer the busier the cores are: no guess from the cells
/// says how many steps there are between two looks.
#[test]
fn ctrl_c_ends_a_run_that_adds_up_after_every_step() {
    stopped("--size 100 --dims 1 --seed 1 --until 1e-300");
}

/// Interrupts two ranks of a long run of heat, which then save their state.
fn stopped(line: &str) {
    each(|launcher| {
        let here = tempfile::tempdir().unwrap();
        let line = format!(
            "run heat --device cpu {line} --steps 1000000000 --checkpoint saved --checkpoint-every 100000000"
        );
        let mut command = mpirun(launcher, here.path(), &[(2, &line)]);
        // Open MPI sleeps so long after each of two signals and then kills; this machine may be busy with other tests.
        command.env("OMPI_MCA_odls_base_sigkill_timeout", "8");
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        while !here.path().join("saved/step-000000000000/manifest").exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "no checkpoint is written");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(500));
        let process = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &process]).status().unwrap().success());
        ends_within(RUN, &mut child);
        let saved = std::fs::read_dir(here.path().join("saved")).unwrap().flatten();
        let names: Vec<_> = saved.map(|entry| entry.file_name()).collect();
        let later = |name: &std::ffi::OsString| {
            let step = name.to_str().and_then(|name| name.strip_prefix("step-")?.parse().ok());
            step.is_some_and(|step: u64| step > 0)
        };
        assert!(names.iter().any(later), "{names:?} under {}", launcher.program);
    });
}

#[test]
fn a_killed_rank_ends_all() {
    each(|launcher| ends_all("--device cpu", launcher));
    // Their neighbours write into the memory of ranks with GPUs.
    if warpweft::cuda::Device::count().is_ok_and(|count| count > 0) {
        each(|launcher| ends_all("", launcher));
    }
}

fn ends_all(device: &str, launcher: Launcher) {
    let here = tempfile::tempdir().unwrap();
    let line = format!(
        "run heat {device} --size 24 --steps 1000000000 --checkpoint saved --checkpoint-every 5"
    );
    let mut command = mpirun(launcher, here.path(), &[(3, &line)]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while !here.path().join("saved/step-000000000005/manifest").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "no checkpoint is written");
        std::thread::sleep(Duration::from_millis(5));
    }
    let rank = rank_process(here.path(), 1).unwrap();
    assert!(Command::new("kill").args(["-KILL", &rank]).status().unwrap().success());
    assert!(!ends_within(SOON, &mut child).success());
}

/// The step of the newest checkpoint that is whole.
fn newest(directory: &Path) -> Option<u64> {
    let saved = std::fs::read_dir(directory.join("saved")).ok()?.flatten();
    let step = |name: std::ffi::OsString| name.to_str()?.strip_prefix("step-")?.parse().ok();
    saved.filter_map(|entry| step(entry.file_name())).max()
}

const HEAT: &str = "run heat --device cpu --size 24 --seed 3";

/// Starts a run in `directory`, or goes on with it, and kills a rank at any time from its start on, or once
/// it has saved its state; who was killed.
fn with_a_rank_killed(
    directory: &Path,
    launcher: Launcher,
    saved: bool,
    below: &mut dyn FnMut(u64) -> u64,
) -> String {
    let before = newest(directory);
    let ranks = 2 + below(3);
    let rank = below(ranks) as usize;
    let resume = if before.is_some() { "--resume" } else { "" };
    let line =
        format!("{HEAT} --steps 1000000000 --checkpoint saved --checkpoint-every 7 {resume}");
    let mut command = mpirun(launcher, directory, &[(ranks as usize, &line)]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    let process = loop {
        match rank_process(directory, rank) {
            Some(process) if !saved || newest(directory) > before => break process,
            _ => std::thread::sleep(Duration::from_millis(5)),
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        assert!(begun.elapsed() < RUN, "rank {rank} of {ranks} by {}", launcher.program);
    };
    std::thread::sleep(Duration::from_millis(below(300)));
    assert!(Command::new("kill").args(["-KILL", &process]).status().unwrap().success());
    assert!(!ends_within(SOON, &mut child).success());
    format!("rank {rank} of {ranks} of {}", launcher.program)
}

#[test]
fn whichever_rank_is_killed_whenever_what_goes_on_has_the_same_bits() {
    each(|launcher| {
        let here = tempfile::tempdir().unwrap();
        let mut random = u64::from(launcher.open);
        let mut below = |n: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(17);
            (random >> 33) % n
        };
        let kill = |saved| with_a_rank_killed(here.path(), launcher, saved, &mut below);
        let kills = [true, false].map(kill);
        // However far they came, a run that nobody stopped comes to the same.
        let done = newest(here.path()).unwrap();
        let line = format!("{HEAT} --steps {}", done + 5);
        let resumed = "--checkpoint saved --resume --output found.npy";
        warpweft_in(here.path(), &format!("{line} {resumed}")).fine();
        warpweft_in(here.path(), &format!("{line} --output alone.npy")).fine();
        let read = |name: &str| std::fs::read(here.path().join(name)).unwrap();
        assert!(read("found.npy") == read("alone.npy"), "{kills:?}, resumed from {done}");
    });
}

/// The process of a rank that runs in `directory`.
pub(super) fn rank_process(directory: &Path, rank: usize) -> Option<String> {
    let variables = [format!("OMPI_COMM_WORLD_RANK={rank}"), format!("PMI_RANK={rank}")];
    let is_rank = |process: &Path| {
        let environment = std::fs::read(process.join("environ")).unwrap_or_default();
        let mut lines = environment.split(|&byte| byte == 0);
        let here = std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == directory);
        here && lines.any(|line| variables.iter().any(|known| known.as_bytes() == line))
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let found = processes.map(|entry| entry.path()).find(|process| is_rank(process))?;
    Some(found.file_name()?.to_string_lossy().into_owned())
}

#[test]
fn a_library_that_is_not_there_is_named_with_the_way_out() {
    let here = tempfile::tempdir().unwrap();
    for rank in ["0", "1"] {
        let mut one = command(here.path());
        one.args(["run", "heat", "--size", "8"]);
        one.env("PMI_RANK", rank).env("PMI_SIZE", "2").env("WARPWEFT_MPI", "/nowhere/libmpi.so");
        let ran = Ran::of(&mut one);
        ran.fails(1, &["joining the other ranks", "/nowhere/libmpi.so", "WARPWEFT_MPI"]);
        assert_eq!(ran.err.matches(&format!("rank {rank}")).count(), 1, "{}", ran.err);
    }
}

#[test]
fn other_commands_are_one_process_work() {
    let here = tempfile::tempdir().unwrap();
    let mut other = command(here.path());
    let ran = Ran::of(other.arg("info").env("PMI_RANK", "1").env("PMI_SIZE", "2"));
    assert_eq!((ran.status, ran.out.as_str()), (Some(0), ""), "{}", ran.err);
}
