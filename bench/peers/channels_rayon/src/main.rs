//! Fibonacci numbers and queens by rayon's `join`, without cutoff, flat loops by its parallel iterators, and quicksort, as
//! `warpweft bench channels` counts them.
//!
//! `channels_rayon APP N THREADS REPEATS` prints one JSON object with the median of the seconds.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rayon::prelude::*;

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n as u64;
    }
    let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Half of the free squares each, down to one: rayon's own way to many children is a tree of joins.
fn placed(all: u32, columns: u32, left: u32, right: u32, free: u32) -> u64 {
    match free.count_ones() {
        0 => 0,
        1 => queens(all, columns | free, (left | free) << 1, (right | free) >> 1),
        count => {
            let mut low = 0;
            for _ in 0..count / 2 {
                low |= (free ^ low) & (free ^ low).wrapping_neg();
            }
            let (a, b) = rayon::join(
                || placed(all, columns, left, right, low),
                || placed(all, columns, left, right, free ^ low),
            );
            a + b
        }
    }
}

fn queens(all: u32, columns: u32, left: u32, right: u32) -> u64 {
    if columns == all {
        return 1;
    }
    placed(all, columns, left, right, all & !(columns | left | right))
}

fn leaf(number: u64, steps: u64) -> u64 {
    let mut x = number;
    for _ in 0..steps {
        x = (x ^ (x >> 29)).wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
    }
    x >> 32
}

fn leaves(count: u32) -> u64 {
    let steps = if count == 64 { 640_000 } else { 640 };
    (0..count).into_par_iter().with_max_len(1).map(|k| leaf(u64::from(k), steps)).sum()
}

/// The quicksort of the application, by `join`.
fn quicksort(keys: &mut [u32], depth: u32) {
    if keys.len() <= 2048 || depth == 0 {
        return keys.sort_unstable();
    }
    let (low, high) = partition(keys);
    rayon::join(|| quicksort(low, depth - 1), || quicksort(high, depth - 1));
}

fn partition(keys: &mut [u32]) -> (&mut [u32], &mut [u32]) {
    let count = keys.len();
    let step = count / 9;
    let of = |k: usize| median(keys, [k, k + 1, k + 2].map(|k| k * step));
    let middle = median(keys, [of(0), of(3), of(6)]);
    keys.swap(0, middle);
    let pivot = keys[0];
    let less = split(&mut keys[1..], |key| key < pivot);
    keys.swap(0, less);
    let (low, high) = keys.split_at_mut(less);
    let equal = match less < count / 8 {
        true => 1 + split(&mut high[1..], |key| key <= pivot),
        false => 1,
    };
    (low, &mut high[equal..])
}

fn split(keys: &mut [u32], first: impl Fn(u32) -> bool) -> usize {
    let mut count = 0;
    for k in 0..keys.len() {
        let key = keys[k];
        keys.swap(k, count);
        count += usize::from(first(key));
    }
    count
}

fn median(keys: &[u32], at: [usize; 3]) -> usize {
    let mut sorted = at;
    sorted.sort_by_key(|&k| keys[k]);
    sorted[1]
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |k: usize| -> u32 { arguments[k].parse().expect("APP N THREADS REPEATS") };
    let (app, n, threads, repeats) = (arguments[1].as_str(), number(2), number(3), number(4));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads as usize).build().expect("threads");
    let found = AtomicU64::new(0);
    let mut seconds: Vec<f64> = (0..repeats)
        .map(|_| {
            let mut keys: Vec<u32> = match app {
                "sort" | "par_sort" => {
                    (0..n).map(|k| k.wrapping_mul(2_654_435_761).rotate_left(k % 13)).collect()
                }
                _ => Vec::new(),
            };
            let begin = Instant::now();
            let mut value = pool.install(|| match app {
                "fib" => fib(n),
                "leaves" => leaves(n),
                "sort" => {
                    quicksort(&mut keys, 2 * n.ilog2());
                    0
                }
                "par_sort" => {
                    keys.par_sort_unstable();
                    0
                }
                _ => queens((1 << n) - 1, 0, 0, 0),
            });
            let seconds = begin.elapsed().as_secs_f64();
            for (&key, k) in keys.iter().zip(1u64..) {
                value = value.wrapping_add(k.wrapping_mul(u64::from(key)));
            }
            found.store(value, Ordering::Relaxed);
            seconds
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    println!(
        "{{\"peer\": \"rayon\", \"app\": \"{app}\", \"n\": {n}, \"threads\": {threads}, \"value\": {}, \"seconds\": {:e}}}",
        found.load(Ordering::Relaxed),
        seconds[seconds.len() / 2]
    );
}
