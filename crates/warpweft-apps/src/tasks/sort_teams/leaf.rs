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

/// Where key number `i` of at most 4096 lies. A word in 17 is free, so that lanes that are 16 keys apart are in different memory banks.
#[device]
pub(super) fn place(i: u32) -> usize {
    let number = i & 4095;
    (number + number / 16) as usize
}

/// Sorts a lane's 16 keys by exchanges of pairs (Batcher, "Sorting networks and their applications", 1968).
#[device]
fn sort_few<T: Scalar + Word>(keys: [T; 16]) -> [T; 16] {
    let mut held = keys;
    for outer in 0..4u32 {
        for inner in 0..4u32 {
            if inner <= outer {
                let (width, apart) = (1u32 << outer, 1u32 << (outer - inner));
                let first = apart & (width - 1);
                for i in 0..16u32 {
                    let j = i + apart;
                    let pairs = i >= first && ((i - first) / apart) & 1 == 0;
                    if pairs && j < 16 && i / (2 * width) == j / (2 * width) {
                        let (a, b) = (held[(i & 15) as usize], held[(j & 15) as usize]);
                        held[(i & 15) as usize] = if b < a { b } else { a };
                        held[(j & 15) as usize] = if b < a { a } else { b };
                    }
                }
            }
        }
    }
    held
}

/// Sorts all runs of 16 of the 4096 `keys` by teams of 256 lanes, in memory that they share. Any 16 keys may be a run.
#[device]
pub(super) fn load_runs<T: Scalar + Word>(keys: &[T], room: &mut [T; 4352], lane: usize) {
    let mut held = [T::default(); 16];
    for k in 0..16usize {
        held[k] = keys[lane + 256 * k];
    }
    held = sort_few(held);
    for k in 0..16u32 {
        room[place(16 * lane as u32 + k)] = held[k as usize];
    }
}

/// Sorts the few `keys` from `begin` to `end`.
#[device]
pub(super) fn insert<T: Scalar + Word>(keys: &mut [T; 4352], begin: u32, end: u32) {
    let mut k = begin + 1;
    while k < end {
        let key = keys[place(k)];
        let mut to = k;
        let mut other = keys[place(k - 1)];
        while to > begin && key < other {
            keys[place(to)] = other;
            to -= 1;
            other = keys[place(to.max(begin + 1) - 1)];
        }
        keys[place(to)] = key;
        k += 1;
    }
}

/// The 16 keys from `begin` on of a merge of two sorted runs, which begin at the first and the second of `bounds` and end before the
/// second and the third.
#[device]
pub(super) fn merge_few<T: Scalar + Word>(
    from: &[T; 4352],
    to: &mut [T; 4352],
    bounds: [u32; 3],
    begin: u32,
) {
    let (first, middle, last) = (bounds[0], bounds[1], bounds[2]);
    let rank = begin - first;
    let mut low = rank.saturating_sub(last - middle);
    let mut high = rank.min(middle - first);
    // All lanes take as many turns, so that they stay together.
    for _ in 0..12u32 {
        let probe = (low + high) / 2;
        let is_after = from[place(middle + rank - 1 - probe)] < from[place(first + probe)];
        let open = low < high;
        high = if open && is_after { probe } else { high };
        low = if open && !is_after { probe + 1 } else { low };
    }
    let mut i = first + low;
    let mut j = middle + rank - low;
    let mut a = from[place(i.min(last - 1))];
    let mut b = from[place(j.min(last - 1))];
    for k in 0..16u32 {
        // Lanes take from either run in the same way. What is beyond the last key is never read.
        let takes = j >= last || (i < middle && a <= b);
        to[place(begin + k)] = if takes { a } else { b };
        i += if takes { 1 } else { 0 };
        j += if takes { 0 } else { 1 };
        let next = from[place((if takes { i } else { j }).min(last - 1))];
        a = if takes { next } else { a };
        b = if takes { b } else { next };
    }
}

/// A lane's share of the merges of all pairs of neighbouring runs of `run` keys.
#[device]
pub(super) fn merge_pairs<T: Scalar + Word>(
    from: &[T; 4352],
    to: &mut [T; 4352],
    run: u32,
    count: u32,
    lanes: [u32; 2],
) {
    let mut begin = 16 * lanes[0];
    while begin < count {
        let first = begin / (2 * run) * (2 * run);
        let middle = (first + run).min(count);
        merge_few(from, to, [first, middle, (middle + run).min(count)], begin);
        begin += 16 * lanes[1];
    }
}

/// Copies a lane's share of `count` keys into memory that a team shares: the first `split` of them from the first of `begins` on, the
/// others from the second on.
///
/// Eight keys are on their way at once: a lane waits for what it writes, not for what it reads.
#[device]
pub(super) fn load<T: Scalar + Word>(
    from: &[T],
    room: &mut [T; 4352],
    begins: [usize; 2],
    split: usize,
    count: usize,
    lanes: [usize; 2],
) {
    let others = begins[1].wrapping_sub(split);
    let mut held = [T::default(); 8];
    let mut i = lanes[0];
    while i + 7 * lanes[1] < count {
        for k in 0..8usize {
            let at = i + k * lanes[1];
            held[k] = from[if at < split { begins[0] } else { others }.wrapping_add(at)];
        }
        for k in 0..8usize {
            room[place((i + k * lanes[1]) as u32)] = held[k];
        }
        i += 8 * lanes[1];
    }
    while i < count {
        room[place(i as u32)] = from[if i < split { begins[0] } else { others }.wrapping_add(i)];
        i += lanes[1];
    }
}

/// Copies a lane's share of `count` keys back, to the places from `begin` on.
#[device]
pub(super) fn store<T: Scalar + Word>(
    room: &[T; 4352],
    to: &mut [T],
    begin: usize,
    count: usize,
    lanes: [usize; 2],
) {
    let mut i = lanes[0];
    while i < count {
        to[begin + i] = room[place(i as u32)];
        i += lanes[1];
    }
}
