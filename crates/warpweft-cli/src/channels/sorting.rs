//! Keys of several kinds, sorted on the cores or on a GPU.

use clap::ValueEnum;
use serde_json::json;
use warpweft::channels::Channels;
use warpweft::{Error, Result};
use warpweft_apps::sort::{Pair, depth, mergesort, quicksort};
use warpweft_apps::sort_radix::{self, Digits, table_words};
use warpweft_apps::sort_teams::{Ordered, team_sort};

use super::options::{Options, Ran, Said};
use crate::run::check::Check;
use crate::run::outcome::Outcome;

/// The most keys.
const MOST: usize = 1 << 31;

#[derive(clap::Args)]
#[command(
    after_help = "The check tests that all keys are in order, and that the sum of their hashes is the same before and after
the sort. With --check full, it compares all keys with the result of another sort.

Examples:
  warpweft channels sort 10000000
  warpweft channels sort 100000000 --device gpu
  warpweft channels sort 1000000 --keys pairs --by merge --order reversed"
)]
pub struct Sort {
    /// How many keys.
    count: usize,
    /// The type of the keys; pairs are 32-bit keys with 32-bit values.
    #[arg(long, value_enum, default_value_t = Keys::U32)]
    keys: Keys,
    /// The algorithm: quicksort (quick), stable mergesort (merge), mergesort by teams of lanes (teams), or radix sort
    /// by teams of lanes (radix). GPUs run teams and radix only [default: quick; radix on a GPU].
    #[arg(long, value_enum)]
    by: Option<By>,
    /// The order of the keys before they are sorted.
    #[arg(long, value_enum, default_value_t = Before::Random)]
    order: Before,
    #[command(flatten)]
    options: Options,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Keys {
    U32,
    I32,
    F32,
    Pairs,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum By {
    Quick,
    Merge,
    Teams,
    Radix,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Before {
    Random,
    Sorted,
    Reversed,
    Equal,
}

impl Sort {
    pub fn outcome(&self) -> Result<Outcome> {
        if !(1..=MOST).contains(&self.count) {
            return Err(Error::spec(format!("{} keys", self.count), format!("take 1 to {MOST}")));
        }
        let number = |k: usize| -> u32 {
            match self.order {
                // The finaliser of MurmurHash3 (Appleby), which is one to one.
                Before::Random => hash(k as u32),
                Before::Sorted => k as u32,
                Before::Reversed => (self.count - k) as u32,
                Before::Equal => 7,
            }
        };
        match self.keys {
            Keys::U32 => self.sorted(number, |key| key),
            Keys::I32 => self.sorted(|k| number(k) as i32, |key| key as u32),
            // Every word but those of a NaN is a number.
            Keys::F32 => self.sorted(|k| f32::from_bits(number(k) & 0xbfff_ffff), f32::to_bits),
            Keys::Pairs => self.sorted(
                |k| Pair { key: number(k) % 1000, value: k as u32 },
                |pair| hash(pair.key) ^ pair.value,
            ),
        }
    }

    fn by(&self) -> By {
        self.by.unwrap_or(if self.options.names_gpu() { By::Radix } else { By::Quick })
    }

    fn sorted<T: Ordered<Number: Digits> + Default>(
        &self,
        key: impl Fn(usize) -> T,
        word: impl Fn(T) -> u32,
    ) -> Result<Outcome> {
        let mut keys = warpweft::memory::filled((0..self.count).map(key), "sort fewer")?;
        let sum = |keys: &[T]| {
            let hashes = keys.iter().map(|&key| u64::from(hash(word(key))));
            hashes.fold(0, u64::wrapping_add)
        };
        let words = |keys: &[T]| {
            let words = keys.iter().map(|&key| word(key));
            let mut words = warpweft::memory::filled(words, "leave out --check full")?;
            words.sort_unstable();
            Ok::<_, Error>(words)
        };
        let all = self.options.checking.full().then(|| words(&keys)).transpose()?;
        let before = sum(&keys);
        if self.options.names_gpu() && matches!(self.by(), By::Quick | By::Merge) {
            let what = format!("{:?}sort on a GPU", self.by()).to_lowercase().replace("gpu", "GPU");
            return Err(Error::spec(
                what,
                "this algorithm runs on cores only: use --by radix or --by teams, or --device cpu",
            ));
        }
        let ran = match self.by() {
            By::Quick => {
                let calls = Channels::of(quicksort::call(&mut keys, depth(self.count)));
                self.options.run_on_cores(calls.levels(depth(self.count) + 1))?.without_values()
            }
            By::Merge => {
                let other = (0..self.count).map(|_| T::default());
                let mut other = warpweft::memory::filled(other, "sort fewer")?;
                let calls = Channels::of(mergesort::call(&mut keys, &mut other, false));
                self.options.run_on_cores(calls)?.without_values()
            }
            By::Teams | By::Radix => self.by_teams(&mut keys)?,
        };
        if let Some(none) = self.options.checking.unchecked() {
            return Ok(self.said(ran, none));
        }
        let (same, reference) = match all {
            Some(all) => (words(&keys)? == all, "order, and all keys by another sort"),
            None => (sum(&keys) == before, "order, and the sum over hashes of all keys"),
        };
        let check = match (same, keys.is_sorted_by(|a, b| a.order(b).is_le())) {
            (true, true) => Check::made(reference, 0.0, 0.0),
            (false, _) => Check::failed("keys are lost or changed"),
            (true, false) => Check::failed("keys are not in order"),
        };
        Ok(self.said(ran, check))
    }

    /// By the numbers that are in the order of the keys.
    fn by_teams<T: Ordered<Number: Digits>>(&self, keys: &mut [T]) -> Result<Ran<()>> {
        let numbers = keys.iter().map(|key| key.number());
        let mut numbers = warpweft::memory::filled(numbers, "sort fewer")?;
        let other = numbers.iter().map(|_| T::Number::default());
        let mut other = warpweft::memory::filled(other, "sort fewer")?;
        let ran = match self.by() {
            By::Radix => {
                let words = table_words(self.count, T::Number::BITS);
                let mut table = warpweft::memory::filled((0..words).map(|_| 0), "sort fewer")?;
                self.options.run_by(|machine, run| {
                    let (keys, other) = (&mut numbers, &mut other);
                    Ok(((), sort_radix::sorted(keys, other, &mut table, machine, run)?))
                })?
            }
            _ => {
                let calls = Channels::of(team_sort::call(&mut numbers, &mut other, false));
                self.options.run_borrowing(calls)?.without_values()
            }
        };
        keys.iter_mut().zip(numbers).for_each(|(key, number)| *key = T::of(number));
        Ok(ran)
    }

    fn said(&self, ran: Ran<()>, check: Check) -> Outcome {
        let rate = self.count as f64 / ran.report.seconds.max(1e-9);
        let name = |value: &dyn std::fmt::Debug| format!("{value:?}").to_lowercase();
        let settings = vec![
            ("count", json!(self.count)),
            ("keys", json!(name(&self.keys))),
            ("by", json!(name(&self.by()))),
            ("order", json!(name(&self.order))),
        ];
        let answer = vec![("keys_per_second", json!(rate))];
        let by = match self.by() {
            By::Quick => "quicksort",
            By::Merge => "mergesort",
            By::Teams => "mergesort of teams",
            By::Radix => "radix sort of teams",
        };
        let title = format!("{} keys ({}) by {by}", self.count, name(&self.keys));
        self.options.outcome("sort", title, ran, Said { settings, answer, check })
    }
}

fn hash(mut word: u32) -> u32 {
    word = (word ^ word >> 16).wrapping_mul(0x85eb_ca6b);
    word = (word ^ word >> 13).wrapping_mul(0xc2b2_ae35);
    word ^ word >> 16
}
