//! Mergesort by teams of lanes, for GPUs and cores: sorted runs, and merges of up to 256 runs at once.
//!
//! A merge of many runs is split by keys until each part fits a team's memory; a team then gathers the part's keys from all
//! runs and sorts them. So a hundred million keys pass through memory three times.
//!
//! References: Green, McColl and Bader, "GPU merge path" (2012), by which a lane finds where its part of a merge begins; Shi
//! and Schaeffer, "Parallel sorting by regular sampling" (1992), for sorted runs that are split by keys.

// Device code has neither `div_ceil` nor `swap`.
#![allow(clippy::manual_div_ceil, clippy::manual_swap)]

use warpweft::channels::Team;
use warpweft::element::Word;
use warpweft::prelude::*;

use super::sort::{Key, Pair};

/// Keys that one team sorts.
const LEAF: usize = 4096;

/// A key as an unsigned number of the same order.
pub trait Ordered: Key {
    /// The number's type.
    type Number: Scalar + Word;
    /// The number.
    fn number(self) -> Self::Number;
    /// The key of a number.
    fn of(number: Self::Number) -> Self;
}

impl Ordered for u32 {
    type Number = u32;
    fn number(self) -> u32 {
        self
    }
    fn of(number: u32) -> Self {
        number
    }
}

impl Ordered for i32 {
    type Number = u32;
    fn number(self) -> u32 {
        self as u32 ^ 1 << 31
    }
    fn of(number: u32) -> Self {
        (number ^ 1 << 31) as i32
    }
}

/// By the order of `f32::total_cmp`.
impl Ordered for f32 {
    type Number = u32;
    fn number(self) -> u32 {
        let bits = self.to_bits();
        bits ^ if bits >> 31 == 1 { u32::MAX } else { 1 << 31 }
    }
    fn of(number: u32) -> Self {
        Self::from_bits(number ^ if number >> 31 == 1 { 1 << 31 } else { u32::MAX })
    }
}

/// Pairs of equal keys by their values.
impl Ordered for Pair {
    type Number = u64;
    fn number(self) -> u64 {
        u64::from(self.key) << 32 | u64::from(self.value)
    }
    fn of(number: u64) -> Self {
        Self { key: (number >> 32) as u32, value: number as u32 }
    }
}

/// `count` divided by `by`, rounded up.
#[device]
fn parts(count: usize, by: usize) -> usize {
    (count + by - 1) / by
}

/// Half of `count`, up to a multiple of `unit`.
#[device]
fn half(count: usize, unit: usize) -> usize {
    parts(count / 2, unit) * unit
}

/// The length of the runs that `count` keys are merged from: at most 256 of them, about as many as each of them has in turn.
#[device]
fn run_length(count: usize) -> usize {
    let leaves = parts(count, 4096);
    let mut ways = 2;
    while leaves > 256 && ways < 256 && ways * ways < leaves {
        ways += 1;
    }
    if leaves > 256 { parts(leaves, ways) * 4096 } else { 4096 }
}

/// Sorts `keys` with the help of `other`, which is as long. The result is in `other` or in `keys`.
#[spawning]
pub fn team_sort<T: Scalar + Word>(keys: &mut [T], other: &mut [T], in_other: bool) {
    let count = keys.len();
    let run = run_length(count);
    if count <= LEAF {
        spawn!(sort_leaf(keys, other, in_other));
    } else {
        spawn!(sort_runs(keys, other, !in_other, run));
    }
    sync!();
    if count > LEAF {
        if in_other {
            spawn!(merge(keys, other, run, T::default(), T::default(), 0));
        } else {
            spawn!(merge(other, keys, run, T::default(), T::default(), 0));
        }
    }
    sync!();
}

/// Sorts each run of `run` keys.
#[spawning]
fn sort_runs<T: Scalar + Word>(keys: &mut [T], other: &mut [T], in_other: bool, run: usize) {
    let count = keys.len();
    if count <= run {
        spawn!(team_sort(keys, other, in_other));
    } else {
        let middle = half(count, run);
        let (low, high) = keys.split_at_mut(middle);
        let (other_low, other_high) = other.split_at_mut(middle);
        spawn!(sort_runs(low, other_low, in_other, run));
        spawn!(sort_runs(high, other_high, in_other, run));
    }
    sync!();
}

