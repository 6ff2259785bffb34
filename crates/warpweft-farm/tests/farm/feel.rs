//! Closures as tasks, outputs in order, folds, tasks that are submitted one by one, and what a run may be told.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use warpweft::farm::{
    ChunkSize, Inputs, OnFailure, Packed, Policy, Run, Settings, Target, is_cancelled, on_cores,
};
use warpweft::prelude::*;

fn machine() -> Machine {
    Machine::detect().unwrap()
}

#[test]
fn closures_borrow_what_they_read() {
    let table: Vec<f64> = (0..100).map(f64::from).collect();
    let rows: Vec<Vec<usize>> = (0..50).map(|k| (k..k + 50).collect()).collect();
    let sum = |row: &Vec<usize>| row.iter().map(|&at| table[at]).sum::<f64>();
    let (sums, report) = Farm::each(Inputs::borrowed(&rows), sum).run(&machine()).unwrap();
    assert!((0..50u32).all(|k| sums[k as usize] == f64::from(50 * k + 1225)));
    assert_eq!(report.done, 50);
    let farm = Farm::each(0..10u64, |k| {
        assert!(k != 7, "not seven");
        k
    });
    let run = Run { threads: Some(2), ..Run::default() };
    let (found, outcome) = farm.on_failure(OnFailure::Skip).run_with(&machine(), &run).unwrap();
    assert_eq!(found.iter().flatten().count(), 9);
    assert!(outcome.failed[0].what.contains("not seven"), "{:?}", outcome.failed);
}

/// Early tasks are the long ones, so most outputs come before their turn; one task fails.
#[test]
fn outputs_come_in_the_order_of_their_inputs() {
    let farm = Farm::of(on_cores(|k: u64| {
        std::thread::sleep(Duration::from_micros(200 * (50 - k.min(50))));
        if k == 20 { Err("no".into()) } else { Ok(k) }
    }));
    let farm = farm.on_failure(OnFailure::Skip);
    let run = Run { threads: Some(4), ..Run::default() };
    let mut came = Vec::new();
    let mut sink = |k, output: u64| {
        assert_eq!(k, output);
        came.push(k);
        Ok(())
    };
    farm.run_in_order(0..300u64, &machine(), &run, &mut sink).unwrap();
    assert!(came.into_iter().eq((0..300).filter(|&k| k != 20)));
}

/// A sum whose value depends on the order of its terms, by any number of threads.
#[test]
fn folds_are_the_same_for_any_number_of_threads() {
    let expect = (1..5000u64).fold(0f32, |sum, k| sum + 1.0 / k as f32);
    for threads in [1, 3, 4] {
        let farm = Farm::of(on_cores(|k: u64| Ok(1.0 / k as f32)));
        let run = Run { threads: Some(threads), ..Run::default() };
        let add = |sum: f32, x: f32| sum + x;
        let (sum, outcome) = farm.reduce(1..5000u64, &machine(), &run, 0.0, add).unwrap();
        assert_eq!((sum.to_bits(), outcome.report.done), (expect.to_bits(), 4999));
    }
}

#[test]
fn tasks_are_submitted_while_the_farm_runs() {
    let task = on_cores(|k: i64| match k {
        -1 => Err("below zero".into()),
        -2 => panic!("far below zero"),
        _ => Ok(k * k),
    });
    let run = Run { target: Target::Cpu, threads: Some(2), ..Run::default() };
    let farm = Farm::of(task).open(&machine(), &run).unwrap();
    // Nothing to do for a while.
    std::thread::sleep(Duration::from_millis(20));
    // From several threads, each of which has its own answers.
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let farm = &farm;
            scope.spawn(move || {
                let handles: Vec<_> =
                    (0..200).map(|k| (k, farm.submit(1000 * thread + k))).collect();
                for (k, handle) in handles {
                    assert_eq!(handle.wait().unwrap(), (1000 * thread + k).pow(2));
                }
            });
        }
    });
    let (first, second, third) = (farm.submit(-1), farm.submit(-2), farm.submit(5));
    assert_eq!(third.wait().unwrap(), 25);
    let refusal = first.wait().unwrap_err().to_string();
    assert!(
        refusal.contains("task 600 failed on core ") && refusal.contains("below zero"),
        "{refusal}"
    );
    assert!(second.wait().unwrap_err().to_string().contains("far below zero"));
    let last: Vec<_> = (0..50).map(|k| farm.submit(k)).collect();
    let outcome = farm.close().unwrap();
    assert_eq!((outcome.report.done, outcome.failed.len(), outcome.shares.len()), (651, 2, 2));
    // What was submitted before the close was done by then.
    assert!(last.iter().all(warpweft::farm::Handle::is_done));
}

