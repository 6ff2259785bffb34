//! Sorting a few thousand keys in the shared memory of a team.

// Device code has no `div_ceil`.
#![allow(clippy::manual_div_ceil)]

use warpweft::element::Word;
use warpweft::prelude::*;

/// Keys that one team sorts.
pub(super) const LEAF: usize = 4096;

/// `count` divided by `by`, rounded up.
#[device]
pub(in crate::tasks) fn parts(count: usize, by: usize) -> usize {
    (count + by - 1) / by
}

/// Sorts the few `keys` from `begin` to `end`.
#[device]
fn insert<T: Scalar + Word>(keys: &mut [T; 4096], begin: u32, end: u32) {
    let mut k = begin + 1;
    while k < end {
        let key = keys[k as usize];
        let mut to = k;
        let mut other = keys[(k - 1) as usize];
        while to > begin && key < other {
            keys[to as usize] = other;
            to -= 1;
            other = keys[to.max(begin + 1) as usize - 1];
        }
        keys[to as usize] = key;
        k += 1;
    }
}

/// Keys from `begin` to `end` of a merge of neighbouring sorted runs of length `run`.
#[device]
fn merge_few<T: Scalar + Word>(
    from: &[T; 4096],
    to: &mut [T; 4096],
    run: u32,
    count: u32,
    begin: u32,
    end: u32,
) {
    let first = begin / (2 * run) * (2 * run);
    let middle = (first + run).min(count);
    let last = (middle + run).min(count);
    let rank = begin - first;
    let mut low = rank.saturating_sub(last - middle);
    let mut high = rank.min(middle - first);
    while low < high {
        let probe = (low + high) / 2;
        if from[(middle + rank - 1 - probe) as usize] < from[(first + probe) as usize] {
            high = probe;
        } else {
            low = probe + 1;
        }
    }
    let mut i = first + low;
    let mut j = middle + rank - low;
    let mut a = from[i.min(count - 1) as usize];
    let mut b = from[j.min(count - 1) as usize];
    let mut k = begin;
    while k < end {
        // Lanes take from either run in the same way.
        let takes = j == last || (i < middle && a <= b);
        to[k as usize] = if takes { a } else { b };
        i += if takes { 1 } else { 0 };
        j += if takes { 0 } else { 1 };
        let next = from[(if takes { i } else { j }).min(count - 1) as usize];
        a = if takes { next } else { a };
        b = if takes { b } else { next };
        k += 1;
    }
}

/// The length of the runs with which lanes begin. An odd number keeps lanes out of one another's memory banks.
#[device]
pub(super) fn first_run(count: u32, lanes: u32) -> u32 {
    ((count + lanes - 1) / lanes).min(17) | 1
}

/// The share of a lane of `count` pieces of work: the first, and the one after the last.
#[device]
pub(super) fn share(count: usize, lane: usize, lanes: usize) -> [usize; 2] {
    let mine = parts(count, lanes);
    let first = (lane * mine).min(count);
    [first, (first + mine).min(count)]
}

/// A lane's share of the runs of `each` keys with which a sort of `count` keys begins.
#[device]
pub(super) fn first_runs<T: Scalar + Word>(
    keys: &mut [T; 4096],
    count: u32,
    each: u32,
    lanes: [u32; 2],
) {
    let mut begin = lanes[0] * each;
    while begin < count {
        insert(keys, begin, (begin + each).min(count));
        begin += lanes[1] * each;
    }
}

/// A lane's share of the merges of all pairs of runs of `run` keys.
#[device]
pub(super) fn merge_pairs<T: Scalar + Word>(
    from: &[T; 4096],
    to: &mut [T; 4096],
    run: u32,
    count: u32,
    each: u32,
    lanes: [u32; 2],
) {
    let mut begin = lanes[0] * each;
    while begin < count {
        merge_few(from, to, run, count, begin, (begin + each).min(count));
        begin += lanes[1] * each;
    }
}
