//! Sorting on the cores: quicksort and mergesort of slices, whose halves are sorted by calls.

use std::cmp::Ordering;

use warpweft::prelude::*;

/// What can be sorted: keys of one total order.
pub trait Key: Copy + Send + Sync {
    /// Which of both comes first.
    fn order(&self, other: &Self) -> Ordering;
}

macro_rules! keys {
    ($($t:ty => $method:ident),*) => {$(
        impl Key for $t {
            #[inline(always)]
            fn order(&self, other: &Self) -> Ordering {
                self.$method(other)
            }
        }
    )*};
}
keys!(u32 => cmp, i32 => cmp, f32 => total_cmp);

/// A key with what belongs to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pair {
    /// What it is sorted by.
    pub key: u32,
    /// What belongs to it.
    pub value: u32,
}

impl Key for Pair {
    #[inline(always)]
    fn order(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

/// Keys that are sorted by one call.
const LEAF: usize = 2048;

/// Sorts `keys`, equal ones in any order, with so many partitions one below the other at most (Hoare, "Quicksort",
/// 1962).
#[spawning(cores)]
pub fn quicksort<T: Key>(keys: &mut [T], depth: u32) {
    if keys.len() <= LEAF || depth == 0 {
        return keys.sort_unstable_by(T::order);
    }
    let (low, high) = partition(keys);
    spawn!(quicksort(low, depth - 1));
    spawn!(quicksort(high, depth - 1));
    sync!();
}

/// What is less than a pivot, and what is greater or equal. What is between is in its place.
fn partition<T: Key>(keys: &mut [T]) -> (&mut [T], &mut [T]) {
    let count = keys.len();
    // The median of three medians of three.
    let step = count / 9;
    let of = |k: usize| median(keys, [k, k + 1, k + 2].map(|k| k * step));
    let middle = median(keys, [of(0), of(3), of(6)]);
    keys.swap(0, middle);
    let pivot = keys[0];
    let less = split(&mut keys[1..], |key| key.order(&pivot).is_lt());
    keys.swap(0, less);
    let (low, high) = keys.split_at_mut(less);
    // Many equal keys: those of the pivot are in their places too.
    let equal = match less < count / 8 {
        true => 1 + split(&mut high[1..], |key| key.order(&pivot).is_le()),
        false => 1,
    };
    (low, &mut high[equal..])
}

/// Moves keys that `first` holds for to the front. How many they are.
fn split<T: Key>(keys: &mut [T], first: impl Fn(&T) -> bool) -> usize {
    let mut count = 0;
    for k in 0..keys.len() {
        let key = keys[k];
        // Without a branch, which could not be foreseen.
        keys.swap(k, count);
        count += usize::from(first(&key));
    }
    count
}

fn median<T: Key>(keys: &[T], at: [usize; 3]) -> usize {
    let [mut a, mut b, c] = at;
    let less = |i: usize, j: usize| keys[i].order(&keys[j]).is_lt();
    if less(b, a) {
        (a, b) = (b, a);
    }
    match (less(c, b), less(c, a)) {
        (false, _) => b,
        (true, true) => a,
        (true, false) => c,
    }
}

/// Sorts `keys` with the help of `other`, which is as long, equal ones in the order in which they were. The result is
/// in `other` or in `keys`.
#[spawning(cores)]
pub fn mergesort<T: Key>(keys: &mut [T], other: &mut [T], in_other: bool) {
    if keys.len() <= LEAF {
        keys.sort_by(T::order);
        if in_other {
            other.copy_from_slice(keys);
        }
        return;
    }
    let middle = keys.len() / 2;
    let (low, high) = keys.split_at_mut(middle);
    let (other_low, other_high) = other.split_at_mut(middle);
    spawn!(mergesort(low, other_low, !in_other));
    spawn!(mergesort(high, other_high, !in_other));
    sync!();
    match in_other {
        true => merge(low, high, other),
        false => merge(other_low, other_high, keys),
    }
}

/// Merges two sorted slices, the first before the second where both are equal.
fn merge<T: Key>(a: &[T], b: &[T], to: &mut [T]) {
    let (mut i, mut j) = (0, 0);
    for place in to {
        let first = j == b.len() || (i < a.len() && b[j].order(&a[i]).is_ge());
        let from = if first { &a[i] } else { &b[j] };
        *place = *from;
        i += usize::from(first);
        j += usize::from(!first);
    }
}

/// Partitions one below the other before a slice is sorted by other means: twice what is usual.
pub fn depth(count: usize) -> u32 {
    2 * count.max(2).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpweft::channels::Run;

    fn random(count: u32) -> Vec<u32> {
        (0..count).map(|k| k.wrapping_mul(2_654_435_761).rotate_left(k % 13)).collect()
    }

    /// Both agree with the standard library, on every number of threads.
    fn check<T: Key, W: PartialEq>(keys: &[T], word: impl Fn(&T) -> W) {
        let machine = Machine::detect().unwrap();
        let mut expect = keys.to_vec();
        expect.sort_by(T::order);
        for threads in [1, 3] {
            let run = Run { threads: Some(threads), ..Run::default() };
            let mut quick = keys.to_vec();
            let calls = Channels::of(quicksort::call(&mut quick, depth(keys.len()))).levels(200);
            calls.run_on_cores(&machine, &run).unwrap();
            let (mut merged, mut other) = (keys.to_vec(), keys.to_vec());
            let calls = Channels::of(mergesort::call(&mut merged, &mut other, false));
            calls.run_on_cores(&machine, &run).unwrap();
            assert!(quick.is_sorted_by(|a, b| a.order(b).is_le()));
            let words = merged.iter().map(&word);
            assert!(words.eq(expect.iter().map(&word)), "{threads} threads");
            // Equal keys of a quicksort may be in another order.
            quick.sort_by(T::order);
            let same = |a: &T, b: &T| a.order(b).is_eq();
            assert!(quick.iter().zip(&expect).all(|(a, b)| same(a, b)));
        }
    }

    #[test]
    fn keys_of_every_kind_and_order() {
        let count = 40_000;
        let own = |key: &u32| *key;
        check(&random(count), own);
        check(&random(count).iter().map(|&key| key as i32).collect::<Vec<_>>(), |key| *key);
        let floats = random(count).into_iter().map(|key| match key % 100 {
            0 => f32::NAN,
            1 => -0.0,
            2 => 0.0,
            _ => key as f32 - 2e9,
        });
        check(&floats.collect::<Vec<_>>(), |key| key.to_bits());
        let pairs = random(count).into_iter().zip(0..);
        let pairs = pairs.map(|(key, value)| Pair { key: key % 9, value });
        check(&pairs.collect::<Vec<_>>(), |pair| *pair);
        check(&(0..count).collect::<Vec<_>>(), own);
        check(&(0..count).rev().collect::<Vec<_>>(), own);
        check(&vec![7u32; count as usize], own);
        check(&[], own);
        check(&[3u32, 1], own);
    }
}
