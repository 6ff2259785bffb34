//! Radix sort by teams of lanes, for GPUs and cores: the digits of eight bits from the highest down.
//!
//! The highest bit in which keys differ is taken from about two thousand of them; digits are taken from there. Teams sort chunks of
//! 4096 keys by a digit, and note where each digit's keys lie in each chunk, and whether a key differs from the first in a higher bit.
//! If one does, all keys are read for that bit and the sort begins again. The sums of these notes
//! say where each bucket of a digit begins. A bucket is gathered from all chunks; if it has at most 4096 keys, a team sorts it by
//! the bits that are left, else it is sorted in the same way by its next digit. So a million keys pass through memory twice, and
//! a hundred million four times. Every bucket is a slice of its own: no two tasks write the same slice.
//!
//! References: Satish, Harris and Garland, "Designing efficient sorting algorithms for manycore GPUs" (2009), for sorting in shared memory
//! by few bits at a time with counts of each lane; Merrill and Grimshaw, "High performance and scalable radix sorting" (2011), for
//! counts of several digits in one word.

mod differences;
mod digits;
mod parts;
mod passes;

use warpweft::channels::{Borrowing, Channels, Policy, Run, StacksPolicy};
use warpweft::error::{Error, Result};
use warpweft::machine::Machine;
use warpweft::report::Report;
use warpweft::run::Target;

pub use parts::{wide, words};

/// Keys of a chunk, and of a bucket that one team sorts.
const CHUNK: usize = 4096;

/// Calls that are in one another at most: for each digit of 64 bits one for each of its bits, and of 2^32 chunks.
pub const LEVELS: u32 = 8 * (8 + 3) + 32;

/// Keys up to which fewer warps sort as fast, because each has more registers: on one H200 a million take 0.32 ms with 16 warps
/// on an SM and 0.33 ms with 32, but ten million 1.50 and 1.25 ms.
const FEW: usize = 1 << 21;

/// The most keys: places are counted in 32 bits.
const MOST: usize = 1 << 31;

/// Words that note digits: a sort of `count` keys of so many bits needs them.
///
/// They are rows of 256 for each chunk, each sum of 64 chunks and each sorted bucket, with those of the buckets within.
pub fn table_words(count: usize, bits: usize) -> usize {
    (count / CHUNK + 1) * (5 + bits / 8) * 256
}

/// Unsigned numbers that are sorted by their digits.
pub trait Digits: Sized {
    /// The call that sorts some.
    type Sort<'a>: Borrowing<Output = ()>
    where
        Self: 'a;
    /// Bits of a number.
    const BITS: usize;
    /// Sorts `keys` with the help of `other`, which is as long, and of a table of [`table_words`].
    ///
    /// # Errors
    /// More than 2^31 keys; `other` of another length; a shorter table.
    fn sort<'a>(
        keys: &'a mut [Self],
        other: &'a mut [Self],
        table: &'a mut [u32],
    ) -> Result<Channels<Self::Sort<'a>>>;
}

/// Sorts `keys` on the device that `run` names, with the help of `other` and `table`, as [`Digits::sort`].
///
/// # Errors
/// As [`Digits::sort`] and [`Channels::run_borrowing`].
pub fn sorted<T: Digits>(
    keys: &mut [T],
    other: &mut [T],
    table: &mut [u32],
    machine: &Machine,
    run: &Run<'_>,
) -> Result<Report> {
    let few = Policy::Stacks(StacksPolicy { warps: 16, ..StacksPolicy::default() });
    let on_gpu = !matches!(run.target, Target::Cpu) && !machine.gpus.is_empty();
    let fewer = (on_gpu && keys.len() <= FEW).then_some(few);
    let run = Run { policy: run.policy.or(fewer), ..run.clone() };
    let (_, report) = T::sort(keys, other, table)?.run_borrowing(machine, &run)?;
    Ok(report)
}

/// That a sort of so many keys has what it needs.
fn check<T: Digits>(keys: usize, other: usize, table: usize) -> Result<()> {
    let need = table_words(keys, T::BITS);
    if keys > MOST {
        let what = format!("a radix sort of {keys} keys");
        return Err(Error::spec(what, format!("sort at most {MOST}")));
    }
    if other != keys || table < need {
        let what = format!("{keys} keys with room for {other} and a table of {table} words");
        return Err(Error::spec(what, format!("give room for {keys} and a table of {need} words")));
    }
    Ok(())
}

