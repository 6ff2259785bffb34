//! `#[spawning(cores)]`: calls that borrow, from slices of users and from variables of the calls above.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};

use warpweft::channels::cpu::CpuExecutor;
use warpweft::channels::{Channels, ChannelsExecutor as _, CpuPolicy, Policy, Run};
use warpweft::machine::Machine;
use warpweft::prelude::{Error, spawn, spawning, sync};
use warpweft::run::Target;
use warpweft_conformance::channels::fib;

fn runs() -> impl Iterator<Item = Run<'static>> {
    let policies = [(1, 4096), (2, 4096), (3, 1), (5, 64)];
    policies.into_iter().map(|(threads, deque_capacity)| {
        let policy = CpuPolicy { deque_capacity, ..CpuPolicy::default() };
        Run { policy: Some(Policy::Cpu(policy)), threads: Some(threads), ..Run::default() }
    })
}

/// Numbers in no order (Knuth's multiplicative hash).
fn shuffled(count: u32) -> Vec<u32> {
    (0..count).map(|k| k.wrapping_mul(2_654_435_761)).collect()
}

#[spawning(cores)]
fn merge_sort<T: Ord + Copy + Send>(keys: &mut [T], other: &mut [T]) {
    if keys.len() < 20 {
        return keys.sort();
    }
    let middle = keys.len() / 2;
    let (low, high) = keys.split_at_mut(middle);
    let (other_low, other_high) = other.split_at_mut(middle);
    spawn!(merge_sort(low, other_low));
    spawn!(merge_sort(high, other_high));
    sync!();
    merge(&keys[..middle], &keys[middle..], other);
    keys.copy_from_slice(other);
}

/// A serial helper.
fn merge<'m, T: Ord + Copy>(mut a: &'m [T], mut b: &'m [T], to: &mut [T]) {
    for place in to {
        let from = match (a.first(), b.first()) {
            (Some(x), Some(y)) if x <= y => &mut a,
            (Some(_), None) => &mut a,
            _ => &mut b,
        };
        (*place, *from) = (from[0], &from[1..]);
    }
}

/// Disjoint halves, each sorted by a call.
#[spawning(cores)]
fn quick_sort<T: Ord + Copy + Send + Debug>(keys: &mut [T]) {
    if keys.len() < 2 {
        return;
    }
    keys.swap(0, keys.len() / 2);
    let pivot = keys[0];
    let mut less = 0;
    for k in 1..keys.len() {
        if keys[k] < pivot {
            less += 1;
            keys.swap(k, less);
        }
    }
    keys.swap(0, less);
    let (low, high) = keys.split_at_mut(less);
    spawn!(quick_sort(low));
    spawn!(quick_sort(&mut high[1..]));
    sync!();
    assert!(low.last().is_none_or(|last| *last < high[0]), "{low:?}");
}

#[test]
fn disjoint_halves_of_a_slice_are_sorted_by_calls() {
    let machine = Machine::detect().unwrap();
    for run in runs() {
        let mut keys = shuffled(20_000);
        let mut expect = keys.clone();
        expect.sort_unstable();
        let calls = Channels::of(quick_sort::call(&mut keys)).levels(500);
        let (_, report) = calls.run_on_cores(&machine, &run).unwrap();
        assert_eq!(keys, expect);
        assert!(report.done > 20_000, "{} calls", report.done);
        // Several first calls, over parts of one slice.
        let mut keys: Vec<_> = shuffled(5000).into_iter().map(|key| (key % 50, key)).collect();
        let mut expect = keys.clone();
        expect.chunks_mut(1000).for_each(<[_]>::sort_unstable);
        let calls = Channels::all(keys.chunks_mut(1000).map(quick_sort::call)).levels(500);
        calls.run_on_cores(&machine, &run).unwrap();
        assert_eq!(keys, expect);
    }
    let (mut keys, mut other) = (shuffled(999), vec![0; 999]);
    let calls = Channels::of(merge_sort::call(&mut keys, &mut other));
    calls.run_on_cores(&machine, &Run::default()).unwrap();
    assert!(keys.is_sorted());
}

