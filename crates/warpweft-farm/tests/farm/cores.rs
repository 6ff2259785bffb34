//! Farms on the cores: the suite, tasks that fail, workers that are lost, ends that come early.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::dying::{Dies, fails};
use warpweft::farm::schedule::{Request, Scheduler};
use warpweft::farm::{
    AHEAD, ChunkExecutor, ChunkOutputs, ChunkSize, Flush, Journal, OnFailure, Policy, Run,
    Schedule, Settings, on_cores,
};
use warpweft::prelude::*;
use warpweft_conformance::farm::{Outcome, suite};

fn machine() -> Machine {
    Machine::detect().unwrap()
}

#[test]
fn outputs_are_the_references_whatever_the_schedule_packs_and_threads() {
    for threads in [1, 4] {
        for (name, outcome) in suite(&machine(), threads) {
            assert_eq!(outcome, Outcome::Passed(50), "{name}");
        }
    }
}

#[test]
fn a_panic_is_a_failure_of_its_task_alone() {
    quietly(|| {
        let table = [1u64, 2, 0, 4];
        let farm = Farm::of(on_cores(|k: u64| Ok(12 / table[k as usize])));
        let mut outputs = vec![None; 5];
        let run = Run::default();
        let mut sink = |k: u64, output| {
            outputs[k as usize] = Some(output);
            Ok(())
        };
        let farm = farm.on_failure(OnFailure::Skip);
        let outcome = farm.run_into(0..5u64, &machine(), &run, &mut sink).unwrap();
        assert_eq!(outputs, [Some(12), Some(6), None, Some(3), None]);
        let whys: Vec<_> = outcome.failed.iter().map(|failed| failed.what.as_str()).collect();
        assert!(whys[0].contains("it panicked: attempt to divide by zero"), "{whys:?}");
        assert!(whys[1].contains("index out of bounds"), "{whys:?}");
    });
}

/// An output that can't be packed, of which half is there by then, and an error that can't be told.
#[test]
fn a_panic_in_packing_or_telling_is_a_failure_of_its_task_alone() {
    struct Fragile(u64);
    impl Packed for Fragile {
        fn form() -> String {
            "fragile".into()
        }
        fn pack(&self, to: &mut Vec<u8>) {
            to.push(9);
            assert!(self.0 != 3, "three is not packed");
            self.0.pack(to);
        }
        fn unpack(from: &mut &[u8]) -> Option<Self> {
            (u8::unpack(from)? == 9).then_some(())?;
            u64::unpack(from).map(Self)
        }
    }
    #[derive(Debug)]
    struct Mute;
    impl std::error::Error for Mute {}
    impl std::fmt::Display for Mute {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("no words")
        }
    }
    quietly(|| {
        let farm = Farm::of(on_cores(|k: u64| match k {
            5 => Err(Mute.into()),
            k => Ok(Fragile(k)),
        }));
        let policy = Policy { chunk: ChunkSize::Tasks(4), ..Policy::default() };
        let run = Run { policy: Some(policy), ..Run::default() };
        let mut had = Vec::new();
        let mut sink = |k: u64, output: Fragile| {
            assert_eq!(output.0, k);
            had.push(k);
            Ok(())
        };
        let farm = farm.on_failure(OnFailure::Skip);
        let outcome = farm.run_into(0..10u64, &machine(), &run, &mut sink).unwrap();
        had.sort_unstable();
        assert_eq!(had, [0, 1, 2, 4, 6, 7, 8, 9]);
        let failed: Vec<_> =
            outcome.failed.iter().map(|failed| (failed.task, failed.what.as_str())).collect();
        assert_eq!(failed, [(3, "it panicked: three is not packed"), (5, "it panicked: no words")]);
        assert!(outcome.shares.iter().all(|share| share.lost.is_none()));
    });
}

