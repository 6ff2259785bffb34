//! Mergesort by teams of lanes, for GPUs and cores: leaves by a sorting network, merges in parts.
//!
//! References: Batcher, "Sorting networks and their applications" (1968), of whose bitonic sorter every comparison here puts the
//! lesser key first; Green, McColl and Bader, "GPU merge path" (2012), by which a part of a merge finds where it begins.

// Device code has neither `div_ceil` nor `swap`.
#![allow(clippy::manual_div_ceil, clippy::manual_swap)]

use warpweft::channels::Team;
use warpweft::element::Word;
use warpweft::prelude::*;

use super::sort::{Key, Pair};

/// Keys that one team sorts.
const LEAF: usize = 1024;
/// Keys that one team merges: 21 for each of 32 lanes. An odd number keeps lanes out of one another's memory banks.
const PART: usize = 672;

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

/// Half of `count`, up to a multiple of `unit`.
#[device]
fn half(count: usize, unit: usize) -> usize {
    (count / 2 + unit - 1) / unit * unit
}

/// Sorts `keys` with the help of `other`, which is as long. The result is in `other` or in `keys`.
#[spawning]
pub fn team_sort<T: Scalar + Word>(keys: &mut [T], other: &mut [T], in_other: bool) {
    let count = keys.len();
    let middle = half(count, LEAF);
    if count <= LEAF {
        spawn!(sort_leaf(keys, other, in_other));
    } else {
        let (low, high) = keys.split_at_mut(middle);
        let (other_low, other_high) = other.split_at_mut(middle);
        spawn!(team_sort(low, other_low, !in_other));
        spawn!(team_sort(high, other_high, !in_other));
    }
    sync!();
    if count > LEAF {
        if in_other {
            let (low, high) = keys.split_at(middle);
            spawn!(merge(low, high, other, 0));
        } else {
            let (low, high) = other.split_at(middle);
            spawn!(merge(low, high, keys, 0));
        }
    }
    sync!();
}

/// The keys of two sorted slices, in order, from number `from` on, as many as `to` has room for.
#[spawning]
fn merge<T: Scalar + Word>(a: &[T], b: &[T], to: &mut [T], from: usize) {
    let count = to.len();
    if count <= PART {
        spawn!(merge_part(a, b, to, from));
    } else {
        let middle = half(count, PART);
        let (low, high) = to.split_at_mut(middle);
        spawn!(merge(a, b, low, from));
        spawn!(merge(a, b, high, from + middle));
    }
    sync!();
}

/// Puts the lesser of two keys first, if the second is one of `count`.
#[device]
fn order<T: Scalar>(keys: &mut [T; 1024], low: usize, high: usize, count: usize) {
    if high < count && keys[high] < keys[low] {
        let less = keys[high];
        keys[high] = keys[low];
        keys[low] = less;
    }
}

/// At most [`LEAF`] keys, by a sorting network in memory that the lanes share.
#[spawning(team)]
fn sort_leaf<T: Scalar + Word>(
    team: &Team,
    keys: &mut [T],
    other: &mut [T],
    in_other: bool,
    room: &mut [T; 1024],
) {
    let (count, lane, lanes) = (keys.len(), team.lane(), team.lanes());
    let mut i = lane;
    while i < count {
        room[i] = keys[i];
        i += lanes;
    }
    let mut pairs = 1;
    while 2 * pairs < count {
        pairs *= 2;
    }
    // The length of sorted runs, of which two become one.
    let mut run = 1;
    while run < count {
        team.barrier();
        let mut k = lane;
        while k < pairs {
            let inside = k & (run - 1);
            let first = 2 * (k - inside);
            order(room, first + inside, first + 2 * run - 1 - inside, count);
            k += lanes;
        }
        let mut apart = run / 2;
        while apart > 0 {
            team.barrier();
            let mut k = lane;
            while k < pairs {
                let low = 2 * k - (k & (apart - 1));
                order(room, low, low + apart, count);
                k += lanes;
            }
            apart /= 2;
        }
        run *= 2;
    }
    team.barrier();
    let mut i = lane;
    while i < count {
        if in_other {
            other[i] = room[i];
        } else {
            keys[i] = room[i];
        }
        i += lanes;
    }
}

/// The keys from `begin` to `end` of a merge of the first `of_a` keys of `room` with the others.
#[device]
fn merge_few<T: Scalar>(
    room: &mut [T; 672],
    merged: &mut [T; 672],
    of_a: usize,
    count: usize,
    begin: usize,
    end: usize,
) {
    let mut low = begin.saturating_sub(count - of_a);
    let mut high = begin.min(of_a);
    while low < high {
        let middle = (low + high) / 2;
        if room[middle] <= room[of_a + begin - 1 - middle] {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let mut i = low;
    let mut j = of_a + begin - low;
    for k in begin..end {
        if j == count || (i < of_a && room[i] <= room[j]) {
            merged[k] = room[i];
            i += 1;
        } else {
            merged[k] = room[j];
            j += 1;
        }
    }
}

/// At most [`PART`] keys of a merge.
#[spawning(team)]
fn merge_part<T: Scalar + Word>(
    team: &Team,
    a: &[T],
    b: &[T],
    to: &mut [T],
    from: usize,
    room: &mut [T; 672],
    merged: &mut [T; 672],
) {
    let (count, lane, lanes) = (to.len(), team.lane(), team.lanes());
    // How many keys of `a` are among the first `from`, and among those up to the part's end: each lane tries one number.
    let mut ends = [0usize; 2];
    for k in 0..2 {
        let rank = from + k * count;
        let mut low = rank.saturating_sub(b.len());
        let mut high = rank.min(a.len());
        while low < high {
            let step = (high - low + lanes) / (lanes + 1);
            let probe = low + step * (lane + 1) - 1;
            let more = probe < high && a[probe] <= b[rank - 1 - probe];
            let taken = team.count(more);
            low += step * taken;
            if taken < lanes {
                high = high.min(low + step - 1);
            }
        }
        ends[k] = low;
    }
    let first = ends[0];
    let of_a = ends[1] - first;
    let start = from - first;
    let mut i = lane;
    while i < count {
        if i < of_a {
            room[i] = a[first + i];
        } else {
            room[i] = b[start + (i - of_a)];
        }
        i += lanes;
    }
    team.barrier();
    let each = ((count + lanes - 1) / lanes) | 1;
    let begin = (lane * each).min(count);
    merge_few(room, merged, of_a, count, begin, (begin + each).min(count));
    team.barrier();
    let mut i = lane;
    while i < count {
        to[i] = merged[i];
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
        for count in [0, 1, 2, 1023, 1024, 1025, 30_000] {
            check(&random(count).collect::<Vec<_>>());
            check(&random(count).map(|key| key as u32 % 100).collect::<Vec<_>>());
        }
        check(&(0..5000u32).collect::<Vec<_>>());
        check(&(0..5000u32).rev().collect::<Vec<_>>());
        check(&[7i32; 5000]);
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
