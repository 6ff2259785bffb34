//! Farms over ranks of this process: the suite, workers and ranks that are lost, ends that come early.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::dying::{Dies, fails};
use warpweft::cluster::{Transport, in_process_all};
use warpweft::farm::{
    self, AHEAD, ChunkSize, Flush, Journal, OnFailure, Place, Policy, Run, Schedule, Settings,
    on_cores,
};
use warpweft::prelude::*;
use warpweft_conformance::farm::{Outcome, suite_over_ranks};

/// Errors must be errors on every rank within this.
const SOON: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(600);

fn machine() -> Machine {
    Machine::detect().unwrap()
}

/// What `work` comes to on each of so many ranks.
fn on_ranks<T: Send>(
    ranks: usize,
    work: impl Fn(&dyn Transport) -> Result<T> + Sync,
) -> Vec<Result<T>> {
    in_process_all(ranks, SILENCE, work)
}

/// A sink of ranks that have none.
fn none<O>(k: u64, _: O) -> Result<()> {
    panic!("task {k} is handed over on a rank that keeps nothing")
}

#[test]
fn outputs_are_the_references_over_any_number_of_ranks() {
    for ranks in [2, 4] {
        for (name, outcome) in suite_over_ranks(&machine(), 1, ranks) {
            assert_eq!(outcome, Outcome::Passed(50), "{name} over {ranks} ranks");
        }
    }
}

/// Every rank has work, and all know alike who did how much.
#[test]
fn units_of_all_ranks_have_their_part() {
    let farm = Farm::of(on_cores(|k: u64| {
        std::thread::sleep(Duration::from_millis(1));
        Ok(k * k)
    }));
    for schedule in [Schedule::MasterWorker, Schedule::Eq1, Schedule::Eq2] {
        let policy = Policy { schedule, ..Policy::default() };
        let sum = AtomicU64::new(0);
        let all = on_ranks(3, |net| {
            // The first rank has one worker, the others two each.
            let threads = Some(1 + net.rank().min(1));
            let run = Run { policy: Some(policy), threads, net: Some(net), ..Run::default() };
            if net.rank() > 0 {
                return farm.run_into(0..600u64, &machine(), &run, &mut none);
            }
            farm.run_into(0..600u64, &machine(), &run, &mut |k, square| {
                assert_eq!(square, k * k);
                sum.fetch_add(square, Ordering::Relaxed);
                Ok(())
            })
        });
        assert_eq!(sum.into_inner(), (0..600).map(|k| k * k).sum::<u64>());
        for outcome in all {
            let farm::Outcome { report, shares, .. } = outcome.unwrap();
            assert_eq!((report.done, report.devices.len()), (600, 3));
            assert_eq!(report.policy["ranks"], 3);
            let workers: Vec<_> = shares.iter().map(|share| share.worker.to_string()).collect();
            let expect =
                ["core 0", "node 1 core 0", "node 1 core 1", "node 2 core 0", "node 2 core 1"];
            assert_eq!(workers, expect);
            let tasks: Vec<_> = shares.iter().map(|share| share.tasks).collect();
            match schedule {
                Schedule::Eq1 => assert_eq!(tasks, [200, 100, 100, 100, 100]),
                Schedule::Eq2 => assert_eq!(tasks, [120; 5]),
                _ => assert!(tasks.iter().all(|&tasks| tasks > 30), "{tasks:?}"),
            }
        }
    }
}

/// Ranks of which one is next to the master have equal parts of the tasks, one by one: the next is there when the last
/// is done.
#[test]
fn single_tasks_are_shared_evenly_among_equal_ranks() {
    let farm = Farm::of(on_cores(|k: u64| {
        std::thread::sleep(Duration::from_millis(2));
        Ok(k)
    }));
    let policy = Policy { schedule: Schedule::Single, ..Policy::default() };
    let all = on_ranks(3, |net| {
        let run = Run { policy: Some(policy), threads: Some(1), net: Some(net), ..Run::default() };
        farm.run_into(0..600u64, &machine(), &run, &mut |_, _| Ok(()))
    });
    for outcome in all {
        let shares = outcome.unwrap().shares;
        let tasks: Vec<_> = shares.iter().map(|share| share.tasks).collect();
        assert!(tasks.iter().all(|&tasks| tasks.abs_diff(200) <= 20), "{tasks:?}");
    }
}

/// A task of which workers die that are not to live.
fn mortal(lives: bool) -> Dies {
    Dies { how: fails, living: AtomicU64::new(if lives { u64::MAX } else { 0 }) }
}

