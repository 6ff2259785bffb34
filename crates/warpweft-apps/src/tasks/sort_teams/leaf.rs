//! Sorting a few thousand keys in the shared memory of a team.

// Device code has no `div_ceil`.
#![allow(clippy::manual_div_ceil)]

use warpweft::element::Word;
use warpweft::prelude::*;

/// Keys that one team sorts.
pub(super) const LEAF: usize = 4096;

/// `count` divided by `by`, rounded up.
#[device]
pub(super) fn parts(count: usize, by: usize) -> usize {
    (count + by - 1) / by
}

/// Sorts the few `keys` from `begin` to `end`.
#[device]
pub(super) fn insert<T: Scalar + Word>(keys: &mut [T; 4096], begin: usize, end: usize) {
    let mut k = begin + 1;
    while k < end {
        let key = keys[k];
        let mut to = k;
        while to > begin && key < keys[to - 1] {
            keys[to] = keys[to - 1];
            to -= 1;
        }
        keys[to] = key;
        k += 1;
    }
}

/// Keys from `begin` to `end` of a merge of neighbouring sorted runs of length `run`.
#[device]
pub(super) fn merge_few<T: Scalar + Word>(
    from: &[T; 4096],
    to: &mut [T; 4096],
    run: usize,
    count: usize,
    begin: usize,
    end: usize,
) {
    let first = begin / (2 * run) * (2 * run);
    let middle = (first + run).min(count);
    let last = (middle + run).min(count);
    let rank = begin - first;
    let mut low = rank.saturating_sub(last - middle);
    let mut high = rank.min(middle - first);
    while low < high {
        let probe = (low + high) / 2;
        if from[middle + rank - 1 - probe] < from[first + probe] {
            high = probe;
        } else {
            low = probe + 1;
        }
    }
    let mut i = first + low;
    let mut j = middle + rank - low;
    let mut a = from[i.min(count - 1)];
    let mut b = from[j.min(count - 1)];
    for k in begin..end {
        if j == last || (i < middle && !(b < a)) {
            to[k] = a;
            i += 1;
            a = from[i.min(count - 1)];
        } else {
            to[k] = b;
            j += 1;
            b = from[j.min(count - 1)];
        }
    }
}

/// The length of the runs with which lanes begin. An odd number keeps lanes out of one another's memory banks.
#[device]
pub(super) fn first_run(count: usize, lanes: usize) -> usize {
    parts(count, lanes).min(17) | 1
}
