//! Tasks that fail for a while, for good, by the hundred thousand, or never end.

use std::cell::{Cell, RefCell};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use warpweft::cluster::in_process_all;
use warpweft::farm::{
    ChunkExecutor, ChunkOutputs, ChunkSize, Flush, Inputs, Journal, LISTED, OnFailure, Outcome,
    Policy, Run, Settings, is_cancelled, on_cores,
};
use warpweft::prelude::*;

fn machine() -> Machine {
    Machine::detect().unwrap()
}

/// Task k fails k mod 4 times.
#[test]
fn tasks_are_run_again_as_often_as_they_may_and_no_oftener() {
    let ran: Vec<AtomicU64> = (0..200).map(|_| AtomicU64::new(0)).collect();
    let farm = Farm::of(on_cores(|k: u64| {
        match ran[k as usize].fetch_add(1, Ordering::Relaxed) < k % 4 {
            true => Err(format!("not yet, {k}").into()),
            false => Ok(k),
        }
    }));
    let farm = farm.on_failure(OnFailure::Skip).retries(2);
    let policy = Policy { backups: false, ..Policy::default() };
    let run = Run { threads: Some(2), policy: Some(policy), ..Run::default() };
    let (found, outcome) = farm.run_with(0..200u64, &machine(), &run).unwrap();
    for k in 0..200 {
        assert_eq!(found[k as usize], (k % 4 < 3).then_some(k));
        assert_eq!(ran[k as usize].load(Ordering::Relaxed), k % 4 + u64::from(k % 4 < 3));
    }
    assert_eq!((outcome.failures, outcome.report.done), (50, 150));
    let third = &outcome.failed[2];
    assert_eq!((third.task, third.attempts, third.what.as_str()), (11, 3, "not yet, 11"));
}

/// An executor of chunks that returns NaN for one input and hands over the others, one by one or packed.
struct Roots {
    packed: bool,
}

impl Task for Roots {
    type Input = f64;
    type Output = f64;

    fn on_core(&self, x: f64) -> Result<f64, Failure> {
        Ok(x.sqrt())
    }

    fn on_core_chunks(&self) -> Option<Box<dyn ChunkExecutor<Self> + '_>> {
        Some(Box::new(Self { packed: self.packed }))
    }
}