#[test]
fn what_workers_of_a_rank_lose_is_done_by_other_ranks() {
    for survivor in [0, 2] {
        let found = Mutex::new(vec![None; 1001]);
        let all = on_ranks(3, |net| {
            let farm = Farm::of(mortal(net.rank() == survivor));
            let run = Run { threads: Some(2), net: Some(net), ..Run::default() };
            if net.rank() > 0 {
                return farm.run_into(0..1001u64, &machine(), &run, &mut none);
            }
            farm.run_into(0..1001u64, &machine(), &run, &mut |k, output| {
                assert!(found.lock().unwrap()[k as usize].replace(output).is_none(), "{k} twice");
                Ok(())
            })
        });
        let found = found.into_inner().unwrap();
        assert!((0..1001).all(|k| found[k as usize] == Some(3 * k)));
        for outcome in all {
            let outcome = outcome.unwrap();
            let lost: Vec<_> = outcome.shares.iter().filter(|share| share.lost.is_some()).collect();
            assert!(!lost.is_empty() && lost.len() <= 4, "{lost:?}");
            for share in lost {
                assert_ne!(share.worker.node, survivor);
                assert!(share.lost.as_ref().unwrap().contains("the lane broke"));
            }
        }
    }
    // Nobody is left.
    let all = on_ranks(3, |net| {
        let run = Run { threads: Some(1), net: Some(net), ..Run::default() };
        Farm::of(mortal(false)).run_into(0..1001u64, &machine(), &run, &mut |_, _| Ok(()))
    });
    for outcome in all {
        let refusal = outcome.unwrap_err().to_string();
        assert!(refusal.contains("the lane broke"), "{refusal}");
    }
}

#[test]
fn a_task_that_fails_is_named_on_every_rank() {
    let farm = Farm::of(on_cores(|k: u64| match k {
        17 | 20 => Err(format!("no luck with {k}").into()),
        _ => Ok(k),
    }));
    let all = on_ranks(3, |net| {
        let run = Run { threads: Some(1), net: Some(net), ..Run::default() };
        farm.run_into(0..1_000_000u64, &machine(), &run, &mut |_, _| Ok(()))
    });
    for (rank, outcome) in all.into_iter().enumerate() {
        let refusal = outcome.unwrap_err();
        match &refusal {
            Error::Task { task, what, .. } => {
                assert_eq!((*task, what.as_str()), (17, "no luck with 17"));
            }
            // Ended by the first rank's end before it was told.
            Error::Rank { what, .. } => assert!(rank > 0 && what.contains("no luck with 17")),
            _ => panic!("{refusal}"),
        }
    }
    let farm = farm.on_failure(OnFailure::Skip);
    let all = on_ranks(2, |net| {
        let run = Run { threads: Some(1), net: Some(net), ..Run::default() };
        farm.run_into(0..100u64, &machine(), &run, &mut |_, _| Ok(()))
    });
    for outcome in all {
        let failed = outcome.unwrap().failed;
        assert_eq!(failed.iter().map(|failed| failed.task).collect::<Vec<_>>(), [17, 20]);
    }
}