/// Panics of tasks are caught: what the standard library prints of them is left out here.
fn quietly(body: impl FnOnce()) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(|error| error.into_inner());
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(|panic| {
        let name = std::thread::current().name().unwrap_or_default().to_string();
        if !name.starts_with("worker") {
            eprintln!("{panic}");
        }
    }));
    body();
    std::panic::set_hook(before);
}

#[test]
fn the_first_failure_by_number_is_named_and_nothing_more_begins() {
    let begun = AtomicU64::new(0);
    let farm = Farm::of(on_cores(|k: u64| {
        begun.fetch_add(1, Ordering::Relaxed);
        match k {
            17 | 20 => Err(format!("no luck with {k}").into()),
            _ => Ok(k),
        }
    }));
    let refusal = farm.run(0..10_000_000u64, &machine()).unwrap_err();
    let Error::Task { task, what, .. } = &refusal else { panic!("{refusal}") };
    assert_eq!((*task, what.as_str()), (17, "no luck with 17"));
    assert!(refusal.to_string().starts_with("task 17 failed on core"), "{refusal}");
    assert!(begun.load(Ordering::Relaxed) < 5_000_000);
}

fn panics() -> Result<()> {
    panic!("the lane fell over")
}

fn forgets() -> Result<()> {
    Ok(())
}

#[test]
fn what_lost_workers_had_is_done_by_those_that_are_left() {
    quietly(|| {
        for (how, why) in [
            (fails as fn() -> Result<()>, "the lane broke"),
            (panics, "the lane fell over"),
            (forgets, "for a chunk of 8"),
        ] {
            let farm = Farm::of(Dies { how, living: AtomicU64::new(1) });
            let mut outputs = vec![None; 1001];
            let run = Run { threads: Some(4), ..Run::default() };
            let mut sink = |k: u64, output| {
                assert!(outputs[k as usize].replace(output).is_none(), "{k} twice");
                Ok(())
            };
            let outcome = farm.run_into(0..1001u64, &machine(), &run, &mut sink).unwrap();
            assert!((0..1001).all(|k| outputs[k as usize] == Some(3 * k)));
            let lost: Vec<_> =
                outcome.shares.iter().filter_map(|share| share.lost.clone()).collect();
            assert!(!lost.is_empty() && lost.len() <= 3, "{lost:?}");
            assert!(lost.iter().all(|told| told.contains(why)), "{lost:?}");
            assert_eq!(outcome.report.notes.len(), lost.len());
        }
    });
}

#[test]
fn a_farm_that_loses_all_workers_ends_with_the_last_ones_error() {
    let farm = Farm::of(Dies { how: fails, living: AtomicU64::new(0) });
    let refusal = farm.run(0..100_000u64, &machine()).unwrap_err();
    assert!(refusal.to_string().contains("the lane broke"), "{refusal}");
}

#[test]
fn a_farm_that_is_asked_to_end_hands_over_what_runs() {
    let stop = AtomicBool::new(false);
    let farm = Farm::of(on_cores(|k: u64| {
        if k == 40 {
            stop.store(true, Ordering::Relaxed);
        }
        std::thread::sleep(Duration::from_millis(1));
        Ok(k)
    }));
    let mut done = Vec::new();
    let told = Mutex::new(Vec::new());
    let progress = |through: u64, of: u64| told.lock().unwrap().push((through, of));
    let run = Run { interrupt: Some(&stop), progress: Some(&progress), ..Run::default() };
    let mut sink = |k: u64, output: u64| {
        assert_eq!(k, output);
        done.push(k);
        Ok(())
    };
    let outcome = farm.run_into(0..1_000_000u64, &machine(), &run, &mut sink).unwrap();
    assert!(outcome.report.interrupted);
    assert_eq!(outcome.report.done, done.len() as u64);
    assert!(done.len() > 40 && done.len() < 100_000, "{}", done.len());
    assert_eq!(told.into_inner().unwrap().last(), Some(&(done.len() as u64, 1_000_000)));
}

/// Outputs of 4 MiB, by chunks or one by one; how many were begun.
struct Large<'a> {
    chunks: bool,
    begun: &'a AtomicU64,
}