impl Digits for u32 {
    type Sort<'a> = words::radix_sort<'a>;
    const BITS: usize = 32;
    fn sort<'a>(
        keys: &'a mut [Self],
        other: &'a mut [Self],
        table: &'a mut [u32],
    ) -> Result<Channels<Self::Sort<'a>>> {
        check::<Self>(keys.len(), other.len(), table.len())?;
        Ok(Channels::of(words::radix_sort::call(keys, other, table)).levels(LEVELS))
    }
}

impl Digits for u64 {
    type Sort<'a> = wide::radix_sort<'a>;
    const BITS: usize = 64;
    fn sort<'a>(
        keys: &'a mut [Self],
        other: &'a mut [Self],
        table: &'a mut [u32],
    ) -> Result<Channels<Self::Sort<'a>>> {
        check::<Self>(keys.len(), other.len(), table.len())?;
        Ok(Channels::of(wide::radix_sort::call(keys, other, table)).levels(LEVELS))
    }
}

#[cfg(test)]
mod tests {
    use warpweft::channels::cuda::compile_check;

    use super::*;

    /// The same as the standard library, on cores.
    fn check_of<T: Digits + Default + Clone + Ord>(keys: &[T]) {
        let machine = Machine::detect().unwrap();
        let run = Run { threads: Some(3), target: Target::Cpu, ..Run::default() };
        let (mut sorted, mut expect) = (keys.to_vec(), keys.to_vec());
        let mut other = vec![T::default(); keys.len()];
        let mut table = vec![0; table_words(keys.len(), T::BITS)];
        expect.sort_unstable();
        super::sorted(&mut sorted, &mut other, &mut table, &machine, &run).unwrap();
        assert!(sorted == expect, "{} keys of {} bits", keys.len(), T::BITS);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut keys = [3u32, 1, 2];
        let mut table = vec![0; table_words(3, 32)];
        fn refused<C>(made: Result<Channels<C>>) -> String {
            made.map(|_| ()).unwrap_err().to_string()
        }
        let said = refused(u32::sort(&mut keys, &mut [0; 2], &mut table));
        assert!(said.contains("3 keys with room for 2"), "{said}");
        let said = refused(u32::sort(&mut keys, &mut [0; 3], &mut table[1..]));
        assert!(said.contains("give room for 3 and a table of 2304 words"), "{said}");
        assert!(super::check::<u32>(MOST + 1, MOST + 1, usize::MAX).is_err());
    }

    fn check(keys: impl Iterator<Item = u64>) {
        let keys: Vec<u64> = keys.collect();
        check_of(&keys);
        check_of(&keys.iter().map(|&key| key as u32).collect::<Vec<_>>());
    }

    #[test]
    fn digits_sort_as_the_standard_library() {
        let random = |count: u64| (0..count).map(|k| k.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        for count in [0, 1, 2, 4095, 4096, 4097, 30_000, 300_001] {
            check(random(count));
        }
        check(random(40_000).map(|key| (key % 100) << 20));
        check(0..50_000);
        check((0..50_000).rev());
        check([(7 << 40) | 7; 9000].into_iter());
        // Higher bits that only one key has.
        check((0..50_000).map(|key| if key == 40_001 { key << 12 } else { key }));
        check((0..20_000).map(|key| if key == 7_001 { key << 12 } else { 5 }));
        // A bucket of most keys at every digit, down to the last.
        check(random(60_000).map(|key| if (key >> 40) & 7 == 0 { key } else { key >> 58 }));
    }

    #[test]
    fn kernels_compile_for_ampere_and_hopper() {
        if let Err(error) = warpweft::cuda::compiler() {
            return println!("skipped: {error}");
        }
        compile_check::<<words::radix_sort<'_> as Borrowing>::Device>("sm_80").unwrap();
        compile_check::<<wide::radix_sort<'_> as Borrowing>::Device>("sm_90").unwrap();
    }
}