/// Merges sorted runs of `run` keys each: those keys that are above `low`, if bit 0 of `ends` is set, and below `high`, if bit 1 is
/// set. There are as many as `to` has room for.
#[spawning]
fn merge<T: Scalar + Word>(from: &[T], to: &mut [T], run: usize, low: T, high: T, ends: u32) {
    let count = to.len();
    let mut found = [0u64; 3];
    if count <= LEAF {
        spawn!(merge_part(from, to, run, low, high, ends));
    } else {
        found = spawn!(divide(from, run, low, high, ends));
    }
    sync!();
    if count > LEAF {
        let pivot = from[found[0] as usize];
        let (less, others) = to.split_at_mut(found[1] as usize);
        let (equal, greater) = others.split_at_mut(found[2] as usize);
        spawn!(merge(from, less, run, low, pivot, ends | 2));
        spawn!(fill(equal, pivot));
        spawn!(merge(from, greater, run, pivot, high, ends | 1));
    }
    sync!();
}

/// Writes `key` everywhere.
#[spawning]
fn fill<T: Scalar + Word>(to: &mut [T], key: T) {
    if to.len() <= 8 {
        for i in 0..to.len() {
            to[i] = key;
        }
    } else if to.len() <= 65536 {
        spawn!(fill_part(to, key));
    } else {
        let (low, high) = to.split_at_mut(to.len() / 2);
        spawn!(fill(low, key));
        spawn!(fill(high, key));
    }
    sync!();
}

#[spawning(team(256))]
fn fill_part<T: Scalar + Word>(team: &Team, to: &mut [T], key: T) {
    let mut i = team.lane();
    while i < to.len() {
        to[i] = key;
        i += team.lanes();
    }
}