impl Task for Large<'_> {
    type Input = u64;
    type Output = Vec<u8>;
    fn on_core(&self, k: u64) -> Result<Vec<u8>, Failure> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Ok(vec![k as u8; 4 << 20])
    }
    fn on_core_chunks(&self) -> Option<Box<dyn ChunkExecutor<Self> + '_>> {
        self.chunks.then(|| Box::new(LargePacks(self)) as _)
    }
}

struct LargePacks<'s, 'a>(&'s Large<'a>);

impl<'a> ChunkExecutor<Large<'a>> for LargePacks<'_, 'a> {
    fn run(&mut self, inputs: &[u64], outputs: &mut ChunkOutputs<'_, Large<'a>>) -> Result<()> {
        for (k, input) in inputs.iter().enumerate() {
            outputs.done(k, &self.0.on_core(*input).unwrap());
        }
        Ok(())
    }
}

/// Two such outputs are a part of a chunk: those that wait, one that is run, one that is handed over.
#[test]
fn large_outputs_wait_for_a_slow_sink_by_their_bytes() {
    let most = 2 * (AHEAD as u64 + 2);
    for (chunks, chunk) in [(false, ChunkSize::Tasks(48)), (true, ChunkSize::Auto)] {
        let begun = AtomicU64::new(0);
        let farm = Farm::of(Large { chunks, begun: &begun });
        let policy = Policy { chunk, seconds: 100.0, ..Policy::default() };
        let run = Run { policy: Some(policy), threads: Some(1), ..Run::default() };
        let (mut sunk, mut ahead) = (0, 0);
        let mut sink = |k: u64, output: Vec<u8>| {
            assert_eq!((output.len(), output[0]), (4 << 20, k as u8));
            if sunk % 16 == 0 {
                // Long enough for all there are.
                std::thread::sleep(Duration::from_millis(300));
            }
            ahead = ahead.max(begun.load(Ordering::Relaxed) - sunk);
            sunk += 1;
            Ok(())
        };
        let outcome = farm.run_into(0..48u64, &machine(), &run, &mut sink).unwrap();
        assert_eq!((sunk, outcome.shares[0].tasks), (48, 48));
        assert!(ahead <= most, "{ahead} outputs in memory, of {most}; by chunks: {chunks}");
    }
}

#[test]
fn a_sink_that_fails_or_panics_ends_the_farm() {
    let farm = Farm::of(on_cores(|k: u64| Ok(k)));
    let full = |_, _| Err(Error::spec("the disk is full", "make room"));
    let refusal = farm.run_into(0..1_000_000u64, &machine(), &Run::default(), &mut { full });
    assert!(refusal.unwrap_err().to_string().contains("the disk is full"));
    let panics = |_, _| std::panic::resume_unwind(Box::new("the sink fell over"));
    let run = || farm.run_into(0..1_000_000u64, &machine(), &Run::default(), &mut { panics });
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
}

