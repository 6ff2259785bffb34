//! Channels on the cores: every function's values are those of plain calls, whatever the threads.

// Programs as users write them, whether the lint likes them or not.
#![allow(clippy::only_used_in_recursion, clippy::let_and_return)]

use warpweft::channels::cpu::CpuExecutor;
use warpweft::channels::{Channels, ChannelsExecutor as _, CpuPolicy, Run};
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft::run::Target;
use warpweft_conformance::channels::{Case, fib, queens, suite};

#[test]
fn values_are_those_of_plain_calls() {
    let machine = Machine::detect().unwrap();
    for threads in [1, 2, 3, 7] {
        for deque_capacity in [1, 3, 1024] {
            let policy = CpuPolicy { deque_capacity, ..CpuPolicy::default() };
            let cases = suite(&mut CpuExecutor::new(&machine, threads, policy).unwrap());
            let failed: Vec<_> =
                cases.iter().filter(|Case { failure, .. }| failure.is_some()).collect();
            assert!(
                failed.is_empty() && cases.len() == 12,
                "{threads} threads with deques of {deque_capacity}: {failed:#?}"
            );
        }
    }
}

#[test]
fn one_call_is_run_on_the_machine() {
    let machine = Machine::detect().unwrap();
    let (solutions, report) =
        Channels::of(queens::call((1 << 8) - 1, 0, 0, 0)).run(&machine).unwrap();
    // 2057 placements on a board of 8, the empty one included.
    assert_eq!((solutions, report.done, report.pattern), (92, 2057, "channels"));
    let (fibs, _) = Channels::all((0..10).map(fib::call)).run_all(&machine).unwrap();
    assert_eq!(fibs, [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]);
}

/// Arguments and a value of more bytes than a place for a call has.
#[spawning]
fn tables(table: [u64; 40], n: u64) -> [u64; 20] {
    if n == 0 {
        let mut first = [0; 20];
        for i in 0..20 {
            first[i] = table[i] + table[i + 20];
        }
        return first;
    }
    let mut other = table;
    other[n as usize] += n;
    let a = spawn!(tables(table, n - 1));
    let b = spawn!(tables(other, n - 1));
    let c = spawn!(tables([n; 40], n - 1));
    sync!();
    let mut sum = a;
    for i in 0..20 {
        sum[i] += b[i] * c[i];
    }
    sum
}

