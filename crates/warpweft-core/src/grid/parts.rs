//! Splits a slice between threads, for work that takes the same time for every value. The pinned workers of a
//! run are in `cpu`.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, available_parallelism, scope};

/// Splits `slice` into at most as many parts as there are cores and calls `work(first, part)` for each in a thread of its
/// own, where `first` is the index of the part's first value. Parts have about equal lengths, all multiples of `share`
/// values (the last may be shorter). Choose `share` so that values that belong together, such as a row, stay together, and
/// so that its work is worth starting a thread (some 30 µs).
///
/// If the system refuses a thread, the other threads, including the caller's, do its work.
///
/// ```
/// let mut rows = [0; 12];
/// warpweft::grid::in_parts(&mut rows, 3, |first, part| {
///     part.chunks_mut(3).enumerate().for_each(|(n, row)| row.fill(first / 3 + n));
/// });
/// assert_eq!(rows, [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]);
/// ```
pub fn in_parts<T: Send>(slice: &mut [T], share: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    let share = share.max(1);
    let shares = slice.len().div_ceil(share).max(1);
    let threads = available_parallelism().map_or(1, usize::from).min(shares);
    let each = shares.div_ceil(threads).saturating_mul(share);
    let parts = Mutex::new(slice.chunks_mut(each).enumerate());
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    on_threads(threads, &|| {
        while let Some((n, part)) = next() {
            work(n * each, part);
        }
    });
}

/// Calls `all`, which takes work until there is none, on so many threads, of which the caller's is one. Compiled once: a
/// thread takes more code than most work.
fn on_threads(threads: usize, all: &(dyn Fn() + Sync)) {
    if threads <= 1 {
        return all();
    }
    scope(|scope| {
        for _ in 1..threads {
            if Builder::new().name("parts".into()).spawn_scoped(scope, all).is_err() {
                break;
            }
        }
        all();
    });
}

/// What `work` gives for each part of `0..len`, in their order. All parts have `share` values, but for the last, whatever
/// the number of threads, so that what is summed up by parts is the same everywhere.
///
/// ```
/// let sums = warpweft::grid::over_parts(10, 4, |part| part.sum::<usize>());
/// assert_eq!(sums, [0 + 1 + 2 + 3, 4 + 5 + 6 + 7, 8 + 9]);
/// ```
pub fn over_parts<R: Send>(
    len: usize,
    share: usize,
    work: impl Fn(Range<usize>) -> R + Sync,
) -> Vec<R> {
    let share = share.max(1);
    let part = |n: usize| n * share..((n + 1).saturating_mul(share)).min(len);
    let parts = len.div_ceil(share);
    let threads = available_parallelism().map_or(1, usize::from).min(parts);
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<R>>> = Mutex::new((0..parts).map(|_| None).collect());
    on_threads(threads, &|| {
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            if n >= parts {
                break;
            }
            let value = work(part(n));
            done.lock().unwrap_or_else(PoisonError::into_inner)[n] = Some(value);
        }
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_in_their_order_with_every_value_once() {
        for (len, share) in [(0, 5), (1, 5), (5, 5), (1000, 7), (1000, 0), (3, usize::MAX)] {
            let parts = over_parts(len, share, |part| part.collect::<Vec<_>>());
            assert_eq!(parts.concat(), (0..len).collect::<Vec<_>>(), "{len} by {share}");
        }
    }

    #[test]
    fn every_value_is_worked_on_once_with_its_number_in_whole_shares() {
        for (len, share) in [(0, 5), (1, 5), (5, 5), (1000, 7), (1000, 0), (3, usize::MAX)] {
            let mut values = vec![usize::MAX; len];
            in_parts(&mut values, share, |first, part| {
                assert!(first.is_multiple_of(share.max(1)));
                part.iter_mut().enumerate().for_each(|(n, value)| {
                    *value = value.wrapping_add(1 + first + n);
                });
            });
            assert!(values.iter().enumerate().all(|(n, &value)| value == n), "{len} by {share}");
        }
    }
}