/// Whichever rank is asked to end, all do, and what they ran is handed over.
#[test]
fn a_rank_that_is_asked_to_end_ends_the_farm() {
    for asked in [0, 2] {
        let (begun, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        let farm = Farm::of(on_cores(|k: u64| {
            stop.store(begun.fetch_add(1, Ordering::Relaxed) >= 60, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(1));
            Ok(k)
        }));
        let done = AtomicU64::new(0);
        let all = on_ranks(3, |net| {
            let interrupt = (net.rank() == asked).then_some(&stop);
            let run = Run { interrupt, threads: Some(1), net: Some(net), ..Run::default() };
            farm.run_into(0..1_000_000u64, &machine(), &run, &mut |_, _| {
                done.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
        });
        let done = done.into_inner();
        assert!((60..100_000).contains(&done), "{done}");
        for outcome in all {
            let report = outcome.unwrap().report;
            assert!(report.interrupted);
            assert_eq!(report.done, done);
        }
    }
}

#[test]
fn a_sink_that_fails_is_an_error_on_every_rank() {
    let farm = Farm::of(on_cores(|k: u64| Ok(k)));
    let begin = Instant::now();
    let all = on_ranks(3, |net| {
        let run = Run { threads: Some(1), net: Some(net), ..Run::default() };
        let full = |_, _| Err(Error::spec("the disk is full", "make room"));
        farm.run_into(0..1_000_000u64, &machine(), &run, &mut { full })
    });
    assert!(begin.elapsed() < SOON);
    for outcome in all {
        let refusal = outcome.unwrap_err().to_string();
        assert!(refusal.contains("the disk is full"), "{refusal}");
    }
}

#[test]
fn ranks_that_mean_other_farms_are_told_so() {
    let all = on_ranks(2, |net| {
        let farm = Farm::of(on_cores(|k: u64| Ok(k)));
        let policy =
            Policy { seconds: 1.0 + net.rank() as f64, lanes: 1 + net.rank(), ..Policy::default() };
        let run = Run { policy: Some(policy), net: Some(net), ..Run::default() };
        farm.run_into(0..100 - net.rank() as u64, &machine(), &run, &mut |_, _| Ok(()))
    });
    for outcome in all {
        let refusal = outcome.unwrap_err().to_string();
        assert!(
            refusal.contains("rank 1 has a number of tasks of 99, rank 0 has 100"),
            "{refusal}"
        );
        assert!(refusal.contains("\"seconds\":2.0"), "{refusal}");
    }
    let all = on_ranks(2, |net| {
        let task_limit = (net.rank() == 1).then_some(Duration::from_secs(9));
        let settings = Settings { task_limit, ..Settings::default() };
        let run = Run { net: Some(net), settings, ..Run::default() };
        Farm::of(on_cores(|k: u64| Ok(k))).run_into(0..9u64, &machine(), &run, &mut |_, _| Ok(()))
    });
    for outcome in all {
        let refusal = outcome.unwrap_err().to_string();
        let told = "rank 1 has a `task_limit` and `grace` of 9s and 5s, rank 0 has none";
        assert!(refusal.contains(told), "{refusal}");
    }
    // One alone has no way to work.
    let all = on_ranks(2, |net| {
        let target = [farm::Target::Cpu, farm::Target::AllGpus][net.rank()];
        let run = Run { target, net: Some(net), ..Run::default() };
        Farm::of(on_cores(|k: u64| Ok(k))).run_into(0..9u64, &machine(), &run, &mut |_, _| Ok(()))
    });
    for outcome in all {
        let refusal = outcome.unwrap_err().to_string();
        assert!(refusal.contains("its task runs on cores only"), "{refusal}");
    }
}

#[task]
fn scaled(k: u32, by: u32) -> u64 {
    k as u64 * by as u64
}

/// Other parameters or other inputs on one rank: refused before a task runs. A journal of others is not gone on from.
#[test]
fn ranks_with_other_inputs_or_parameters_are_refused() {
    let run_on = |by: [u32; 2], first: [u32; 2]| {
        on_ranks(2, |net| {
            let (rank, run) = (net.rank(), Run { net: Some(net), ..Run::default() });
            let inputs = first[rank]..first[rank] + 9;
            let farm = Farm::of(scaled(by[rank]));
            farm.run_into(inputs, &machine(), &run, &mut |_, _| Ok(()))
        })
    };
    assert!(run_on([3, 3], [5, 5]).iter().all(Result::is_ok));
    for (by, first) in [([3, 4], [5, 5]), ([3, 3], [5, 6])] {
        for outcome in run_on(by, first) {
            let refusal = outcome.unwrap_err().to_string();
            assert!(refusal.contains("parameters and inputs of the hash"), "{refusal}");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let go = |inputs: Vec<u32>, resume| {
        let journal = kept(folder.path(), resume);
        let run = Run { checkpoint: Some(&journal), ..Run::default() };
        Farm::of(scaled(2)).run_with(inputs, &machine(), &run)
    };
    go(vec![1, 2], false).unwrap();
    let refusal = go(vec![1, 3], true).unwrap_err().to_string();
    assert!(refusal.contains("other parameters or other inputs"), "{refusal}");
    assert_eq!(go(vec![1, 2], true).unwrap().0, [Some(2), Some(4)]);
}

fn kept(folder: &Path, resume: bool) -> Journal {
    Journal { directory: folder.into(), of: "squares".into(), resume, flush: Flush::EveryChunk }
}

/// A rank that is gone in the middle: an error on every other within seconds, a journal that is right, and a run
/// on other ranks that goes on from it and does nothing again that is there.
#[test]
fn a_rank_that_is_gone_leaves_a_journal_to_go_on_from() {
    let folder = tempfile::tempdir().unwrap();
    let policy = Policy { chunk: ChunkSize::Tasks(3), ..Policy::default() };
    let begin = Instant::now();
    let all = on_ranks(3, |net| {
        let farm = Farm::of(on_cores(|k: u64| {
            std::thread::sleep(Duration::from_millis(1));
            Ok(k * k)
        }));
        let journal = kept(folder.path(), false);
        let run =
            Run { threads: Some(1), checkpoint: Some(&journal), net: Some(net), ..Run::default() };
        let run = Run { policy: Some(policy), ..run };
        let mut had = 0;
        let mut sink = |_, _| {
            had += 1;
            // As if the process of rank 2 ended.
            if had == 100 {
                net.abort("rank 2 is gone");
            }
            Ok(())
        };
        farm.run_into(0..100_000u64, &machine(), &run, &mut sink)
    });
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    for outcome in all {
        let refusal = outcome.unwrap_err().to_string();
        assert!(refusal.contains("rank 2 is gone"), "{refusal}");
    }
    let there = kept(folder.path(), true).done::<u64>(100_000).unwrap();
    assert!((100..10_000).contains(&there.count()), "{}", there.count());
    let (ran, found) = (Mutex::new(Vec::new()), Mutex::new(vec![None; 100_000]));
    let all = on_ranks(2, |net| {
        let farm = Farm::of(on_cores(|k: u64| {
            ran.lock().unwrap().push(k);
            Ok(k * k)
        }));
        let journal = kept(folder.path(), true);
        let run =
            Run { threads: Some(1), checkpoint: Some(&journal), net: Some(net), ..Run::default() };
        farm.run_into(0..100_000u64, &machine(), &run, &mut |k, square| {
            assert!(found.lock().unwrap()[k as usize].replace(square).is_none(), "{k} twice");
            Ok(())
        })
    });
    for outcome in all {
        let report = outcome.unwrap().report;
        assert_eq!((report.first, report.done), (there.count(), 100_000));
    }
    let mut ran = ran.into_inner().unwrap();
    ran.sort_unstable();
    // Of the last tasks there may be backup copies.
    ran.dedup();
    assert!(ran.into_iter().eq((0..100_000).filter(|&k| !there.holds(&(k..k + 1)))));
    let found = found.into_inner().unwrap();
    assert!((0..100_000u64).all(|k| found[k as usize] == Some(k * k)));
}

/// A journal that can't be had is every rank's error, and is no other's.
#[test]
fn a_journal_that_is_refused_is_refused_on_every_rank() {
    let folder = tempfile::tempdir().unwrap();
    let all = on_ranks(2, |net| {
        let journal = kept(folder.path(), true);
        let run = Run { checkpoint: Some(&journal), net: Some(net), ..Run::default() };
        Farm::of(on_cores(|k: u64| Ok(k))).run_into(0..9u64, &machine(), &run, &mut |_, _| Ok(()))
    });
    for outcome in all {
        let refusal = outcome.unwrap_err().to_string();
        assert!(refusal.contains("holds no journal to resume"), "{refusal}");
    }
}

/// Outputs of 4 MiB from another rank: what waits is bounded there and here.
#[test]
fn outputs_of_other_ranks_wait_for_a_slow_sink() {
    let (begun, sunk, ahead) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let farm = Farm::of(on_cores(|k: u64| {
        begun.fetch_add(1, Ordering::Relaxed);
        Ok(vec![k as u8; 4 << 20])
    }));
    let all = on_ranks(2, |net| {
        let policy = Policy { chunk: ChunkSize::Tasks(64), seconds: 100.0, ..Policy::default() };
        let run = Run { policy: Some(policy), threads: Some(1), net: Some(net), ..Run::default() };
        farm.run_into(0..128u64, &machine(), &run, &mut |k, output: Vec<u8>| {
            assert_eq!((output.len(), output[0]), (4 << 20, k as u8));
            if sunk.load(Ordering::Relaxed) % 16 == 0 {
                // Long enough for all there are.
                std::thread::sleep(Duration::from_millis(300));
            }
            let through = sunk.fetch_add(1, Ordering::Relaxed);
            ahead.fetch_max(
                begun.load(Ordering::Relaxed).saturating_sub(through),
                Ordering::Relaxed,
            );
            Ok(())
        })
    });
    all.into_iter().for_each(|outcome| assert_eq!(outcome.unwrap().report.done, 128));
    // Two such outputs are a part of a chunk. Two workers, each with one that is run; one that is handed over and one
    // that is carried; those before the committer; those on their way.
    let most = 2 * (2 + 2 + 2 * AHEAD as u64 + AHEAD as u64);
    let ahead = ahead.into_inner();
    assert!(ahead <= most, "{ahead} outputs in memory, of {most}");
}

/// Lanes of each rank are numbered within it.
#[test]
fn ranks_without_gpus_take_part_where_there_are_some() {
    let machine = machine();
    if machine.gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    let mut bare = machine.clone();
    bare.gpus.clear();
    let all = on_ranks(2, |net| {
        let task = warpweft_conformance::farm::Numbered::new(|k| Ok(k + 1)).lanes().over(1000);
        let run = Run { target: farm::Target::AllGpus, net: Some(net), ..Run::default() };
        let machine = [&bare, &machine][net.rank()];
        Farm::of(task).run_into(0..1000u64, machine, &run, &mut |k, output| {
            assert_eq!(output, k + 1);
            Ok(())
        })
    });
    for outcome in all {
        let shares = outcome.unwrap().shares;
        assert!(shares.iter().all(|share| share.worker.node == 1));
        assert!(shares.iter().all(|share| matches!(share.worker.place, Place::Lane { .. })));
    }
}
