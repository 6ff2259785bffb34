//! Journals with damaged or foreign files: what is kept, and what the user is told to do.

use std::path::Path;
use std::process::Command;

use warpweft::farm::{Flush, Journal, OnFailure, Policy, Run, Schedule, on_cores};
use warpweft::prelude::*;

/// Six rows in a journal of `of` in `folder`; how many an earlier run did, and what was noted.
fn rows(folder: &Path, of: &str, resume: bool) -> Result<(u64, Vec<String>)> {
    let farm = Farm::of(on_cores(|k: u64| Ok(vec![k as u8 + 1; 1000])));
    let journal =
        Journal { directory: folder.into(), of: of.into(), resume, flush: Flush::default() };
    let policy = Policy { schedule: Schedule::Single, ..Policy::default() };
    let run = Run {
        policy: Some(policy),
        threads: Some(1),
        checkpoint: Some(&journal),
        ..Run::default()
    };
    let machine = Machine::detect().unwrap();
    let outcome = farm.run_into(0..6u64, &machine, &run, &mut |_, _| Ok(()))?;
    Ok((outcome.report.first, outcome.report.notes))
}

/// The damaged length of a frame looks like that of one that a kill cut short.
#[test]
fn a_file_with_a_damaged_length_is_kept() {
    let bits = [[0xff; 8], [1, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0x80]];
    for (damage, frame) in bits.iter().flat_map(|bits| [0, 3, 5].map(|frame| (bits, frame))) {
        let folder = tempfile::tempdir().unwrap();
        rows(folder.path(), "rows", false).unwrap();
        let results = folder.path().join("results");
        let mut bytes = std::fs::read(&results).unwrap();
        let at = frame * bytes.len() / 6;
        bytes[at..at + 8].iter_mut().zip(damage).for_each(|(byte, bits)| *byte ^= bits);
        std::fs::write(&results, &bytes).unwrap();
        let (first, notes) = rows(folder.path(), "rows", true).unwrap();
        assert_eq!((first, notes.len()), (frame as u64, 2), "{notes:?}");
        assert!(notes[0].contains("are damaged; their tasks are computed again"), "{notes:?}");
        assert_eq!(std::fs::read(folder.path().join("results.damaged")).unwrap(), bytes);
    }
}

#[test]
fn a_frame_that_a_kill_cut_short_is_not_kept() {
    for cut in [1, 17, 500, 1000, 1030] {
        let folder = tempfile::tempdir().unwrap();
        rows(folder.path(), "rows", false).unwrap();
        let results = folder.path().join("results");
        let bytes = std::fs::read(&results).unwrap();
        std::fs::write(&results, &bytes[..bytes.len() - cut]).unwrap();
        let (first, notes) = rows(folder.path(), "rows", true).unwrap();
        assert_eq!((first, notes.len()), (5, 1), "{notes:?}");
        assert!(notes[0].contains("are incomplete; their tasks are computed again"), "{notes:?}");
        assert!(!folder.path().join("results.damaged").exists());
    }
}

/// A damaged header and arguments other than those of the run that was stopped: its results are not lost.
#[test]
fn who_resumes_with_other_arguments_is_told_that_the_first_ones_help() {
    let folder = tempfile::tempdir().unwrap();
    rows(folder.path(), "rows", false).unwrap();
    let header = folder.path().join("header");
    for damaged in [Some("x"), None] {
        match damaged {
            Some(text) => std::fs::write(&header, text).unwrap(),
            None => std::fs::remove_file(&header).unwrap(),
        }
        let refusal = rows(folder.path(), "columns", true).unwrap_err().to_string();
        for part in ["`results` is not of a run with these arguments", "exactly its arguments"] {
            assert!(refusal.contains(part), "{refusal}");
        }
        let (first, notes) = rows(folder.path(), "rows", true).unwrap();
        assert_eq!(first, 6, "{notes:?}");
    }
    std::fs::write(&header, "x").unwrap();
    let refusal = rows(folder.path(), "rows", false).unwrap_err().to_string();
    assert!(refusal.contains("continue the run that was stopped with --resume"), "{refusal}");
}

#[test]
fn what_is_no_file_is_not_called_a_full_disk() {
    for name in ["results", "quarantine"] {
        let folder = tempfile::tempdir().unwrap();
        rows(folder.path(), "rows", false).unwrap();
        let path = folder.path().join(name);
        let _ = std::fs::remove_file(&path);
        let made = Command::new("mkfifo").arg(&path).status();
        if !made.is_ok_and(|made| made.success()) {
            return println!("skipped: no mkfifo");
        }
        let refusal = match name {
            "results" => rows(folder.path(), "rows", true).unwrap_err(),
            _ => {
                std::fs::remove_file(folder.path().join("results")).unwrap();
                let farm = Farm::of(on_cores(|_: u64| Err::<Vec<u8>, _>("no".into())));
                let journal = Journal {
                    directory: folder.path().into(),
                    of: "rows".into(),
                    resume: true,
                    flush: Flush::default(),
                };
                let run = Run { checkpoint: Some(&journal), ..Run::default() };
                let machine = Machine::detect().unwrap();
                farm.run_into(0..6u64, &machine, &run, &mut |_, _| Ok(())).unwrap_err()
            }
        };
        let refusal = refusal.to_string();
        assert!(refusal.contains("is not a regular file"), "{refusal}");
        assert!(!refusal.contains("space"), "{refusal}");
    }
}

/// Tells its inputs.
struct Parse;
impl Task for Parse {
    type Input = &'static str;
    type Output = f64;
    fn on_core(&self, text: &'static str) -> Result<f64, Failure> {
        Ok(text.parse()?)
    }
    fn describe(&self, text: &&'static str) -> Option<String> {
        Some(format!("the text {text:?}"))
    }
}

#[test]
fn a_poison_input_is_in_the_journals_quarantine_and_the_rest_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("kept");
    let journal = Journal { directory, of: "texts".into(), resume: false, flush: Flush::default() };
    let run = Run { checkpoint: Some(&journal), threads: Some(2), ..Run::default() };
    let texts = ["1", "two", "3", "4"].as_slice();
    let farm = Farm::of(Parse).on_failure(OnFailure::Skip).retries(1);
    let (found, outcome) = farm.run_with(texts, &Machine::detect().unwrap(), &run).unwrap();
    assert_eq!(found, [Some(1.0), None, Some(3.0), Some(4.0)]);
    assert_eq!(outcome.failed[0].input.as_deref(), Some("the text \"two\""));
    let text = std::fs::read_to_string(journal.directory.join("quarantine")).unwrap();
    let line: serde_json::Value = serde_json::from_str(text.trim()).unwrap();
    assert_eq!((&line["task"], &line["attempts"]), (&1.into(), &2.into()));
    assert_eq!(line["input"], "the text \"two\"");
    assert_eq!(line["error"], "invalid float literal");
    // It is tried again by a run that goes on, and by that alone.
    let journal = Journal { resume: true, ..journal.clone() };
    let run = Run { checkpoint: Some(&journal), ..run };
    let outcome = farm.run_with(texts, &Machine::detect().unwrap(), &run).unwrap().1;
    assert_eq!((outcome.report.first, outcome.failures), (3, 1));
}