/// The place of the first of the sorted `keys` from `from` to `to` that is not below `key`, or that is above it.
#[device]
fn bound<T: Scalar + Word>(keys: &[T], from: usize, to: usize, key: T, above: bool) -> usize {
    let mut low = from;
    let mut high = to;
    while low < high {
        let middle = (low + high) / 2;
        let other = keys[middle];
        if other < key || (above && other == key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Where a part begins in run `number`.
#[device]
fn begin_of<T: Scalar + Word>(from: &[T], run: usize, number: usize, low: T, ends: u32) -> usize {
    let begin = (number * run).min(from.len());
    let end = (begin + run).min(from.len());
    if ends & 1 == 0 { begin } else { bound(from, begin, end, low, true) }
}

/// Where it ends, if it begins at `begin`.
#[device]
fn end_of<T: Scalar + Word>(
    from: &[T],
    run: usize,
    number: usize,
    begin: usize,
    high: T,
    ends: u32,
) -> usize {
    let end = ((number + 1) * run).min(from.len());
    if ends & 2 == 0 { end } else { bound(from, begin, end, high, false) }
}

/// A key that splits a part of a merge well: its place, how many keys are less, and how many are equal.
///
/// It is the weighted median of the middle keys of the part's segments, so that a quarter of all keys are at least as large, and a
/// quarter at most as large.
#[spawning(team(256))]
fn divide<T: Scalar + Word>(
    team: &Team,
    from: &[T],
    run: usize,
    low: T,
    high: T,
    ends: u32,
    begins: &mut [u32; 256],
    sizes: &mut [u32; 256],
    middles: &mut [T; 256],
    chosen: &mut [u32; 1],
) -> [u64; 3] {
    let runs = parts(from.len(), run);
    let mut total = 0u32;
    let mut r = team.lane();
    while r < runs {
        let begin = begin_of(from, run, r, low, ends);
        let size = end_of(from, run, r, begin, high, ends) - begin;
        begins[r] = begin as u32;
        sizes[r] = size as u32;
        total += size as u32;
        if size > 0 {
            middles[r] = from[begin + size / 2];
        }
        r += team.lanes();
    }
    total = team.sum(total);
    let mut r = team.lane();
    while r < runs {
        let key = middles[r];
        let mut less = 0u32;
        let mut equal = 0u32;
        let mut first = sizes[r] > 0;
        for other in 0..runs {
            let size = sizes[other];
            if size > 0 {
                if middles[other] < key {
                    less += size;
                } else if middles[other] == key {
                    equal += size;
                    first = first && other >= r;
                }
            }
        }
        if first && less < (total + 1) / 2 && less + equal >= (total + 1) / 2 {
            chosen[0] = r as u32;
        }
        r += team.lanes();
    }
    team.barrier();
    let number = chosen[0] as usize;
    let pivot = middles[number];
    let mut less = 0u32;
    let mut equal = 0u32;
    let mut r = team.lane();
    while r < runs {
        let begin = begins[r] as usize;
        let end = begin + sizes[r] as usize;
        let at = bound(from, begin, end, pivot, false);
        less += (at - begin) as u32;
        equal += (bound(from, at, end, pivot, true) - at) as u32;
        r += team.lanes();
    }
    less = team.sum(less);
    equal = team.sum(equal);
    let place = begins[number] as usize + sizes[number] as usize / 2;
    [place as u64, less as u64, equal as u64]
}

/// Sorts the few `keys` from `begin` to `end`.
#[device]
fn insert<T: Scalar + Word>(keys: &mut [T; 4096], begin: usize, end: usize) {
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
fn merge_few<T: Scalar + Word>(
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
fn first_run(count: usize, lanes: usize) -> usize {
    parts(count, lanes).min(17) | 1
}

/// At most [`LEAF`] keys, by merges in memory that the lanes share.
#[spawning(team(256))]
fn sort_leaf<T: Scalar + Word>(
    team: &Team,
    keys: &mut [T],
    other: &mut [T],
    in_other: bool,
    room: &mut [T; 4096],
    merged: &mut [T; 4096],
) {
    let (count, lane, lanes) = (keys.len(), team.lane(), team.lanes());
    let mut i = lane;
    while i < count {
        room[i] = keys[i];
        i += lanes;
    }
    let each = first_run(count, lanes);
    team.barrier();
    let mut begin = lane * each;
    while begin < count {
        insert(room, begin, (begin + each).min(count));
        begin += lanes * each;
    }
    let mut run = each;
    let mut is_merged = false;
    while run < count {
        team.barrier();
        let mut begin = lane * each;
        while begin < count {
            if is_merged {
                merge_few(merged, room, run, count, begin, (begin + each).min(count));
            } else {
                merge_few(room, merged, run, count, begin, (begin + each).min(count));
            }
            begin += lanes * each;
        }
        is_merged = !is_merged;
        run *= 2;
    }
    team.barrier();
    let mut i = lane;
    while i < count {
        let mut key = room[i];
        if is_merged {
            key = merged[i];
        }
        if in_other {
            other[i] = key;
        } else {
            keys[i] = key;
        }
        i += lanes;
    }
}

/// A part of a merge of at most [`LEAF`] keys: gathers them from all runs and sorts them.
#[spawning(team(256))]
fn merge_part<T: Scalar + Word>(
    team: &Team,
    from: &[T],
    to: &mut [T],
    run: usize,
    low: T,
    high: T,
    ends: u32,
    begins: &mut [u32; 256],
    sizes: &mut [u32; 256],
    places: &mut [u32; 256],
    room: &mut [T; 4096],
    merged: &mut [T; 4096],
) {
    let (count, lane, lanes) = (to.len(), team.lane(), team.lanes());
    let runs = parts(from.len(), run);
    let mine = parts(runs, lanes);
    let mut total = 0u32;
    for r in (lane * mine).min(runs)..(lane * mine + mine).min(runs) {
        let begin = begin_of(from, run, r, low, ends);
        let size = end_of(from, run, r, begin, high, ends) - begin;
        begins[r] = begin as u32;
        sizes[r] = size as u32;
        total += size as u32;
    }
    let mut place = team.prefix_sum(total);
    for r in (lane * mine).min(runs)..(lane * mine + mine).min(runs) {
        places[r] = place;
        place += sizes[r];
    }
    team.barrier();
    let width = lanes.min(32);
    let mut r = lane / width;
    while r < runs {
        let begin = begins[r] as usize;
        let place = places[r] as usize;
        let mut i = lane & (width - 1);
        while i < sizes[r] as usize {
            room[place + i] = from[begin + i];
            i += width;
        }
        r += lanes / width;
    }
    let each = first_run(count, lanes);
    team.barrier();
    let mut begin = lane * each;
    while begin < count {
        insert(room, begin, (begin + each).min(count));
        begin += lanes * each;
    }
    let mut run = each;
    let mut is_merged = false;
    while run < count {
        team.barrier();
        let mut begin = lane * each;
        while begin < count {
            if is_merged {
                merge_few(merged, room, run, count, begin, (begin + each).min(count));
            } else {
                merge_few(room, merged, run, count, begin, (begin + each).min(count));
            }
            begin += lanes * each;
        }
        is_merged = !is_merged;
        run *= 2;
    }
    team.barrier();
    let mut i = lane;
    while i < count {
        let mut key = room[i];
        if is_merged {
            key = merged[i];
        }
        to[i] = key;
        i += lanes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpweft::channels::cuda::compile_check;
    use warpweft::channels::{Borrowing, Run};

    /// The same as the standard library, on cores.
    fn check<T: Scalar + Word + Ord>(keys: &[T]) {
        let machine = Machine::detect().unwrap();
        let mut expect = keys.to_vec();
        expect.sort_unstable();
        for (threads, in_other) in [(1, true), (3, false)] {
            let run = Run { threads: Some(threads), target: Target::Cpu, ..Run::default() };
            let (mut sorted, mut other) = (keys.to_vec(), vec![T::default(); keys.len()]);
            let calls = Channels::of(team_sort::call(&mut sorted, &mut other, in_other));
            calls.run_borrowing(&machine, &run).unwrap();
            assert!(if in_other { other } else { sorted } == expect, "{} keys", keys.len());
        }
    }

    #[test]
    fn teams_sort_as_the_standard_library() {
        let random = |count: u64| (0..count).map(|k| k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7);
        for count in [0, 1, 2, 4095, 4096, 4097, 30_000] {
            check(&random(count).collect::<Vec<_>>());
            check(&random(count).map(|key| key as u32 % 100).collect::<Vec<_>>());
        }
        check(&(0..5000u32).collect::<Vec<_>>());
        check(&(0..5000u32).rev().collect::<Vec<_>>());
        check(&[7i32; 5000]);
        // More runs than are merged at once.
        check(&(0..1_100_000u32).map(|key| key.wrapping_mul(2_654_435_761)).collect::<Vec<_>>());
    }

    #[test]
    fn numbers_are_in_the_order_of_keys() {
        fn check<T: Ordered + PartialEq + std::fmt::Debug>(keys: &[T], word: fn(T) -> u64) {
            for a in keys {
                assert_eq!(word(T::of(a.number())), word(*a));
                for b in keys {
                    assert_eq!(
                        a.number().partial_cmp(&b.number()),
                        Some(a.order(b)),
                        "{a:?} {b:?}"
                    );
                }
            }
        }
        check(&[0u32, 1, u32::MAX], u64::from);
        check(&[i32::MIN, -1, 0, 1, i32::MAX], |key| key as u64);
        let floats =
            [f32::NEG_INFINITY, -1.5, -0.0, 0.0, 1e-40, 2.0, f32::INFINITY, f32::NAN, -f32::NAN];
        check(&floats, |key| u64::from(key.to_bits()));
        let pair = |key, value| Pair { key, value };
        assert!(pair(1, 9).number() < pair(2, 0).number());
        assert_eq!(Pair::of(pair(3, 4).number()), pair(3, 4));
    }

    #[test]
    fn kernels_compile_for_ampere_and_hopper() {
        if let Err(error) = warpweft::cuda::compiler() {
            return println!("skipped: {error}");
        }
        compile_check::<<team_sort<'_, u32> as Borrowing>::Device>("sm_80").unwrap();
        compile_check::<<team_sort<'_, u64> as Borrowing>::Device>("sm_90").unwrap();
    }
}