/// A sum over a slice, in chunks, into places that the call above owns.
#[spawning(cores)]
fn sums(numbers: &[u64], to: &mut u64, count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
    if numbers.len() < 10 {
        *to = numbers.iter().sum();
        return;
    }
    let each = numbers.len().div_ceil(7);
    let mut parts = [0; 7];
    for (part, chunk) in parts.iter_mut().zip(numbers.chunks(each)) {
        spawn!(sums(chunk, part, count));
    }
    sync!();
    *to = parts.iter().sum();
}

#[test]
fn calls_write_into_variables_of_the_calls_above() {
    let numbers: Vec<u64> = (0..30_000).collect();
    let machine = Machine::detect().unwrap();
    let mut counts = vec![];
    for run in runs() {
        let (mut sum, count) = (0, AtomicU64::new(0));
        let calls = Channels::of(sums::call(&numbers, &mut sum, &count));
        let (_, report) = calls.run_on_cores(&machine, &run).unwrap();
        assert_eq!((sum, report.done), (29_999 * 15_000, count.into_inner()));
        counts.push(report.done);
    }
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
}

/// A table of 1600 bytes by value, a reference, and a value on the heap.
#[spawning(cores)]
fn words(table: [u64; 200], text: &str, mut found: Vec<String>) -> Vec<String> {
    let Some((low, high)) = text.split_once(' ') else {
        found.push(format!("{text}{}", table[text.len()]));
        return found;
    };
    let a = spawn!(words(table, low, found));
    let b = spawn!(words(table, high, Vec::new()));
    sync!();
    [a, b].concat()
}

#[test]
fn arguments_may_be_large_and_values_on_the_heap() {
    let machine = Machine::detect().unwrap();
    let mut table = [0; 200];
    (0..200).for_each(|k| table[k] = 10 * k as u64);
    let text = "in a deque of calls the oldest one is taken first";
    for run in runs() {
        let calls = Channels::of(words::call(table, text, Vec::new()));
        let (found, _) = calls.run_on_cores(&machine, &run).unwrap();
        let expect: Vec<_> = text.split(' ').map(|w| format!("{w}{}", 10 * w.len())).collect();
        assert_eq!(found, [expect]);
    }
}

#[spawning(cores)]
fn falls(numbers: &mut [u32]) {
    if let [number] = numbers {
        *number = 100 / *number;
        return;
    }
    let (low, high) = numbers.split_at_mut(numbers.len() / 2);
    spawn!(falls(low));
    spawn!(falls(high));
    sync!();
}

#[test]
fn a_panic_is_an_error_and_the_slice_is_the_users_again() {
    std::panic::set_hook(Box::new(|_| {}));
    let machine = Machine::detect().unwrap();
    let mut executor = CpuExecutor::new(&machine, 3, CpuPolicy::default()).unwrap();
    for _ in 0..20 {
        let mut numbers = vec![5; 1000];
        numbers[777] = 0;
        let calls = Channels::of(falls::call(&mut numbers));
        let error = executor.run_once(calls, &Default::default(), None).unwrap_err();
        assert!(matches!(&error, Error::Element { .. }), "{error}");
        assert!(error.to_string().contains("`falls`: attempt to divide by zero"), "{error}");
        assert!(numbers.iter().all(|number| [0, 5, 20].contains(number)));
        assert_eq!(executor.run(&Channels::of(fib::call(12))).unwrap().0, [144]);
    }
}

#[test]
fn a_gpu_is_refused() {
    let machine = Machine::detect().unwrap();
    let mut numbers = [1];
    let calls = Channels::of(falls::call(&mut numbers));
    let run = Run { target: Target::AnyGpu, ..Run::default() };
    let error = calls.run_on_cores(&machine, &run).unwrap_err().to_string();
    assert!(error.contains("`falls` on gpu") && error.contains("--device cpu"), "{error}");
}

/// Deeper than GPUs allow.
#[spawning]
fn deep(n: u32) -> u64 {
    if n == 0 {
        return 0;
    }
    let below = spawn!(deep(n - 1));
    sync!();
    below + 1
}

#[test]
fn a_chain_of_thirty_thousand_calls() {
    let machine = Machine::detect().unwrap();
    for run in runs() {
        let calls = Channels::of(deep::call(30_000)).levels(30_001);
        assert_eq!(calls.run_on_cores(&machine, &run).unwrap().0, [30_000]);
    }
}