/// Of two cores one takes ten seconds for its task, unless it is told that nobody waits for it: the other has run it
/// again by then, every output comes once, and the journal has each once.
#[test]
fn a_backup_copy_of_a_late_task_ends_the_farm() {
    let folder = tempfile::tempdir().unwrap();
    let (first, came) = (AtomicBool::new(true), AtomicBool::new(false));
    let (begin, workers) = (Instant::now(), Mutex::new(HashSet::new()));
    let farm = Farm::of(on_cores(|k: u64| {
        // On a busy machine one might do all before the other begins, whose speed is not known then.
        workers.lock().unwrap().insert(std::thread::current().id());
        while workers.lock().unwrap().len() < 2 && begin.elapsed() < Duration::from_secs(4) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if k == 40 && first.swap(false, Ordering::Relaxed) {
            // Until the copy's output is there.
            let begin = Instant::now();
            while !came.load(Ordering::Relaxed) && begin.elapsed() < Duration::from_secs(10) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        std::thread::sleep(Duration::from_millis(1));
        Ok(k + 7)
    }));
    let directory = folder.path().join("kept");
    let journal = Journal { directory, of: "late".into(), resume: false, flush: Flush::default() };
    let run = Run { threads: Some(2), checkpoint: Some(&journal), ..Run::default() };
    let mut found = vec![0u32; 100];
    let mut sink = |k: u64, output: u64| {
        assert_eq!(output, k + 7);
        found[k as usize] += 1;
        came.fetch_or(k == 40, Ordering::Relaxed);
        Ok(())
    };
    let outcome = farm.run_into(0..100u64, &machine(), &run, &mut sink).unwrap();
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert_eq!((found, outcome.report.done), (vec![1; 100], 100));
    assert!(outcome.shares.iter().map(|share| share.superseded).sum::<u64>() >= 1);
    assert_eq!(outcome.shares.iter().map(|share| share.tasks).sum::<u64>(), 100);
    let journal = Journal { resume: true, ..journal };
    assert_eq!(journal.done::<u64>(100).unwrap().count(), 100);
}

/// Highest numbers first, one by one.
struct FromTheEnd;
impl Scheduler for FromTheEnd {
    fn next(&mut self, request: &Request<'_>) -> Option<std::ops::Range<u64>> {
        request.free.iter().last().map(|range| range.end - 1..range.end)
    }
}

struct Twice;
impl Scheduler for Twice {
    fn next(&mut self, _: &Request<'_>) -> Option<std::ops::Range<u64>> {
        Some(0..2)
    }
}

#[test]
fn users_bring_their_own_schedule() {
    let order = Mutex::new(Vec::new());
    let farm = Farm::of(on_cores(|k: u64| {
        order.lock().unwrap().push(k);
        Ok(())
    }));
    let own = || Box::new(FromTheEnd) as Box<dyn Scheduler>;
    let run = Run {
        settings: Settings { scheduler: Some(&own), ..Settings::default() },
        threads: Some(1),
        ..Run::default()
    };
    farm.run_into(0..100u64, &machine(), &run, &mut |_, ()| Ok(())).unwrap();
    assert!(order.lock().unwrap().iter().copied().eq((0..100).rev()));
    let own = || Box::new(Twice) as Box<dyn Scheduler>;
    let run = Run {
        settings: Settings { scheduler: Some(&own), ..Settings::default() },
        threads: Some(2),
        ..Run::default()
    };
    let refusal = farm.run_into(0..100u64, &machine(), &run, &mut |_, ()| Ok(())).unwrap_err();
    assert!(
        refusal.to_string().contains("tasks 0..2 of 100 can't be given to worker"),
        "{refusal}"
    );
}

#[test]
fn failures_are_skipped_where_asked_and_inputs_are_any_list() {
    let farm = Farm::of(on_cores(|text: &str| Ok(text.parse::<f64>()?)));
    let (numbers, report) = farm.run(["1.5", "-2"].as_slice(), &machine()).unwrap();
    assert_eq!((numbers, report.done, report.pattern), (vec![1.5, -2.0], 2, "farm"));
    let farm = farm.on_failure(OnFailure::Skip);
    let run = Run::default();
    let mut sum = 0.0;
    let mut sink = |_, number: f64| {
        sum += number;
        Ok(())
    };
    let texts = vec!["1", "two", "3"];
    let outcome = farm.run_into(texts, &machine(), &run, &mut sink).unwrap();
    assert_eq!((sum, outcome.failed.len(), outcome.failed[0].task), (4.0, 1, 1));
    assert_eq!(outcome.failed[0].what, "invalid float literal");
}

#[test]
fn policies_that_are_none_are_refused() {
    let farm = Farm::of(on_cores(|k: u64| Ok(k)));
    let default = Policy::default();
    for (policy, expect) in [
        (Policy { chunk: ChunkSize::Tasks(0), ..default }, "chunks of 0 tasks"),
        (
            Policy { schedule: Schedule::Single, chunk: ChunkSize::Tasks(3), ..default },
            "`single` has no chunk size",
        ),
        (Policy { seconds: 0.0, ..default }, "chunks of 0 seconds"),
        (Policy { seconds: f64::NAN, ..default }, "chunks of NaN seconds"),
        (Policy { lanes: 0, ..default }, "0 lanes of a GPU"),
        (Policy { lanes: 9, ..default }, "9 lanes of a GPU"),
    ] {
        let run = Run { policy: Some(policy), ..Run::default() };
        let refusal = farm.run_into(0..9u64, &machine(), &run, &mut |_, _| Ok(())).unwrap_err();
        assert!(refusal.to_string().contains(expect), "{refusal}");
    }
}

/// Runs 500 tasks with a journal in `folder`; which of them ran, and the outputs.
fn journaled(folder: &std::path::Path, resume: bool) -> Result<(Vec<u64>, Vec<Option<u64>>, u64)> {
    let ran = Mutex::new(Vec::new());
    let farm = Farm::of(on_cores(|k: u64| {
        ran.lock().unwrap().push(k);
        Ok(k * k)
    }));
    let mut outputs = vec![None; 500];
    let mut sink = |k: u64, output| {
        assert!(outputs[k as usize].replace(output).is_none(), "{k} twice");
        Ok(())
    };
    let journal = Journal {
        directory: folder.into(),
        of: "squares".into(),
        resume,
        flush: Flush::EveryChunk,
    };
    let policy = Policy { chunk: ChunkSize::Tasks(7), backups: false, ..Policy::default() };
    let run = Run { policy: Some(policy), checkpoint: Some(&journal), ..Run::default() };
    let report = farm.run_into(0..500u64, &machine(), &run, &mut sink)?.report;
    assert_eq!(report.done, 500);
    let mut ran = ran.into_inner().unwrap();
    ran.sort_unstable();
    Ok((ran, outputs, report.first))
}

/// However a file of results ends, what is whole of it is not done again, the rest is, and the file that comes of
/// it is whole.
#[test]
fn a_journal_cut_anywhere_is_gone_on_from() {
    let folder = tempfile::tempdir().unwrap();
    let (ran, expect, first) = journaled(folder.path(), false).unwrap();
    assert!(ran.into_iter().eq(0..500) && first == 0);
    assert!(expect.iter().enumerate().all(|(k, output)| *output == Some((k * k) as u64)));
    let results = folder.path().join("results");
    let whole = std::fs::read(&results).unwrap();
    for (cut, flip) in [
        (0, None),
        (1, None),
        (whole.len() / 2, None),
        (whole.len() - 1, None),
        (whole.len(), None),
        (whole.len(), Some(whole.len() / 3)),
    ] {
        let mut text = whole[..cut].to_vec();
        if let Some(at) = flip {
            text[at] ^= 1;
        }
        std::fs::write(&results, text).unwrap();
        let (ran, found, first) = journaled(folder.path(), true).unwrap();
        assert_eq!(found, expect);
        assert_eq!(ran.len() as u64 + first, 500, "cut at {cut}");
        let (none, found, first) = journaled(folder.path(), true).unwrap();
        assert_eq!((none, found, first), (vec![], expect.clone(), 500));
    }
}

#[test]
fn a_journal_is_its_own_runs_alone() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = journaled(folder.path(), true).unwrap_err().to_string();
    assert!(
        refusal.contains("holds no journal to resume; help: begin without --resume"),
        "{refusal}"
    );
    journaled(folder.path(), false).unwrap();
    let refusal = journaled(folder.path(), false).unwrap_err().to_string();
    assert!(
        refusal.contains("holds the journal of an earlier run; help: continue it with"),
        "{refusal}"
    );
    let journal = |of: &str, flush| Journal {
        directory: folder.path().into(),
        of: of.into(),
        resume: true,
        flush,
    };
    fn run<O: Packed>(journal: &Journal, tasks: u64, output: fn(u64) -> O) -> String {
        let farm = Farm::of(on_cores(move |k: u64| Ok(output(k))));
        let run = Run { checkpoint: Some(journal), ..Run::default() };
        farm.run_into(0..tasks, &machine(), &run, &mut |_, _| Ok(())).unwrap_err().to_string()
    }
    let every = Flush::default();
    let refusal = run(&journal("cubes", every), 500, |k| k);
    assert!(refusal.contains("holds a journal of squares, and this run is of cubes"), "{refusal}");
    let refusal = run(&journal("squares", every), 499, |k| k);
    assert!(refusal.contains("of 500 tasks, and this run has 499"), "{refusal}");
    let refusal = run(&journal("squares", every), 500, |k| k as f64);
    assert!(refusal.contains("of outputs u64, and this run is of outputs f64"), "{refusal}");
    let refusal = run(&journal("squares", Flush::Every(-1.0)), 500, |k| k);
    assert!(refusal.contains("`flush` of the journal is -1 seconds"), "{refusal}");
    let refusal = run(&journal("squares", Flush::Every(1e20)), 500, |k| k);
    assert!(
        refusal.contains("`flush` of the journal is 100000000000000000000 seconds"),
        "{refusal}"
    );
    let file = folder.path().join("header");
    let refusal = Journal { directory: file.clone(), ..journal("squares", every) };
    let refusal = run(&refusal, 500, |k| k);
    assert!(refusal.contains("header: is a file; help: choose a folder"), "{refusal}");
    std::fs::write(file, "{}\nno\n").unwrap();
    let refusal = run(&journal("cubes", every), 500, |k| k);
    assert!(refusal.contains("header: its checksum is wrong"), "{refusal}");
}

