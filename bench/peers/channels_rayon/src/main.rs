//! Fibonacci numbers and queens by rayon's `join`, without cutoff, as `warpweft bench channels` counts them.
//!
//! `channels_rayon APP N THREADS REPEATS` prints one JSON object with the median of the seconds.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

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

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |k: usize| -> u32 { arguments[k].parse().expect("APP N THREADS REPEATS") };
    let (app, n, threads, repeats) = (arguments[1].as_str(), number(2), number(3), number(4));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads as usize).build().expect("threads");
    let found = AtomicU64::new(0);
    let mut seconds: Vec<f64> = (0..repeats)
        .map(|_| {
            let begin = Instant::now();
            let value = pool.install(|| match app {
                "fib" => fib(n),
                _ => queens((1 << n) - 1, 0, 0, 0),
            });
            found.store(value, Ordering::Relaxed);
            begin.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    println!(
        "{{\"peer\": \"rayon\", \"app\": \"{app}\", \"n\": {n}, \"threads\": {threads}, \"value\": {}, \"seconds\": {:e}}}",
        found.load(Ordering::Relaxed),
        seconds[seconds.len() / 2]
    );
}
