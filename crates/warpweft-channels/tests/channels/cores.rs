//! Channels on the cores: every function's values are those of plain calls, whatever the threads.

use warpweft::channels::cpu::CpuExecutor;
use warpweft::channels::{Channels, CpuPolicy};
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft_lab::conformance::channels::{Case, fib, queens, suite};

#[test]
fn values_are_those_of_plain_calls() {
    let machine = Machine::detect().unwrap();
    for threads in [1, 2, 3, 7] {
        for deque_capacity in [1, 3, 1024] {
            let policy = CpuPolicy { deque_capacity, ..CpuPolicy::of(threads) };
            let cases = suite(&mut CpuExecutor::new(&machine, policy).unwrap());
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