/// The first result is linked to the header's text, so the results say whose they are.
#[test]
fn a_damaged_header_is_written_anew_for_its_own_run_only() {
    let folder = tempfile::tempdir().unwrap();
    rows(folder.path(), false);
    let header = folder.path().join("header");
    let whole = std::fs::read(&header).unwrap();
    let mut flipped = whole.clone();
    flipped[20] ^= 4;
    for damaged in [Some(flipped), Some(Vec::new()), Some(vec![0xff; 30]), None] {
        match damaged {
            Some(damaged) => std::fs::write(&header, damaged).unwrap(),
            None => std::fs::remove_file(&header).unwrap(),
        }
        let (first, notes) = rows(folder.path(), true);
        assert_eq!(first, 10);
        assert!(
            notes[0].contains("header was damaged or missing; it is written again"),
            "{notes:?}"
        );
        assert_eq!(std::fs::read(&header).unwrap(), whole);
    }
    // Results of another run prove nothing, and neither do none.
    std::fs::write(&header, "x").unwrap();
    let journal = Journal {
        directory: folder.path().into(),
        of: "columns".into(),
        resume: true,
        flush: Flush::default(),
    };
    let refused = || {
        let farm = Farm::of(on_cores(|k: u64| Ok(vec![k as u8; 100_000])));
        let run = Run { checkpoint: Some(&journal), ..Run::default() };
        farm.run_into(0..10, &machine(), &run, &mut |_, _| Ok(())).unwrap_err().to_string()
    };
    let refusal = refused();
    assert!(refusal.contains("header: its checksum is wrong"), "{refusal}");
    std::fs::write(folder.path().join("results"), "").unwrap();
    let refusal = refused();
    assert!(refusal.contains("header: its checksum is wrong; help: begin anew"), "{refusal}");
}

