//! Functions that `#[task]` was put on: the same outputs and failures on cores and on GPUs.

use warpweft::cuda::{Device, compiler};
use warpweft::farm::{OnFailure, Policy, Run, Target, TaskFunction, compile_check};
use warpweft::prelude::*;

/// Steps of Collatz' sequence from `n` to 1, at most `most`: as uneven as tasks get.
#[task]
fn collatz(mut n: u64, most: u32) -> u32 {
    let mut steps = 0;
    while n != 1 && steps < most {
        n = if n & 1 == 0 { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

#[derive(Clone, Copy, Debug, PartialEq, Device, Packed)]
#[repr(C)]
struct Interval {
    low: f64,
    high: f64,
    cells: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Device, Packed)]
#[repr(C)]
struct Area {
    cells: u16,
    sum: f64,
    worst: [f64; 2],
}

/// The area below a polynomial of degree 3, by cells; structs in and out.
#[task]
fn area(over: Interval, of: [f64; 4]) -> Area {
    let width = (over.high - over.low) / over.cells as f64;
    let mut found = Area { cells: over.cells, sum: 0.0, worst: [0.0; 2] };
    for k in 0..over.cells {
        let x = over.low + (k as f64 + 0.5) * width;
        let term = width * value(x, of);
        found.sum += term;
        if term > found.worst[1] {
            found.worst = [x, term];
        }
    }
    found
}

/// By Horner: products and sums that must not be contracted.
#[device]
fn value(x: f64, of: [f64; 4]) -> f64 {
    of[0] + x * (of[1] + x * (of[2] + x * of[3]))
}

/// Divides by zero where `k` is 3 more than a multiple of 11, and reads beyond the table at 5 more.
#[task]
fn fragile(k: u32, table: [u32; 5]) -> u32 {
    let rest = k % 11;
    let over = if rest == 3 { 0 } else { 7 };
    let mut sum = 0;
    for i in 0..rest {
        sum += table[(i + 1) as usize % if rest == 5 { 6 } else { 5 }] / over;
    }
    sum + k / over
}

/// Nothing but the input.
#[task]
fn twice(k: u32) -> u32 {
    2 * k
}

fn machine() -> Machine {
    Machine::detect().unwrap()
}

type Found<O> = (Vec<Option<O>>, Vec<(u64, String)>);

/// What a farm of `task` comes to.
fn found<T: Task<Output: Clone>>(
    task: T,
    inputs: &[T::Input],
    target: Target,
    lanes: usize,
) -> Found<T::Output>
where
    T::Input: Clone + Sync,
{
    let policy = Policy { lanes, ..Policy::default() };
    let run = Run { target, policy: Some(policy), ..Run::default() };
    let mut outputs = vec![None; inputs.len()];
    let mut sink = |k: u64, output| {
        assert!(outputs[k as usize].replace(output).is_none(), "{k} twice");
        Ok(())
    };
    let outcome = Farm::of(task)
        .on_failure(OnFailure::Skip)
        .run_into(inputs, &machine(), &run, &mut sink)
        .unwrap();
    assert!(outcome.shares.iter().all(|share| share.lost.is_none()), "{:?}", outcome.shares);
    let failed = outcome.failed.into_iter().map(|failed| (failed.task, failed.what)).collect();
    (outputs, failed)
}

fn intervals() -> Vec<Interval> {
    let one = |k: u32| {
        let low = f64::from(k % 97) / 8.0 - 5.0;
        Interval { low, high: low + f64::from(k % 13), cells: (1 + k % 500) as u16 }
    };
    (0..3000).map(one).collect()
}

const OF: [f64; 4] = [0.3, -1.1, 0.7, 0.01];
const TABLE: [u32; 5] = [7, 100, 3, 0, 9];

/// Panics are failures of their tasks; what the standard library prints of them is left out.
fn quietly(body: impl FnOnce()) {
    std::panic::set_hook(Box::new(|_| {}));
    body();
    let _ = std::panic::take_hook();
}

#[test]
fn on_cores_a_task_is_its_function() {
    let inputs: Vec<u64> = (1..3000).collect();
    let (steps, failed) = found(collatz(1000), &inputs, Target::Cpu, 1);
    assert!(failed.is_empty());
    assert_eq!((steps[26], steps[96]), (Some(111), Some(118)));
    assert_eq!(collatz::task(27, 50), 50);
    let (areas, _) = found(area(OF), &intervals(), Target::Cpu, 1);
    for (area, over) in areas.into_iter().zip(intervals()) {
        let Area { cells, sum, .. } = area.unwrap();
        let whole = |x: f64| x * (OF[0] + x * (OF[1] / 2.0 + x * (OF[2] / 3.0 + x * OF[3] / 4.0)));
        assert_eq!(cells, over.cells);
        // The midpoint rule, exact for lines: what is left goes with the square of a cell's width.
        let width = (over.high - over.low) / f64::from(cells);
        let bound = 1e-9 + 2.0 * width * width * (over.high - over.low);
        assert!((sum - (whole(over.high) - whole(over.low))).abs() <= bound, "{over:?}: {sum}");
    }
    quietly(|| {
        let (_, failed) = found(fragile(TABLE), &(0..40).collect::<Vec<_>>(), Target::Cpu, 1);
        let told: Vec<_> = failed.iter().map(|(k, why)| (*k, why.as_str())).collect();
        let divided = "it panicked: attempt to divide by zero";
        let beyond = "it panicked: index out of bounds: the len is 5 but the index is 5";
        let expect: Vec<_> = (0..40u64)
            .filter_map(|k| match k % 11 {
                3 => Some((k, divided)),
                5 => Some((k, beyond)),
                _ => None,
            })
            .collect();
        assert_eq!(told, expect);
    });
    let (pairs, _) = Farm::of(twice()).run(0..5u32, &machine()).unwrap();
    assert_eq!(pairs, [0, 2, 4, 6, 8]);
}

fn compiles<E: TaskFunction>() {
    for arch in ["sm_80", "sm_90"] {
        compile_check::<E>(arch).unwrap_or_else(|error| panic!("{} for {arch}: {error}", E::NAME));
    }
}

#[test]
fn every_task_compiles_for_devices() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    compiles::<collatz>();
    compiles::<area>();
    compiles::<fragile>();
    compiles::<twice>();
}

fn alike<T: Task + Copy>(task: T, inputs: &[T::Input])
where
    T::Input: Clone + Sync,
    T::Output: Clone + PartialEq + std::fmt::Debug,
{
    let expect = found(task, inputs, Target::Cpu, 1);
    for (target, lanes) in [(Target::AllGpus, 1), (Target::AllGpus, 3), (Target::Auto, 2)] {
        let found = found(task, inputs, target, lanes);
        assert!(found == expect, "{target:?} with {lanes} lanes");
    }
}

#[test]
fn on_gpus_outputs_and_failures_are_those_of_cores() {
    if !Device::count().is_ok_and(|count| count > 0) {
        return println!("skipped: no GPU");
    }
    quietly(|| {
        for count in [0u64, 1, 31, 1000, 300_000] {
            alike(collatz(400), &(1..=count).collect::<Vec<_>>());
        }
        alike(area(OF), &intervals());
        alike(fragile(TABLE), &(0..5000).collect::<Vec<_>>());
        alike(twice(), &(0..100_001).collect::<Vec<_>>());
    });
}
