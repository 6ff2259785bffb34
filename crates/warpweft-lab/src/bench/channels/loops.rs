//! Cases for the cores only: flat loops of leaves, and sorting.

use std::hint::black_box;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use warpweft::channels::cpu::CpuExecutor;
use warpweft::channels::{ChannelsExecutor, CpuPolicy};
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft::report::Report;
use warpweft_apps::sort::{depth, quicksort};

use super::Measured;

/// Leaves of a loop: how many, and of how many steps each.
pub const LEAVES: [(u32, u64); 2] = [(64, 640_000), (100_000, 640)];
/// Keys; more where there are many threads.
pub fn sorted(threads: usize) -> &'static [u32] {
    const KEYS: [u32; 2] = [10_000_000, 100_000_000];
    if threads < 8 { &KEYS[..1] } else { &KEYS }
}

/// Something that takes one and a half nanoseconds a step, which no compiler takes together.
#[spawning]
fn leaf(number: u64, steps: u64) -> u64 {
    let mut x = number;
    for _ in 0..steps {
        x = (x ^ (x >> 29)).wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
    }
    x >> 32
}

#[spawning]
fn leaves(count: u32, steps: u64) -> u64 {
    let mut sum = 0u64;
    for k in 0..count {
        sum += spawn!(leaf(k as u64, steps));
    }
    sync!();
    sum
}

/// The sum of all leaves, as the peers compute it.
pub fn sum(count: u32) -> u64 {
    let steps = LEAVES.iter().find(|(leaves, _)| *leaves == count).map_or(0, |(_, steps)| *steps);
    leaves(count, steps)
}

/// Keys in no order, as the peers have them.
pub fn keys(count: u32) -> Vec<u32> {
    (0..count).map(|k| k.wrapping_mul(2_654_435_761).rotate_left(k % 13)).collect()
}

/// A number of the sorted keys that depends on their order.
pub fn order(keys: &[u32]) -> u64 {
    keys.iter()
        .zip(1u64..)
        .fold(0u64, |sum, (&key, k)| sum.wrapping_add(k.wrapping_mul(u64::from(key))))
}

/// Runs a case once, on `threads` threads: its report and its value.
fn once(executor: &mut CpuExecutor, app: &str, n: u32) -> Result<(Report, u64)> {
    if app == "leaves" {
        let steps = LEAVES.iter().find(|(count, _)| *count == n).map_or(0, |(_, steps)| *steps);
        let (values, report) = executor.run(&Channels::of(leaves::call(n, steps)))?;
        return Ok((report, values[0]));
    }
    let mut keys = keys(n);
    let calls = Channels::of(quicksort::call(&mut keys, depth(n as usize))).levels(200);
    let (_, report) = executor.run_once(calls, &Default::default(), None)?;
    Ok((report, order(&keys)))
}

/// What the case gives, and the seconds that the plain function takes on one core.
pub fn plain(app: &str, n: u32) -> (u64, f64) {
    if app == "leaves" {
        let begin = Instant::now();
        let value = black_box(sum(black_box(n)));
        return (value, begin.elapsed().as_secs_f64());
    }
    let mut sorted = keys(n);
    let begin = Instant::now();
    quicksort(&mut sorted, depth(n as usize));
    let seconds = begin.elapsed().as_secs_f64();
    (in_order(n), seconds)
}

/// The number of as many keys, sorted by the standard library, once.
pub fn in_order(count: u32) -> u64 {
    static KNOWN: Mutex<Vec<(u32, u64)>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&(_, order)) = known.iter().find(|(keys, _)| *keys == count) {
        return order;
    }
    let mut expect = keys(count);
    expect.sort_unstable();
    known.push((count, order(&expect)));
    order(&expect)
}

/// Each of the repeats, checked.
///
/// # Errors
/// As a run; a wrong value.
pub fn measure(
    (machine, threads): (&Machine, usize),
    app: &str,
    n: u32,
    repeats: u32,
) -> Result<Measured> {
    let mut executor = CpuExecutor::new(machine, threads, CpuPolicy::default())?;
    let (expect, alone) = plain(app, n);
    let mut reports = vec![];
    for _ in 0..=repeats {
        let (report, found) = once(&mut executor, app, n)?;
        if found != expect {
            let what = format!("{app} {n}: {found} instead of {expect}");
            return Err(Error::spec(what, "report this as a bug"));
        }
        reports.push(report);
    }
    Ok(Measured { reports, ideal: alone / threads as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_cases_give_what_the_plain_function_gives() {
        let machine = Machine::detect().unwrap();
        let measured = measure((&machine, 2), "sort", 10_000, 1).unwrap();
        assert_eq!(measured.reports.len(), 2);
        assert_eq!(order(&[5, 1]), 7);
    }
}