#[test]
fn arguments_and_values_may_be_large() {
    let machine = Machine::detect().unwrap();
    let expect = tables([3; 40], 7);
    for threads in [1, 2, 5] {
        for deque_capacity in [1, 1024] {
            let policy = CpuPolicy { deque_capacity, ..CpuPolicy::default() };
            let mut executor = CpuExecutor::new(&machine, threads, policy).unwrap();
            for _ in 0..20 {
                let (values, _) = executor.run(&Channels::of(tables::call([3; 40], 7))).unwrap();
                assert_eq!(values, [expect], "{threads} threads, deques of {deque_capacity}");
            }
        }
    }
    let error = Channels::of(tables::call([3; 40], 9)).levels(3).run(&machine).unwrap_err();
    assert!(error.to_string().contains("spawned deeper than 3 levels"), "{error}");
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

#[test]
fn what_a_function_panics_for_is_an_error() {
    std::panic::set_hook(Box::new(|_| {}));
    let machine = Machine::detect().unwrap();
    let error = Channels::of(divided::call(9)).run(&machine).unwrap_err().to_string();
    let expect = "the element function failed at `divided`: attempt to divide by zero; help: guard the operation there";
    assert_eq!(error, expect);
    let error = Channels::of(divided::call(9)).levels(9).run(&machine).unwrap_err().to_string();
    assert!(error.contains("`divided` spawned deeper than 9 levels"), "{error}");
}

mod inner {
    use warpweft::prelude::*;

    /// Generic, and elsewhere.
    #[spawning]
    pub fn doubled<T: Scalar>(x: T, times: u32) -> T {
        if times == 0 {
            return x;
        }
        let less = spawn!(doubled::<T>(x, times - 1));
        sync!();
        less
    }
}

#[spawning]
fn both(n: u32) -> u32 {
    let r#in = spawn!(inner::doubled::<u32>(n, 3));
    let x = spawn!(inner::doubled::<u8>(n as u8, 2));
    sync!();
    r#in + x as u32
}

#[test]
fn functions_may_be_generic_and_elsewhere() {
    let machine = Machine::detect().unwrap();
    let (sums, _) = Channels::all((0..300).map(both::call)).run_all(&machine).unwrap();
    assert!(sums.iter().zip(0..).all(|(&sum, n)| sum == n + (n & 255)));
}

/// Falls at one of many leaves, whose number is `at`.
#[spawning]
fn falls(depth: u32, number: u32, at: u32) -> u32 {
    if depth == 0 {
        return 1 / (number ^ at);
    }
    let mut sum = 0;
    for k in 0..4 {
        sum += spawn!(falls(depth - 1, 4 * number + k, at));
    }
    sync!();
    sum
}

#[test]
fn two_hundred_panics_are_two_hundred_errors_and_the_cores_live_on() {
    std::panic::set_hook(Box::new(|_| {}));
    let machine = Machine::detect().unwrap();
    let mut executor = CpuExecutor::new(&machine, 3, CpuPolicy::default()).unwrap();
    for at in 0..200 {
        let error = executor.run(&Channels::of(falls::call(5, 0, at * 5))).unwrap_err();
        assert!(error.to_string().contains("`falls`: attempt to divide by zero"), "{error}");
        let (values, _) = executor.run(&Channels::of(fib::call(15))).unwrap();
        assert_eq!(values, [610]);
    }
}

/// Something that takes about a tenth of a millisecond.
#[spawning]
fn leaf(number: u64) -> u64 {
    let mut x = number;
    for _ in 0..100_000 {
        x = x.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
    }
    x & 1
}

#[spawning]
fn flat(count: u64) -> u64 {
    let mut odd = 0u64;
    for k in 0..count {
        odd += spawn!(leaf(k));
    }
    sync!();
    odd
}

#[test]
fn a_loop_of_spawns_is_shared() {
    let machine = Machine::detect().unwrap();
    for deque_capacity in [4, 4096] {
        let policy = CpuPolicy { deque_capacity, ..CpuPolicy::default() };
        let mut executor = CpuExecutor::new(&machine, 2, policy).unwrap();
        let (values, report) = executor.run(&Channels::of(flat::call(600))).unwrap();
        assert_eq!((values[0], report.done), (flat(600), 601));
        let stolen = &report.notes[0];
        assert!(!stolen.contains(" 0 calls stolen"), "deques of {deque_capacity}: {stolen}");
    }
}

/// Has variables of 320,000 bytes.
#[spawning(cores)]
fn wide(n: u32) -> u64 {
    let mut local = [1u64; 40_000];
    std::hint::black_box(&mut local)[n as usize] = n as u64;
    if n == 0 {
        return 0;
    }
    let a = spawn!(wide(n - 1));
    sync!();
    a + std::hint::black_box(&local)[n as usize]
}

#[test]
fn large_variables_run_out_of_stack_with_an_error() {
    let machine = Machine::detect().unwrap();
    for threads in [1, 2] {
        let run = Run { target: Target::Cpu, threads: Some(threads), ..Run::default() };
        let calls = |n| Channels::of(wide::call(n)).levels(1000);
        assert_eq!(calls(9).run_on_cores(&machine, &run).unwrap().0, [45]);
        let error = calls(900).run_on_cores(&machine, &run).unwrap_err().to_string();
        assert!(error.contains("`wide` ran out of stack at level"), "{error}");
    }
}