#[test]
fn an_open_farm_refuses_at_once_what_it_cannot_run() {
    let policy = Policy { lanes: 9, ..Policy::default() };
    let run = Run { policy: Some(policy), ..Run::default() };
    let refused = Farm::of(on_cores(|k: u64| Ok(k))).open(&machine(), &run).err().unwrap();
    assert!(refused.to_string().contains("9 lanes of a GPU"), "{refused}");
}

/// A handle is a future: woken by the worker that fulfils it.
#[test]
fn handles_are_futures() {
    use std::future::Future;
    use std::sync::Arc;
    use std::task::{Context, Poll, Wake, Waker};

    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let task = on_cores(|k: u64| {
        std::thread::sleep(Duration::from_millis(30));
        Ok(k + 1)
    });
    let farm = Farm::of(task).open(&machine(), &Run::default()).unwrap();
    let mut handle = Box::pin(farm.submit(41));
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let output = loop {
        match handle.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => break output,
            Poll::Pending => std::thread::park_timeout(Duration::from_secs(10)),
        }
    };
    assert_eq!(output.unwrap(), 42);
    let again = handle.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(matches!(again, Poll::Ready(Err(_))), "it was taken");
}

/// What the farm can't keep is named; a deadline it keeps.
#[test]
fn an_open_farm_says_which_settings_it_has() {
    let open = |run: &Run<'_>| Farm::of(on_cores(|k: u64| Ok(k))).open(&machine(), run);
    let progress = |_: u64, _: u64| ();
    let refused = open(&Run { progress: Some(&progress), ..Run::default() }).err().unwrap();
    assert!(refused.to_string().contains("can't have `Run::progress`"), "{refused}");
    let overdue = |_: &str| ();
    let settings = Settings { overdue: Some(&overdue), ..Settings::default() };
    let refused = open(&Run { settings, ..Run::default() }).err().unwrap();
    assert!(refused.to_string().contains("can't have `Settings::overdue`"), "{refused}");

    let deadline = Some(Instant::now() + Duration::from_millis(100));
    let run = Run { deadline, threads: Some(1), ..Run::default() };
    let endless = Farm::of(on_cores(|k: u64| {
        while !is_cancelled() {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(k)
    }));
    let farm = endless.open(&machine(), &run).unwrap();
    let (runs, waits) = (farm.submit(1), farm.submit(2));
    for handle in [runs, waits] {
        let why = handle.wait().unwrap_err().to_string();
        assert!(why.contains("the deadline has passed"), "{why}");
    }
    assert!(farm.submit(3).wait().is_err());
    let outcome = farm.close().unwrap();
    assert!(outcome.report.interrupted && outcome.report.done == 0);
}

/// The task that was late is told once the farm is closed: a copy of it was sooner.
#[test]
fn a_closed_farm_does_not_wait_for_a_task_whose_copy_was_sooner() {
    static FIRST: AtomicBool = AtomicBool::new(true);
    let task = on_cores(|k: u64| {
        if k == 20 && FIRST.swap(false, Ordering::Relaxed) {
            while !is_cancelled() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        std::thread::sleep(Duration::from_millis(1));
        Ok(k)
    });
    let run = Run { threads: Some(2), ..Run::default() };
    let farm = Farm::of(task).open(&machine(), &run).unwrap();
    let handles: Vec<_> = (0..=20).map(|k| farm.submit(k)).collect();
    assert!(handles.into_iter().map(|handle| handle.wait().unwrap()).eq(0..=20));
    let outcome = farm.close().unwrap();
    assert_eq!((outcome.report.done, outcome.failures), (21, 0));
}

/// Its bytes can't be read back.
struct Unread;
impl Packed for Unread {
    fn pack(&self, to: &mut Vec<u8>) {
        to.push(1);
    }
    fn unpack(_: &mut &[u8]) -> Option<Self> {
        panic!("never read")
    }
    fn form() -> String {
        "nothing".into()
    }
}

#[test]
fn nobody_waits_for_an_output_that_is_not_read_back() {
    let farm = Farm::of(on_cores(|_: u64| Ok(Unread)));
    let farm = farm.open(&machine(), &Run::default()).unwrap();
    let first = farm.submit(0);
    let why = first.wait().err().unwrap().to_string();
    assert!(why.contains("task 0 failed on core") && why.contains("never read"), "{why}");
    assert_eq!(farm.close().unwrap().failures, 1);
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
