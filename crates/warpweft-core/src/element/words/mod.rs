//! Words of buffers that threads share: plain loads and stores, and atomic operations, the same on cores and in translated
//! code.

mod lent;
mod slice;
mod table;

use std::fmt;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};

pub use self::lent::LentSlice;
pub use self::slice::{DeviceSlice, TableBytes};
pub use self::table::Table;
use crate::element::{DeviceType, Unit};

/// Adds the C++ of [`Shared`] to a unit: `ww::shared<T>` and its operations.
pub fn define_shared(unit: &mut Unit) {
    unit.define("words of buffers", "words", |_, _| include_str!("words.cuh").into());
}

/// A word of a buffer: an integer or a float of 32 or 64 bits.
#[diagnostic::on_unimplemented(
    message = "a buffer that threads share can't hold `{Self}`",
    note = "its words are `i32`, `u32`, `i64`, `u64`, `f32` or `f64`: take one buffer for each member of a struct"
)]
pub trait Word: DeviceType + Send + Sync + Default + PartialEq + fmt::Debug {
    #[doc(hidden)]
    type Atomic: Send + Sync;
    #[doc(hidden)]
    fn atomic(self) -> Self::Atomic;
    #[doc(hidden)]
    fn load(from: &Self::Atomic) -> Self;
    #[doc(hidden)]
    fn store(to: &Self::Atomic, value: Self);
    #[doc(hidden)]
    fn put(self, to: &mut Vec<u8>);
    #[doc(hidden)]
    fn get(from: &[u8]) -> Self;
}

/// An integer word, which threads combine in one step.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not combined atomically",
    note = "sums of floats depend on the order of threads: add integers, such as fixed-point numbers"
)]
pub trait Counter: Word {
    #[doc(hidden)]
    fn add(to: &Self::Atomic, value: Self) -> Self;
    #[doc(hidden)]
    fn min(to: &Self::Atomic, value: Self) -> Self;
    #[doc(hidden)]
    fn max(to: &Self::Atomic, value: Self) -> Self;
    #[doc(hidden)]
    fn exchange(to: &Self::Atomic, value: Self) -> Self;
    #[doc(hidden)]
    fn compare_exchange(to: &Self::Atomic, expected: Self, value: Self) -> Self;
}

macro_rules! words {
    ($($t:ty, $atomic:ty, $bits:ident, $back:ident);*) => {$(
        impl Word for $t {
            type Atomic = $atomic;
            fn atomic(self) -> $atomic {
                <$atomic>::new(self.$bits())
            }
            fn load(from: &$atomic) -> Self {
                Self::$back(from.load(Ordering::Relaxed))
            }
            fn store(to: &$atomic, value: Self) {
                to.store(value.$bits(), Ordering::Relaxed);
            }
            fn put(self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_ne_bytes());
            }
            fn get(from: &[u8]) -> Self {
                from.try_into().map(Self::from_ne_bytes).unwrap_or_default()
            }
        }
    )*};
}
words!(f32, AtomicU32, to_bits, from_bits; f64, AtomicU64, to_bits, from_bits);

macro_rules! counters {
    ($($t:ty, $atomic:ty);*) => {$(
        impl Word for $t {
            type Atomic = $atomic;
            fn atomic(self) -> $atomic {
                <$atomic>::new(self)
            }
            fn load(from: &$atomic) -> Self {
                from.load(Ordering::Relaxed)
            }
            fn store(to: &$atomic, value: Self) {
                to.store(value, Ordering::Relaxed);
            }
            fn put(self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_ne_bytes());
            }
            fn get(from: &[u8]) -> Self {
                from.try_into().map(Self::from_ne_bytes).unwrap_or_default()
            }
        }
        impl Counter for $t {
            fn add(to: &$atomic, value: Self) -> Self {
                to.fetch_add(value, Ordering::Relaxed)
            }
            fn min(to: &$atomic, value: Self) -> Self {
                to.fetch_min(value, Ordering::Relaxed)
            }
            fn max(to: &$atomic, value: Self) -> Self {
                to.fetch_max(value, Ordering::Relaxed)
            }
            fn exchange(to: &$atomic, value: Self) -> Self {
                to.swap(value, Ordering::Relaxed)
            }
            fn compare_exchange(to: &$atomic, expected: Self, value: Self) -> Self {
                let order = Ordering::Relaxed;
                to.compare_exchange(expected, value, order, order).unwrap_or_else(|now| now)
            }
        }
    )*};
}
counters!(i32, AtomicI32; u32, AtomicU32; i64, AtomicI64; u64, AtomicU64);

/// The words of a buffer as kernels see them: `words: &Shared<u64>`.
///
/// Threads and firings run concurrently, in no order. Atomic operations of one word take place one after the other, which says
/// nothing about other words. Indices are checked; one outside ends the run with an error.
pub struct Shared<T: Word>(Box<[T::Atomic]>);

impl<T: Word> Shared<T> {
    /// A buffer with these words.
    pub fn new(words: impl IntoIterator<Item = T>) -> Self {
        Self(words.into_iter().map(T::atomic).collect())
    }

    /// The number of words.
    #[expect(clippy::len_without_is_empty, reason = "device code asks for the length alone")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The word at `index`.
    pub fn load(&self, index: usize) -> T {
        T::load(&self.0[index])
    }

    /// Writes the word at `index`.
    pub fn store(&self, index: usize, value: T) {
        T::store(&self.0[index], value);
    }

    /// All words.
    pub fn to_vec(&self) -> Vec<T> {
        self.0.iter().map(T::load).collect()
    }
}

impl<T: Counter> Shared<T> {
    /// Adds to the word at `index`, wrapping. Returns what it was before, as do all operations below.
    pub fn add(&self, index: usize, value: T) -> T {
        T::add(&self.0[index], value)
    }

    /// Lowers the word at `index` to `value`, if that is less.
    pub fn min(&self, index: usize, value: T) -> T {
        T::min(&self.0[index], value)
    }

    /// Raises the word at `index` to `value`, if that is more.
    pub fn max(&self, index: usize, value: T) -> T {
        T::max(&self.0[index], value)
    }

    /// Replaces the word at `index`.
    pub fn exchange(&self, index: usize, value: T) -> T {
        T::exchange(&self.0[index], value)
    }

    /// Replaces the word at `index` if it is `expected`, and only then returns `expected`.
    pub fn compare_exchange(&self, index: usize, expected: T, value: T) -> T {
        T::compare_exchange(&self.0[index], expected, value)
    }
}
