//! Mergesort by teams of lanes, for GPUs and cores: sorted runs, and merges of up to 256 runs at once.
//!
//! A merge of many runs is split by keys until each part fits a team's memory; a team then gathers the part's keys from all
//! runs and sorts them. So a hundred million keys pass through memory three times.
//!
//! References: Green, McColl and Bader, "GPU merge path" (2012), by which a lane finds where its part of a merge begins; Shi
//! and Schaeffer, "Parallel sorting by regular sampling" (1992), for sorted runs that are split by keys.

// Device code has neither `div_ceil` nor `swap`.
#![allow(clippy::manual_div_ceil, clippy::manual_swap)]

pub(super) mod leaf;
mod runs;

use warpweft::channels::Team;
use warpweft::element::Word;
use warpweft::prelude::*;

use self::leaf::{LEAF, first_run, first_runs, merge_pairs, parts};
use self::runs::merge;
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
    let (keys_here, all) = (count as u32, [lane as u32, lanes as u32]);
    let each = first_run(keys_here, all[1]);
    team.barrier();
    first_runs(room, keys_here, each, all);
    let mut run = each;
    let mut is_merged = false;
    while run < keys_here {
        team.barrier();
        if is_merged {
            merge_pairs(merged, room, run, keys_here, each, all);
        } else {
            merge_pairs(room, merged, run, keys_here, each, all);
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
