//! What a run may be told: target, threads, policy, interrupt, deadline, progress.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use warpweft::channels::{CpuPolicy, LevelsPolicy, Policy, Run, StacksPolicy, Tuning};
use warpweft::prelude::{Channels, Error, Machine, spawn, spawning, sync};
use warpweft::run::Target;

/// An interrupt ends a run within this, on a machine where a thread that is to run does so within some milliseconds.
const SOON: Duration = Duration::from_millis(100);

#[spawning]
fn fib(n: u32) -> u64 {
    if n < 2 {
        return n as u64;
    }
    let a = spawn!(fib(n - 1));
    let b = spawn!(fib(n - 2));
    sync!();
    a + b
}

fn machine() -> Machine {
    Machine::detect().unwrap()
}

#[test]
fn threads_and_policy_are_as_said_and_progress_comes_to_the_total() {
    let told = RefCell::new(Vec::new());
    let progress = |done: u64, total: u64| told.borrow_mut().push((done, total));
    let policy = CpuPolicy { deque_capacity: 3, ..CpuPolicy::default() };
    let run = Run {
        target: Target::Cpu,
        threads: Some(2),
        policy: Some(Policy::Cpu(policy)),
        progress: Some(&progress),
        ..Run::default()
    };
    let channels = Channels::all((0..20).map(fib::call));
    let (values, report) = channels.run_all_with(&machine(), &run).unwrap();
    assert!(values.into_iter().eq((0..20).map(fib)));
    assert_eq!(report.policy["deque_capacity"], 3);
    assert_eq!(report.devices, [machine().cpu.label(2)]);
    assert_eq!(told.borrow().last(), Some(&(20, 20)));
}

#[test]
fn an_interrupt_or_a_deadline_ends_endless_calls_soon() {
    let machine = machine();
    let mut targets = vec![(Target::Cpu, Some(1)), (Target::Cpu, Some(3))];
    match machine.gpus.is_empty() {
        true => println!("no GPU: its part is left out"),
        false => targets.push((Target::AnyGpu, None)),
    }
    let endless = Channels::of(fib::call(80)).levels(100);
    for (target, threads) in targets {
        // Compiles a GPU's kernel: that takes longer than the deadline, which holds all the same.
        let deadline = Some(Instant::now() + Duration::from_millis(200));
        let run = Run { target, threads, deadline, ..Run::default() };
        assert!(endless.run_with(&machine, &run).is_err());
        let once = || {
            let flag = AtomicBool::new(false);
            let run = Run { target, threads, interrupt: Some(&flag), ..Run::default() };
            std::thread::scope(|scope| {
                let interrupter = scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(150));
                    flag.store(true, Ordering::Relaxed);
                    Instant::now()
                });
                let error = endless.run_with(&machine, &run).unwrap_err();
                let ended = Instant::now();
                let calls = matches!(error, Error::Interrupted { unit: "calls", .. });
                assert!(calls, "{error}");
                ended.saturating_duration_since(interrupter.join().unwrap())
            })
        };
        // On a machine that is busy otherwise a thread may wait as long for a core: the least of five tries.
        let took = (0..5).map(|_| once()).min().unwrap();
        assert!(took < SOON, "{target}, {threads:?}: {took:?}");
        let begin = Instant::now();
        let deadline = Some(begin + Duration::from_millis(200));
        let run = Run { target, threads, deadline, ..Run::default() };
        let error = endless.run_with(&machine, &run).unwrap_err();
        assert!(matches!(error, Error::Interrupted { .. }), "{error}");
        // The same device works on.
        let run = Run { target, threads, ..Run::default() };
        assert_eq!(Channels::of(fib::call(20)).run_with(&machine, &run).unwrap().0, 6765);
    }
}

/// One call a level, for more levels than any deadline waits for: a sum over its calls.
#[spawning]
fn endless(n: u32) -> u64 {
    if n == u32::MAX {
        return 0;
    }
    let a = spawn!(endless(n + 1));
    sync!();
    a + 1
}

#[test]
fn a_deadline_ends_levels_of_single_calls() {
    let machine = machine();
    if machine.gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    let policy = Some(Policy::Levels(LevelsPolicy::default()));
    for _ in 0..2 {
        let begin = Instant::now();
        let deadline = Some(begin + Duration::from_secs(2));
        let run = Run { target: Target::AnyGpu, policy, deadline, ..Run::default() };
        let error = Channels::of(endless::call(0)).run_with(&machine, &run).unwrap_err();
        assert!(matches!(error, Error::Interrupted { .. }), "{error}");
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    }
}

#[test]
fn what_can_not_be_is_refused_with_what_to_do() {
    let none = Machine { gpus: Vec::new(), ..machine() };
    let stacks = Some(Policy::Stacks(StacksPolicy::default()));
    for (run, expect) in [
        (Run { threads: Some(0), ..Run::default() }, ["0 threads", "use at least 1"]),
        (Run { target: Target::AnyGpu, ..Run::default() }, ["no GPU can be used", "--device cpu"]),
        (
            Run { target: Target::Cpu, policy: stacks, ..Run::default() },
            ["the policy is for GPUs, but the target is cpu", "or none"],
        ),
    ] {
        let told = Channels::of(fib::call(9)).run_with(&none, &run).unwrap_err().to_string();
        assert!(expect.iter().all(|part| told.contains(part)), "{told}");
    }
}

#[test]
fn a_search_tries_policies_and_keeps_the_fastest() {
    let folder = tempfile::tempdir().unwrap();
    let tuning = Tuning {
        target: Target::Cpu,
        threads: Some(2),
        budget: Duration::from_millis(300),
        folder: Some(folder.path().into()),
    };
    let tuned = Channels::of(fib::call(16)).tune(&machine(), &tuning).unwrap();
    let first = tuned.trials[0].policy;
    assert_eq!(first, Policy::Cpu(CpuPolicy::default()));
    assert!(tuned.kept && tuned.rate >= tuned.untuned, "{tuned:?}");
    assert!(tuned.trials.iter().all(|trial| trial.seconds.is_some() != trial.refused.is_some()));
    let tuning = Tuning { target: Target::AllGpus, ..tuning };
    assert!(Channels::of(fib::call(16)).tune(&machine(), &tuning).is_err());
}
