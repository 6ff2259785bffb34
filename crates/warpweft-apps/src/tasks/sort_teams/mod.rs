//! Mergesort by teams of lanes, for GPUs and cores: sorted runs of 4096 keys, and merges of two runs at a time.
//!
//! A merge is split by places in its result, so that each part is as large as any other, whatever the keys are. All lanes of a team
//! search together for where their part begins in both runs; they merge it in memory that they share.
//!
//! Reference: Green, McColl and Bader, "GPU merge path" (2012), by which a team and a lane find where their parts begin.

// Device code has neither `div_ceil` nor `swap`.
#![allow(clippy::manual_div_ceil, clippy::manual_swap)]

pub(super) mod leaf;
mod pairs;

use warpweft::channels::Team;
use warpweft::element::Word;
use warpweft::prelude::*;

use self::leaf::{LEAF, insert, load, load_runs, merge_pairs, parts, store};
use self::pairs::merge;
use super::sort::{Key, Pair};

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
pub(super) fn half(count: usize, unit: usize) -> usize {
    parts(count, 2 * unit) * unit
}

/// Sorts `keys` with the help of `other`, which is as long. The result is in `other` or in `keys`.
#[spawning]
pub fn team_sort<T: Scalar + Word>(keys: &mut [T], other: &mut [T], in_other: bool) {
    // Where there are many keys a team merges several parts, one after the other: the fewer calls the less they cost.
    let many = (keys.len() / 4096 / 1024).clamp(1, 8);
    spawn!(sort_some(keys, other, in_other, many * 4096));
    sync!();
}

/// The same by merges of which a team does `most` keys.
#[spawning]
fn sort_some<T: Scalar + Word>(keys: &mut [T], other: &mut [T], in_other: bool, most: usize) {
    let count = keys.len();
    let middle = half(count, 4096);
    if count <= LEAF {
        spawn!(sort_leaf(keys, other, in_other));
    } else {
        let (low, high) = keys.split_at_mut(middle);
        let (other_low, other_high) = other.split_at_mut(middle);
        spawn!(sort_some(low, other_low, !in_other, most));
        spawn!(sort_some(high, other_high, !in_other, most));
    }
    sync!();
    if count > LEAF {
        if in_other {
            spawn!(merge(keys, other, middle, 0, most));
        } else {
            spawn!(merge(other, keys, middle, 0, most));
        }
    }
    sync!();
}

/// At most [`LEAF`] keys, by merges in memory that the lanes share.
#[spawning(team(256))]
fn sort_leaf<T: Scalar + Word>(
    team: &Team,
    keys: &mut [T],
    other: &mut [T],
    in_other: bool,
    room: &mut [T; 4352],
    merged: &mut [T; 4352],
) {
    let (count, lane, lanes) = (keys.len(), team.lane(), team.lanes());
    let (keys_here, all) = (count as u32, [lane as u32, lanes as u32]);
    if count == LEAF && lanes == 256 {
        load_runs(keys, room, lane);
    } else {
        load(keys, room, [0, 0], count, count, [lane, lanes]);
        team.barrier();
        let mut begin = 16 * all[0];
        while begin < keys_here {
            insert(room, begin, (begin + 16).min(keys_here));
            begin += 16 * all[1];
        }
    }
    let mut run = 16u32;
    let mut is_merged = false;
    while run < keys_here {
        team.barrier();
        if is_merged {
            merge_pairs(merged, room, run, keys_here, all);
        } else {
            merge_pairs(room, merged, run, keys_here, all);
        }
        is_merged = !is_merged;
        run *= 2;
    }
    team.barrier();
    if in_other {
        if is_merged {
            store(merged, other, 0, count, [lane, lanes]);
        } else {
            store(room, other, 0, count, [lane, lanes]);
        }
    } else if is_merged {
        store(merged, keys, 0, count, [lane, lanes]);
    } else {
        store(room, keys, 0, count, [lane, lanes]);
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
