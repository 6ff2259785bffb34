//! What a run may be told: threads, deadline, progress.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use warpweft::farm::{ChunkSize, OnFailure, Policy, Run, Target, on_cores};
use warpweft::prelude::{Farm, Machine};

fn machine() -> Machine {
    Machine::detect().unwrap()
}

#[test]
fn outputs_belong_to_their_inputs_and_progress_comes_to_the_total() {
    let farm = Farm::of(on_cores(|k: u64| match k {
        3 => Err("three".into()),
        k => Ok(k * k),
    }));
    let told = RefCell::new(Vec::new());
    let progress = |done: u64, total: u64| told.borrow_mut().push((done, total));
    let run =
        Run { target: Target::Cpu, threads: Some(2), progress: Some(&progress), ..Run::default() };
    let farm = farm.on_failure(OnFailure::Skip);
    let (found, outcome) = farm.run_with(0..100u64, &machine(), &run).unwrap();
    let expect: Vec<_> = (0..100u64).map(|k| (k != 3).then_some(k * k)).collect();
    assert_eq!((found, outcome.failed.len()), (expect, 1));
    assert_eq!(told.borrow().last(), Some(&(100, 100)));
    assert!(told.borrow().is_sorted());
}

#[test]
fn a_run_ends_at_its_deadline_with_what_is_done() {
    let farm = Farm::of(on_cores(|k: u64| {
        std::thread::sleep(Duration::from_millis(1));
        Ok(k)
    }));
    let policy = Policy { chunk: ChunkSize::Tasks(20), ..Policy::default() };
    let begin = Instant::now();
    let run = Run {
        target: Target::Cpu,
        policy: Some(policy),
        deadline: Some(begin + Duration::from_millis(300)),
        ..Run::default()
    };
    let (found, outcome) = farm.run_with(0..1_000_000u64, &machine(), &run).unwrap();
    let took = begin.elapsed();
    assert!(took >= Duration::from_millis(300) && took < Duration::from_millis(1500), "{took:?}");
    assert!(outcome.report.interrupted);
    let done = found.iter().flatten().count() as u64;
    assert!(done > 0 && done == outcome.report.done);
    assert!((0..).zip(&found).all(|(k, found)| found.is_none_or(|found| found == k)));
}

#[test]
fn no_threads_are_refused_with_what_to_do() {
    let farm = Farm::of(on_cores(|k: u64| Ok(k)));
    let run = Run { threads: Some(0), ..Run::default() };
    let refused = farm.run_with(0..9u64, &machine(), &run).unwrap_err().to_string();
    assert!(refused.contains("0 threads") && refused.contains("at least 1"), "{refused}");
}
