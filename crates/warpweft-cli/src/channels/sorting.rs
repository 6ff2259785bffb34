//! Keys of several kinds, sorted on the cores.

use clap::ValueEnum;
use serde_json::json;
use warpweft::channels::Channels;
use warpweft::{Error, Result};
use warpweft_apps::sort::{Key, Pair, depth, mergesort, quicksort};

use super::options::{Options, Ran, Said};
use crate::run::check::Check;
use crate::run::outcome::Outcome;

/// The most keys.
const MOST: usize = 1 << 31;

#[derive(clap::Args)]
#[command(
    after_help = "The check: the keys are in order, and a sum over hashes of all keys is what it was before.

Examples:
  warpweft channels sort 10000000
  warpweft channels sort 1000000 --keys pairs --by merge --order reversed"
)]
pub struct Sort {
    /// How many keys.
    count: usize,
    /// Their kind; pairs are keys of 32 bits with values of 32 bits.
    #[arg(long, value_enum, default_value_t = Keys::U32)]
    keys: Keys,
    /// Quicksort, or mergesort, which keeps the order of equal keys.
    #[arg(long, value_enum, default_value_t = By::Quick)]
    by: By,
    /// The order in which they are before.
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

    fn sorted<T: Key + Default>(
        &self,
        key: impl Fn(usize) -> T,
        word: impl Fn(T) -> u32,
    ) -> Result<Outcome> {
        let mut keys = warpweft::memory::filled((0..self.count).map(key), "sort fewer")?;
        let sum = |keys: &[T]| {
            let hashes = keys.iter().map(|&key| u64::from(hash(word(key))));
            hashes.fold(0, u64::wrapping_add)
        };
        let before = sum(&keys);
        let ran = match self.by {
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
        };
        let check = match (sum(&keys) == before, keys.is_sorted_by(|a, b| a.order(b).is_le())) {
            (true, true) => Check::made("order, and the sum over hashes of all keys", 0.0, 0.0),
            (false, _) => Check::failed("keys are lost or changed"),
            (true, false) => Check::failed("keys are not in order"),
        };
        Ok(self.said(ran, check))
    }

    fn said(&self, ran: Ran<()>, check: Check) -> Outcome {
        let rate = self.count as f64 / ran.report.seconds.max(1e-9);
        let name = |value: &dyn std::fmt::Debug| format!("{value:?}").to_lowercase();
        let settings = vec![
            ("count", json!(self.count)),
            ("keys", json!(name(&self.keys))),
            ("by", json!(name(&self.by))),
            ("order", json!(name(&self.order))),
        ];
        let answer = vec![("keys_per_second", json!(rate))];
        let title = format!("{} keys ({}) by {}sort", self.count, name(&self.keys), name(&self.by));
        self.options.outcome("sort", title, ran, Said { settings, answer, check })
    }
}

fn hash(mut word: u32) -> u32 {
    word = (word ^ word >> 16).wrapping_mul(0x85eb_ca6b);
    word = (word ^ word >> 13).wrapping_mul(0xc2b2_ae35);
    word ^ word >> 16
}
