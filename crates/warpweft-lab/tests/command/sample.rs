//! Samples of suites: which cases are run, and that none is run twice.

use std::time::{Duration, Instant};

use warpweft_conformance::{Pick, sample};

/// Asks for each of `count` cases; those that were to be run.
fn run(pick: &mut Pick<'_>, count: usize) -> Vec<usize> {
    (0..count).filter(|_| pick.take()).collect()
}

#[test]
fn with_time_every_case_is_run_once() {
    let mut seen = Vec::new();
    let until = Instant::now() + Duration::from_secs(60);
    let ran = sample(1000, 7, until, |pick| seen.extend(run(pick, 1000)));
    assert_eq!(ran, 1000);
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..1000));
}

#[test]
fn without_time_one_case_is_run_and_the_seed_says_which() {
    let of = |seed| {
        let mut seen = Vec::new();
        assert_eq!(sample(1000, seed, Instant::now(), |pick| seen.extend(run(pick, 1000))), 1);
        seen
    };
    assert_eq!(of(7), of(7));
    assert!((0..8).any(|seed| of(seed) != of(7)));
    assert_eq!(sample(0, 7, Instant::now(), |_| panic!("there is no case")), 0);
}

#[test]
fn counting_runs_nothing_and_looking_ahead_passes_nothing() {
    let mut none = Pick::none();
    assert!(run(&mut none, 10).is_empty() && !none.wants(10) && none.counts());
    assert_eq!((none.met(), none.ran()), (10, 0));
    sample(3, 7, Instant::now() + Duration::from_secs(60), |pick| {
        assert!(pick.wants(3));
        let first = pick.wants(1);
        assert_eq!(pick.take(), first);
        pick.pass(2);
        assert!(!pick.wants(5));
    });
}