#[test]
fn a_file_of_results_that_is_no_journals_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results");
    std::fs::write(&results, "mine").unwrap();
    let refusal = journaled(folder.path(), false).unwrap_err().to_string();
    assert!(
        refusal.contains("`results` and no header of a journal; help: choose an empty"),
        "{refusal}"
    );
    let refusal = journaled(folder.path(), true).unwrap_err().to_string();
    assert!(refusal.contains("has no header of a journal, and the file `results` is"), "{refusal}");
    assert_eq!(std::fs::read(&results).unwrap(), b"mine");
    assert!(!folder.path().join("header").exists());
}

/// Ten rows of 100 kB in `folder`; how many an earlier run did, and what was noted.
fn rows(folder: &std::path::Path, resume: bool) -> (u64, Vec<String>) {
    let farm = Farm::of(on_cores(|k: u64| Ok(vec![k as u8; 100_000])));
    let journal =
        Journal { directory: folder.into(), of: "rows".into(), resume, flush: Flush::default() };
    let policy = Policy { schedule: Schedule::Single, ..Policy::default() };
    let run = Run {
        policy: Some(policy),
        threads: Some(1),
        checkpoint: Some(&journal),
        ..Run::default()
    };
    let mut had = vec![0; 10];
    let mut sink = |k: u64, row: Vec<u8>| {
        assert!(row.len() == 100_000 && row.iter().all(|byte| u64::from(*byte) == k));
        had[k as usize] += 1;
        Ok(())
    };
    let outcome = farm.run_into(0..10u64, &machine(), &run, &mut sink).unwrap();
    assert_eq!(had, [1; 10]);
    (outcome.report.first, outcome.report.notes)
}

