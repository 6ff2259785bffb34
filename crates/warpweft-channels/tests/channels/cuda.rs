//! Channels on a GPU: kernels compile without one; with one every function's values are those of plain calls,
//! whatever the policy.

use std::time::Instant;

use warpweft::channels::cuda::{CudaExecutor, compile_check};
use warpweft::channels::{Channels, ChannelsExecutor, Spawning, StacksPolicy};
use warpweft::cuda::{Device, compiler};
use warpweft::prelude::*;
use warpweft_conformance::channels::{
    Case, chain, fib, hasty, idle, kinds, queens, suite, tree, wide,
};

#[test]
fn kernels_compile_for_ampere_and_hopper() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    std::thread::scope(|scope| {
        for arch in ["sm_80", "sm_90"] {
            scope.spawn(move || compile_check::<fib>(arch).unwrap());
            scope.spawn(move || compile_check::<wide>(arch).unwrap());
        }
        scope.spawn(|| compile_check::<tree>("sm_90").unwrap());
        scope.spawn(|| compile_check::<hasty>("sm_90").unwrap());
        scope.spawn(|| compile_check::<kinds>("sm_90").unwrap());
        scope.spawn(|| compile_check::<idle>("sm_90").unwrap());
    });
}

fn device() -> Option<Device> {
    match Device::open(0) {
        Ok(device) => Some(device),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}

/// From all warps down to one block; windows in shared and in global memory, down to the smallest; sharing after every step; few
/// records.
fn policies() -> [StacksPolicy; 8] {
    let usual = StacksPolicy::default();
    [
        usual,
        StacksPolicy { blocks: 1, ..usual },
        StacksPolicy { warps: 4, blocks: 3, every: 1, ..usual },
        StacksPolicy { shared: false, every: 1, idle: 1, ..usual },
        StacksPolicy { depth: 8, every: 3, idle: 20, ..usual },
        StacksPolicy { records: 128, ..usual },
        StacksPolicy { timed: true, ..usual },
        StacksPolicy { blocks: 2, records: 128, depth: 8, every: 2, ..usual },
    ]
}

/// As `fib`, of a form that is proved to be no sum: calls wait for their values.
#[spawning]
fn joined(n: u32) -> u64 {
    if n < 2 {
        return n as u64;
    }
    let a = spawn!(joined(n - 1));
    let b = spawn!(joined(n - 2));
    sync!();
    (a + b).rotate_left(0)
}

#[test]
fn values_are_those_of_plain_calls() {
    let Some(device) = device() else { return };
    for policy in policies() {
        let begin = Instant::now();
        let cases = suite(&mut CudaExecutor::new(&device, policy).unwrap());
        let failed: Vec<_> =
            cases.iter().filter(|Case { failure, .. }| failure.is_some()).collect();
        assert!(failed.is_empty() && cases.len() == 12, "{policy:?}: {failed:#?}");
        println!("{:.1} s: {policy:?}", begin.elapsed().as_secs_f64());
    }
}

#[test]
fn small_windows_and_few_records_are_enough() {
    let Some(device) = device() else { return };
    let policy = StacksPolicy { depth: 8, records: 128, every: 1, ..StacksPolicy::default() };
    for blocks in [1, 2, 0] {
        let mut executor = CudaExecutor::new(&device, StacksPolicy { blocks, ..policy }).unwrap();
        let (values, report) = executor.run(&Channels::of(joined::call(27))).unwrap();
        assert_eq!((values, report.done), (vec![196_418], 2 * 317_811 - 1));
        let (values, _) = executor.run(&Channels::all((0..25).map(joined::call))).unwrap();
        assert_eq!(values[24], 46_368);
    }
}

#[test]
fn the_same_again_and_again() {
    let Some(device) = device() else { return };
    let mut executor = CudaExecutor::new(&device, StacksPolicy::default()).unwrap();
    for n in [20, 25, 28, 30] {
        for _ in 0..30 {
            let (mut this, mut next) = (0u64, 1u64);
            (0..n).for_each(|_| (this, next) = (next, this + next));
            let (values, report) = executor.run(&Channels::of(fib::call(n))).unwrap();
            assert_eq!((values, report.done), (vec![this], 2 * next - 1));
            let (values, report) = executor.run(&Channels::of(joined::call(n))).unwrap();
            assert_eq!((values, report.done), (vec![this], 2 * next - 1));
        }
    }
    for _ in 0..30 {
        let board = queens::call((1 << 11) - 1, 0, 0, 0);
        let (values, report) = executor.run(&Channels::of(board).levels(12)).unwrap();
        assert_eq!((values, report.done), (vec![2680], 166_926));
    }
}

/// A path each call of which has another call to spawn when it is back.
#[spawning]
fn dive(n: u32) -> u64 {
    if n == 0 {
        return 1;
    }
    let long = spawn!(dive(n - 1));
    let short = spawn!(dive(0));
    sync!();
    long + short
}

/// The same of a form that is proved to be no sum.
#[spawning]
fn sink(n: u32) -> u64 {
    if n == 0 {
        return 1;
    }
    let long = spawn!(sink(n - 1));
    let short = spawn!(sink(0));
    sync!();
    (long + short).rotate_left(0)
}

#[test]
fn calls_go_as_deep_as_memory_and_kernels_are_kept() {
    let Some(device) = device() else { return };
    let mut executor = CudaExecutor::new(&device, StacksPolicy::default()).unwrap();
    for n in [30_000, 100_000] {
        let (values, report) = executor.run(&Channels::of(dive::call(n))).unwrap();
        assert_eq!((values, report.done), (vec![u64::from(n) + 1], 2 * u64::from(n) + 1));
        println!("{n} deep: {:.1} ms", report.seconds * 1e3);
        let (values, report) = executor.run(&Channels::of(sink::call(n))).unwrap();
        assert_eq!((values, report.done), (vec![u64::from(n) + 1], 2 * u64::from(n) + 1));
        println!("{n} deep, no sum: {:.1} ms", report.seconds * 1e3);
    }
    let small = Channels::of(dive::call(9));
    executor.run(&small).unwrap();
    let mut setups: Vec<_> =
        (0..9).map(|_| executor.run(&small).unwrap().1.setup_seconds).collect();
    setups.sort_by(f64::total_cmp);
    assert!(setups[4] < 1e-3, "{setups:?}");
    // Many roots, each with a value of its own.
    let roots = Channels::all((0..5000u32).map(|k| dive::call(k % 40)));
    let (values, _) = executor.run(&roots).unwrap();
    assert!(values.into_iter().eq((0..5000u32).map(|k| u64::from(k % 40) + 1)));
}

#[spawning]
fn divided(n: i32) -> i32 {
    let mut sum = 1 / n;
    if n > -3 {
        sum += spawn!(divided(n - 1));
    }
    sync!();
    sum
}

/// A thousand calls of one loop, whose value is proved to be no sum.
#[spawning]
fn broad(n: u32) -> u32 {
    let mut sum = 1;
    for _ in 0..n {
        sum += spawn!(broad(0));
    }
    sync!();
    sum.rotate_left(0)
}

#[test]
fn what_goes_wrong_is_an_error_and_the_gpu_lives_on() {
    let Some(device) = device() else { return };
    let mut executor = CudaExecutor::new(&device, StacksPolicy::default()).unwrap();
    let error = executor.run(&Channels::of(divided::call(9))).unwrap_err().to_string();
    assert!(
        error.contains("channels/cuda.rs") && error.contains("attempt to divide by zero"),
        "{error}"
    );
    let (sums, _) = executor.run(&Channels::of(broad::call(5000))).unwrap();
    assert_eq!(sums, [5001]);
    let (values, _) = executor.run(&Channels::of(chain::call(63))).unwrap();
    assert_eq!(values, [chain::call(63).plain()]);
}

/// Waits for a value that is no sum over its calls, at every level.
#[spawning]
fn descend(n: u32) -> u64 {
    if n == 0 {
        return 1;
    }
    let a = spawn!(descend(n - 1));
    sync!();
    a.rotate_left(5) ^ n as u64
}

#[test]
fn more_waiting_calls_than_memory_are_an_error_and_the_gpu_lives_on() {
    let Some(device) = device() else { return };
    let mut executor = CudaExecutor::new(&device, StacksPolicy::default()).unwrap();
    // A lane each, and gigabytes of frames for all of them.
    let deep = Channels::all((0..500_000).map(|_| descend::call(20_000)));
    let error = executor.run(&deep).unwrap_err().to_string();
    assert!(error.contains("calls of `descend` that wait take more than"), "{error}");
    assert!(error.contains("use a shallower one"), "{error}");
    let (values, _) = executor.run(&Channels::all((0..9).map(descend::call))).unwrap();
    assert!(values.into_iter().eq((0..9).map(descend)));
}