impl ChunkExecutor<Roots> for Roots {
    fn run(
        &mut self,
        inputs: &[f64],
        outputs: &mut ChunkOutputs<'_, Roots>,
    ) -> warpweft::Result<()> {
        for (k, x) in inputs.iter().enumerate() {
            if !self.packed || *x < 0.0 {
                outputs.done(k, &x.sqrt());
            } else if !outputs.hand_over(k..k + 1, x.sqrt().to_le_bytes())? {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// An output that is no number is a failure of its task alone, whether tasks run one by one or in chunks, here and on ranks.
#[test]
fn outputs_that_are_not_accepted_are_failures_of_their_tasks() {
    let finite = |root: &f64| match root.is_nan() {
        true => Err("the root is NaN".into()),
        false => Ok(()),
    };
    fn check<T: Task<Input = f64, Output = f64>>(farm: &Farm<T>, ranks: usize) {
        let all = in_process_all(ranks, Duration::from_secs(60), |net| {
            let run = Run { threads: Some(2), net: (ranks > 1).then_some(net), ..Run::default() };
            let mut sum = 0.0;
            let mut sink = |_, root: f64| {
                sum += root;
                Ok(())
            };
            let inputs = Inputs::by(100, |k| if k == 70 { -1.0 } else { (k * k) as f64 });
            let outcome = farm.run_into(inputs, &machine(), &run, &mut sink).unwrap();
            assert_eq!((outcome.failures, outcome.failed[0].task), (1, 70));
            assert_eq!(outcome.failed[0].what, "the root is NaN");
            Ok(sum)
        });
        assert_eq!(*all[0].as_ref().unwrap(), f64::from(99 * 100 / 2 - 70));
    }
    for ranks in [1, 2] {
        let one_by_one = Farm::of(on_cores(|x: f64| Ok(x.sqrt()))).accept(finite);
        check(&one_by_one.on_failure(OnFailure::Skip), ranks);
        for packed in [false, true] {
            let chunks = Farm::of(Roots { packed }).accept(|_: &f64| Ok(())).accept(finite);
            check(&chunks.on_failure(OnFailure::Skip), ranks);
        }
    }
}

/// Only the first failures by number are listed, however many there are.
#[test]
fn very_many_failures_are_counted_and_the_first_are_listed() {
    let farm = Farm::of(on_cores(|k: u64| match k % 3 {
        0 => Ok(k),
        _ => Err("x".repeat(3000).into()),
    }));
    let farm = farm.on_failure(OnFailure::Skip);
    let all = in_process_all(2, Duration::from_secs(60), |net| {
        let run = Run { threads: Some(1), net: Some(net), ..Run::default() };
        farm.run_into(0..90_000u64, &machine(), &run, &mut |_, _| Ok(()))
    });
    for outcome in all {
        let outcome = outcome.unwrap();
        assert_eq!((outcome.failures, outcome.failed.len()), (60_000, LISTED));
        assert_eq!(outcome.failed[LISTED - 1].task, LISTED as u64 * 3 / 2 - 1);
        assert!(outcome.failed.iter().all(|failed| failed.what.len() <= 1026));
    }
}

/// A task that hangs until it is told that nobody waits: it has failed, and its worker goes on.
#[test]
fn a_task_that_hangs_fails_within_its_limit() {
    for ranks in [1, 2] {
        let told = Mutex::new(Vec::new());
        let farm = Farm::of(on_cores(|k: u64| {
            let begin = Instant::now();
            while k == 5 && begin.elapsed() < Duration::from_secs(20) {
                if is_cancelled() {
                    told.lock().unwrap().push(begin.elapsed());
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(k)
        }));
        let farm = farm.on_failure(OnFailure::Skip);
        let limit = Duration::from_millis(300);
        let all = in_process_all(ranks, Duration::from_secs(60), |net| {
            // One rank with copies of late tasks: that which hangs is not copied.
            let policy = Policy { backups: ranks == 1, ..Policy::default() };
            let noted = RefCell::new(Vec::new());
            let overdue = |note: &str| noted.borrow_mut().push(note.to_string());
            let settings = Settings {
                task_limit: Some(limit),
                overdue: Some(&overdue),
                ..Settings::default()
            };
            let run = Run { threads: Some(2), policy: Some(policy), settings, ..Run::default() };
            let run = Run { net: (ranks > 1).then_some(net), ..run };
            let outcome = farm.run_into(0..100u64, &machine(), &run, &mut |_, _| Ok(()))?;
            Ok((outcome, noted.into_inner()))
        });
        for (rank, outcome) in all.into_iter().enumerate() {
            let (outcome, noted) = outcome.unwrap();
            assert_eq!(noted.len(), usize::from(rank == 0), "{noted:?}");
            assert!(noted.iter().all(|note| note.starts_with("task 5 on ")), "{noted:?}");
            assert_eq!((outcome.report.done, outcome.failures), (99, 1));
            assert_eq!(outcome.failed[0].task, 5);
            assert!(outcome.failed[0].what.contains("longer than the limit of 300ms"));
            assert!(outcome.shares.iter().all(|share| share.lost.is_none()));
        }
        let told = told.into_inner().unwrap();
        assert!(told.len() == 1 && told[0] >= limit && told[0] < 8 * limit, "{told:?}");
    }
}

/// Workers come back from tasks that hang until they are told to return, however many do, and nothing is run again.
#[test]
fn tasks_that_hang_cost_no_worker_once_they_return() {
    for (ranks, backups) in [(1, true), (2, true), (2, false)] {
        let ran: Vec<AtomicU64> = (0..60).map(|_| AtomicU64::new(0)).collect();
        let farm = Farm::of(on_cores(|k: u64| {
            ran[k as usize].fetch_add(1, Ordering::Relaxed);
            while k % 10 == 3 && !is_cancelled() {
                std::thread::sleep(Duration::from_millis(1));
            }
            if k % 10 == 3 { Err("cancelled".into()) } else { Ok(k) }
        }));
        let farm = farm.on_failure(OnFailure::Skip).retries(2);
        let all = in_process_all(ranks, Duration::from_secs(60), |net| {
            let settings = limited(60, 20_000);
            let policy = Some(Policy { backups, ..Policy::default() });
            let run = Run { threads: Some(2), settings, policy, ..Run::default() };
            let run = Run { net: (ranks > 1).then_some(net), ..run };
            farm.run_into(0..60u64, &machine(), &run, &mut |_, _| Ok(()))
        });
        for outcome in all {
            let outcome = outcome.unwrap();
            assert_eq!((outcome.report.done, outcome.failures, outcome.unreached), (54, 6, 0));
            let right = |failed: &warpweft::farm::Failed| {
                failed.what.contains("longer than the limit of 60ms") && failed.attempts == 1
            };
            assert!(outcome.failed.iter().all(right), "{:?}", outcome.failed);
            assert!(outcome.shares.iter().all(|share| share.lost.is_none()));
        }
        // Each hangs once: what was done before it in its chunk is not done again.
        assert!(ran.iter().all(|ran| ran.load(Ordering::Relaxed) == 1), "{ran:?}");
    }
}

fn limited<'a>(limit: u64, grace: u64) -> Settings<'a> {
    let [limit, grace] = [limit, grace].map(Duration::from_millis);
    Settings { task_limit: Some(limit), grace, ..Settings::default() }
}

/// A task of which nothing comes until it is released, whatever it is told.
fn deaf(released: &AtomicBool) {
    while !released.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Tasks that never return cost a worker each. With none left the farm ends with what is done, which `stuck` is told.
#[test]
fn a_farm_whose_workers_all_hang_ends_with_what_is_done() {
    let folder = tempfile::tempdir().unwrap();
    for (deaf_tasks, done, unreached) in [(1, 39, 0), (2, 12, 26)] {
        let (released, begin) = (AtomicBool::new(false), Instant::now());
        let directory = folder.path().join(deaf_tasks.to_string());
        let of = "numbers".into();
        let journal = Journal { directory, of, resume: false, flush: Flush::default() };
        let farm = Farm::of(on_cores(|k: u64| {
            // Ten tasks a chunk: the second's third, and the third's last but one.
            if k == 12 || (k == 28 && deaf_tasks == 2) {
                deaf(&released);
            }
            Ok(k)
        }));
        let farm = farm.on_failure(OnFailure::Skip).retries(1);
        let told = RefCell::new(Vec::new());
        let stuck = |outcome: &warpweft::Result<Outcome>| {
            released.store(true, Ordering::Relaxed);
            let counts =
                |outcome: &Outcome| (outcome.report.done, outcome.failures, outcome.unreached);
            let written = std::fs::metadata(journal.directory.join("results"));
            let written = written.map_or(0, |results| results.len());
            told.borrow_mut().push((outcome.as_ref().ok().map(counts), written, begin.elapsed()));
        };
        let settings = Settings { stuck: Some(&stuck), ..limited(60, 60) };
        let policy = Policy {
            chunk: ChunkSize::Tasks(10),
            schedule: warpweft::farm::Schedule::MasterWorker,
            ..Policy::default()
        };
        let run = Run { threads: Some(2), settings, policy: Some(policy), ..Run::default() };
        let run = Run { checkpoint: Some(&journal), ..run };
        let (found, outcome) = farm.run_with(0..40u64, &machine(), &run).unwrap();
        let counts = (outcome.report.done, outcome.failures, outcome.unreached);
        let told = told.into_inner();
        assert_eq!((told.len(), told[0].0), (1, Some(counts)));
        // Eight bytes an output were on the disk by then, and little time had passed.
        assert!(told[0].1 >= 8 * counts.0 && told[0].2 < Duration::from_secs(20), "{told:?}");
        let again = Journal { resume: true, ..journal.clone() };
        assert_eq!(again.done::<u64>(40).unwrap().count() as u64, counts.0);
        assert_eq!(counts.0 + counts.1 + counts.2, 40);
        assert_eq!(found.iter().flatten().count() as u64, counts.0);
        assert_eq!(outcome.failures, deaf_tasks);
        let lost = outcome.shares.iter().filter(|share| share.lost.is_some()).count();
        assert_eq!(lost as u64, deaf_tasks);
        assert_eq!(outcome.report.interrupted, deaf_tasks == 2);
        assert_eq!(outcome.failed[0].task, 12);
        // All before each in its chunk is kept, and its chunk's rest is done by others while there are any.
        assert!(found[10..12].iter().chain(&found[20..28]).all(Option::is_some), "{found:?}");
        if deaf_tasks == 1 {
            assert_eq!((counts.0, counts.2), (done, unreached));
        } else {
            let notes = outcome.report.notes.join("\n");
            assert!(notes.contains("not reached: every worker was lost"), "{notes}");
        }
    }
}

/// What lies behind tasks that are not reached is handed over before a program is told that it may end.
#[test]
fn outputs_in_order_are_all_there_when_tasks_hang() {
    let released = AtomicBool::new(false);
    let farm = Farm::of(on_cores(|k: u64| {
        // The second's third of ten, and the third's last but one.
        if k == 12 || k == 28 {
            deaf(&released);
        }
        Ok(k)
    }));
    let farm = farm.on_failure(OnFailure::Skip);
    let (had, told) = (RefCell::new(Vec::new()), Cell::new((0, 0)));
    let stuck = |outcome: &warpweft::Result<Outcome>| {
        released.store(true, Ordering::Relaxed);
        told.set((had.borrow().len() as u64, outcome.as_ref().map_or(0, |o| o.report.done)));
    };
    let settings = Settings { stuck: Some(&stuck), ..limited(60, 60) };
    let chunk = ChunkSize::Tasks(10);
    let policy = Some(Policy { chunk, ..Policy::default() });
    let run = Run { threads: Some(2), settings, policy, ..Run::default() };
    let mut sink = |k: u64, _| {
        had.borrow_mut().push(k);
        Ok(())
    };
    let outcome = farm.run_in_order(0..40u64, &machine(), &run, &mut sink).unwrap();
    let done = outcome.report.done;
    assert_eq!((told.get(), outcome.failures), ((done, done), 2));
    let had = had.into_inner();
    assert!(had.is_sorted() && had.ends_with(&(20..28).collect::<Vec<_>>()), "{had:?}");
}

/// Nobody makes an input again that has taken too long.
#[test]
fn an_input_that_hangs_costs_its_task_alone() {
    let begin = Instant::now();
    let inputs = Inputs::by(40, |k: u64| {
        while k == 7 && !is_cancelled() && begin.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(1));
        }
        k
    });
    let farm = Farm::of(on_cores(|k: u64| Ok(k))).on_failure(OnFailure::Skip);
    let run = Run { threads: Some(2), settings: limited(60, 20_000), ..Run::default() };
    let (_, outcome) = farm.run_with(inputs, &machine(), &run).unwrap();
    assert!(begin.elapsed() < Duration::from_secs(15), "{:?}", begin.elapsed());
    assert_eq!((outcome.report.done, outcome.failures), (39, 1));
    assert_eq!((outcome.failed[0].task, &outcome.failed[0].input), (7, &None));
}

/// The same over ranks, and in an open farm, whose end waits for no such task.
#[test]
fn tasks_that_never_return_hold_up_no_other_rank_and_no_open_farm() {
    let released = AtomicBool::new(false);
    let farm = Farm::of(on_cores(|k: u64| {
        if k % 20 == 7 {
            deaf(&released);
        }
        Ok(k)
    }));
    let farm = farm.on_failure(OnFailure::Skip);
    let ended = AtomicU64::new(0);
    let all = in_process_all(2, Duration::from_secs(60), |net| {
        let stuck = |outcome: &warpweft::Result<Outcome>| {
            assert_eq!(outcome.as_ref().unwrap().failures, 2);
            ended.fetch_add(1, Ordering::Relaxed);
            released.store(true, Ordering::Relaxed);
        };
        let settings = Settings { stuck: Some(&stuck), ..limited(60, 60) };
        let run = Run { threads: Some(2), net: Some(net), settings, ..Run::default() };
        farm.run_into(0..40u64, &machine(), &run, &mut |_, _| Ok(()))
    });
    for outcome in all {
        let outcome = outcome.unwrap();
        assert_eq!((outcome.report.done, outcome.failures, outcome.unreached), (38, 2, 0));
        assert_eq!(outcome.shares.iter().filter(|share| share.lost.is_some()).count(), 2);
    }
    assert!(ended.load(Ordering::Relaxed) > 0);

    static RELEASED: AtomicBool = AtomicBool::new(false);
    let run = Run { threads: Some(2), settings: limited(60, 60), ..Run::default() };
    let farm = Farm::of(on_cores(|k: u64| {
        if k > 9 {
            deaf(&RELEASED);
        }
        Ok(k)
    }));
    let farm = farm.open(&machine(), &run).unwrap();
    let fine: Vec<_> = (0..10).map(|k| farm.submit(k)).collect();
    assert!(fine.into_iter().map(|handle| handle.wait().unwrap()).eq(0..10));
    let hang: Vec<_> = (10..13).map(|k| farm.submit(k)).collect();
    let errors: Vec<_> = hang.into_iter().map(|h| h.wait().unwrap_err().to_string()).collect();
    let late = errors.iter().filter(|error| error.contains("longer than the limit")).count();
    assert_eq!(late, 2, "{errors:?}");
    assert!(errors.iter().any(|error| error.contains("every worker hangs")), "{errors:?}");
    let outcome = farm.close().unwrap();
    assert_eq!((outcome.report.done, outcome.failures, outcome.unreached), (10, 2, 1));
    RELEASED.store(true, Ordering::Relaxed);
}

/// An interrupt is over once the tasks that run are, however many their chunks have left.
#[test]
fn an_interrupt_ends_chunks_after_the_task_that_runs() {
    let farm = Farm::of(on_cores(|k: u64| {
        std::thread::sleep(Duration::from_millis(20));
        Ok(k)
    }));
    let policy = Policy { chunk: ChunkSize::Tasks(500), ..Policy::default() };
    let begin = Instant::now();
    let deadline = Some(begin + Duration::from_millis(200));
    let run = Run { policy: Some(policy), threads: Some(2), deadline, ..Run::default() };
    let (found, outcome) = farm.run_with(0..100_000u64, &machine(), &run).unwrap();
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    assert!(outcome.report.interrupted && outcome.report.done > 0);
    assert_eq!(found.iter().flatten().count() as u64, outcome.report.done);
}

/// What a task returns once it was told that nobody waits is neither an output nor a failure.
#[test]
fn what_a_cancelled_task_returns_is_dropped() {
    for fails in [false, true] {
        let farm = Farm::of(on_cores(|k: u64| {
            while k > 0 && !is_cancelled() {
                std::thread::sleep(Duration::from_millis(1));
            }
            if k > 0 && fails { Err("cancelled".into()) } else { Ok(k) }
        }));
        let deadline = Some(Instant::now() + Duration::from_millis(200));
        let policy = Some(Policy { backups: false, ..Policy::default() });
        let run = Run { threads: Some(2), deadline, policy, ..Run::default() };
        let (found, outcome) = farm.run_with(0..9u64, &machine(), &run).unwrap();
        assert!(outcome.report.interrupted && outcome.failures == 0);
        assert_eq!(outcome.report.done, 1);
        assert!(found[0] == Some(0) && found[1..].iter().all(Option::is_none), "{found:?}");
    }
}