/// A kill tears one frame, however long; what else is wrong with a file is kept, each time under a name of its own.
#[test]
fn a_torn_frame_is_left_out_and_a_damaged_file_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    rows(folder.path(), false);
    let results = folder.path().join("results");
    let names = || {
        let names = std::fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names.join(" ")
    };
    let whole = std::fs::read(&results).unwrap();
    std::fs::write(&results, &whole[..whole.len() - 5_000]).unwrap();
    let (first, notes) = rows(folder.path(), true);
    assert_eq!((first, notes.len(), names().as_str()), (9, 1, ".lock header results"));
    assert!(notes[0].contains("the last 95048 bytes of"), "{notes:?}");
    for (name, kept) in [("results.damaged", 3), ("results.damaged-2", 5)] {
        let mut damaged = std::fs::read(&results).unwrap();
        damaged[kept * whole.len() / 10 + 50] ^= 1;
        std::fs::write(&results, &damaged).unwrap();
        let (first, notes) = rows(folder.path(), true);
        assert_eq!((first, notes.len()), (kept as u64, 2), "{notes:?}");
        let aside = folder.path().join(name);
        assert!(notes[1].ends_with(&format!("is kept as {}", aside.display())), "{notes:?}");
        assert!(std::fs::read(aside).unwrap() == damaged);
    }
    assert_eq!(names(), ".lock header results results.damaged results.damaged-2");
    assert_eq!(std::fs::metadata(&results).unwrap().len() as usize, whole.len());
}

/// A task that failed is not kept as done: it is tried again.
#[test]
fn a_task_that_failed_is_tried_again_when_its_farm_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let run = |resume: bool, broken: bool| {
        let farm = Farm::of(on_cores(move |k: u64| match broken && k % 10 == 3 {
            true => Err("broken".into()),
            false => Ok(vec![k; (k % 4) as usize]),
        }));
        let journal = Journal {
            directory: folder.path().into(),
            of: "lists".into(),
            resume,
            flush: Flush::default(),
        };
        let run = Run { checkpoint: Some(&journal), ..Run::default() };
        let mut found = vec![None; 100];
        let mut sink = |k: u64, list| {
            found[k as usize] = Some(list);
            Ok(())
        };
        let farm = farm.on_failure(OnFailure::Skip);
        let outcome = farm.run_into(0..100u64, &machine(), &run, &mut sink).unwrap();
        (found, outcome.failed.len(), outcome.report.first)
    };
    let (found, failed, first) = run(false, true);
    assert_eq!((found.iter().flatten().count(), failed, first), (90, 10, 0));
    let (found, failed, first) = run(true, false);
    assert_eq!((failed, first), (0, 90));
    assert!(found.iter().enumerate().all(|(k, list)| *list == Some(vec![k as u64; k % 4])));
}
