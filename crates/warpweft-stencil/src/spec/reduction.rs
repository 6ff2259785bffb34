//! What all cells of a field come to: sums, dot products, extremes, the same whatever order they are taken in.
//!
//! Values are converted to `f64` as `as` does, and products are rounded to `f64`. Their sum is exact ([`Total`]) and
//! rounded once, so it has the same bits on any threads, devices and ranks.

pub(crate) mod ahead;
pub mod fold;
pub mod scalar;
mod split;

use super::total::{Total, WINDOW};
use warpweft_core::element::{Scalar, ScalarKind, bf16, f16};

/// What is asked of the cells of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduce {
    /// Their sum.
    Sum,
    /// The sum of their products with another field.
    Dot,
    /// The least.
    Least,
    /// The greatest.
    Greatest,
}

impl Reduce {
    /// Whether it is of the order of the numbers, not of their sum.
    pub(crate) fn is_extreme(self) -> bool {
        matches!(self, Self::Least | Self::Greatest)
    }
}

/// Cells that are converted at a time.
pub(crate) const CHUNK: usize = 512;

const _: () = assert!(CHUNK <= WINDOW);

/// Numbers that are still to be taken in, and room for those that they are multiplied by.
#[derive(Clone, Debug)]
pub struct Chunk {
    values: [[f64; CHUNK]; 2],
    filled: usize,
}

impl Default for Chunk {
    fn default() -> Self {
        Self { values: [[0.0; CHUNK]; 2], filled: 0 }
    }
}

/// What some cells come to.
#[derive(Clone, Debug, Default)]
pub struct Reduction {
    positive: Total,
    negative: Total,
    /// [`key`] of the greatest, and that of the least with its bits inverted; 0 of none.
    keys: [u64; 2],
    /// Whether any was NaN.
    nan: bool,
}

/// Bits in the order of the numbers, -0 before 0.
fn key(value: f64) -> u64 {
    let bits = value.to_bits();
    if value.is_sign_negative() { !bits } else { bits | 1 << 63 }
}

/// The number of that key.
fn of_key(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & (u64::MAX >> 1) } else { !key })
}

impl Reduction {
    /// Words that [`Reduction::words`] gives.
    pub const WORDS: usize = 2 * Total::WORDS + 3;

    /// Takes in the cells of a field of this kind, whose bytes these are, and those of the field they are multiplied by.
    pub fn take_bytes(&mut self, what: Reduce, kinds: [ScalarKind; 2], fields: [&[u8]; 2]) {
        self.take_rows(what, kinds, std::iter::once(fields));
    }

    /// The same of several rows, which fill chunks together.
    #[inline(always)]
    pub fn take_rows<'b>(
        &mut self,
        what: Reduce,
        kinds: [ScalarKind; 2],
        rows: impl Iterator<Item = [&'b [u8]; 2]>,
    ) {
        let mut chunk = Chunk::default();
        self.gather(what, kinds, &mut chunk, rows);
        self.take_rest(what, &mut chunk);
    }

    /// Takes in all that fills chunks; [`Reduction::take_rest`] takes the rest.
    #[inline(always)]
    pub fn gather<'b>(
        &mut self,
        what: Reduce,
        kinds: [ScalarKind; 2],
        Chunk { values: [a, b], filled }: &mut Chunk,
        rows: impl Iterator<Item = [&'b [u8]; 2]>,
    ) {
        let sizes = kinds.map(ScalarKind::size);
        for [mut first, mut second] in rows {
            while first.len() >= sizes[0] {
                let cells = (first.len() / sizes[0]).min(CHUNK - *filled);
                let (some, rest) = first.split_at(cells * sizes[0]);
                let to = &mut a[*filled..*filled + cells];
                first = rest;
                if what == Reduce::Dot {
                    let (others, rest) = second.split_at(cells * sizes[1]);
                    multiply(kinds, [some, others], to, &mut b[..cells]);
                    second = rest;
                } else {
                    convert(kinds[0], some, to);
                }
                *filled += cells;
                if *filled == CHUNK {
                    self.take_chunk(what, a, CHUNK);
                    *filled = 0;
                }
            }
        }
    }

    /// Takes in what does not fill a chunk.
    #[inline(always)]
    pub fn take_rest(&mut self, what: Reduce, Chunk { values: [a, _], filled }: &mut Chunk) {
        self.take_chunk(what, a, std::mem::take(filled));
    }

    /// Takes in the first `cells` of a chunk.
    #[inline(always)]
    fn take_chunk(&mut self, what: Reduce, a: &mut [f64; CHUNK], cells: usize) {
        if what.is_extreme() {
            return self.range(&a[..cells]);
        }
        a[cells..].fill(0.0);
        self.add(a);
    }

    /// Takes in a chunk, of which numbers are left out by zeros.
    #[inline(always)]
    fn add(&mut self, values: &[f64; CHUNK]) {
        match split::sums(values) {
            Some(sums) => self.positive.add_signed(&mut self.negative, sums.into_iter()),
            None => self.positive.add_signed(&mut self.negative, values.iter().copied()),
        }
    }

    fn range(&mut self, values: &[f64]) {
        for &value in values {
            let key = key(value);
            self.nan |= value.is_nan();
            self.keys = [self.keys[0].max(key), self.keys[1].max(!key)];
        }
    }

    /// Takes in what another took in.
    pub fn merge(&mut self, other: &Self) {
        self.positive.merge(&other.positive);
        self.negative.merge(&other.negative);
        self.keys = [0, 1].map(|i| self.keys[i].max(other.keys[i]));
        self.nan |= other.nan;
    }

    /// The sum; NaN if any number was, or infinities of both signs were among them. 0 of no cells.
    pub fn sum(&self) -> f64 {
        self.positive.less(&self.negative)
    }

    /// The least and the greatest; NaN if any number was.
    pub fn extremes(&self) -> [f64; 2] {
        let [greatest, least] = [of_key(self.keys[0]), of_key(!self.keys[1])];
        if self.nan { [f64::NAN; 2] } else { [least, greatest] }
    }

    /// What was asked for.
    pub fn value(&self, what: Reduce) -> f64 {
        match what {
            Reduce::Sum | Reduce::Dot => self.sum(),
            Reduce::Least => self.extremes()[0],
            Reduce::Greatest => self.extremes()[1],
        }
    }

    /// All there is to it, for other ranks.
    pub fn words(&self) -> impl Iterator<Item = u64> {
        let totals = self.positive.words().chain(self.negative.words());
        totals.chain(self.keys).chain([u64::from(self.nan)])
    }

    /// As [`Reduction::words`] gave them; words that are missing are 0.
    pub fn from_words(words: &[u64]) -> Self {
        let word = |at: usize| words.get(at).copied().unwrap_or(0);
        let total = |from: usize| Total::from_words((from..from + Total::WORDS).map(word));
        let keys = 2 * Total::WORDS;
        Self {
            positive: total(0),
            negative: total(Total::WORDS),
            keys: [word(keys), word(keys + 1)],
            nan: word(keys + 2) != 0,
        }
    }
}

/// The products of two fields' numbers; `room` is for as many.
#[inline(always)]
fn multiply(kinds: [ScalarKind; 2], bytes: [&[u8]; 2], to: &mut [f64], room: &mut [f64]) {
    if kinds == [ScalarKind::F64; 2] {
        let [(first, _), (second, _)] = bytes.map(<[u8]>::as_chunks::<8>);
        for ((to, &a), &b) in to.iter_mut().zip(first).zip(second) {
            *to = f64::from_ne_bytes(a) * f64::from_ne_bytes(b);
        }
        return;
    }
    convert(kinds[0], bytes[0], to);
    convert(kinds[1], bytes[1], room);
    to.iter_mut().zip(room).for_each(|(a, b)| *a *= *b);
}

/// The numbers of a field's bytes.
#[inline(always)]
fn convert(kind: ScalarKind, bytes: &[u8], to: &mut [f64]) {
    macro_rules! typed {
        ($($name:ident => $t:ty),*) => {
            match kind {
                $(ScalarKind::$name => each(bytes, to, |bytes| Scalar::to_f64(<$t>::from_ne_bytes(bytes))),)*
                ScalarKind::Bool => each(bytes, to, |[byte]: [u8; 1]| f64::from(byte)),
                ScalarKind::F16 => each(bytes, to, |bytes| f16::from_bits(u16::from_ne_bytes(bytes)).to_f64()),
                ScalarKind::Bf16 => each(bytes, to, |bytes| bf16::from_bits(u16::from_ne_bytes(bytes)).to_f64()),
            }
        };
    }
    typed!(I8 => i8, I16 => i16, I32 => i32, I64 => i64, U8 => u8, U16 => u16, U32 => u32, U64 => u64,
        Isize => isize, Usize => usize, F32 => f32, F64 => f64)
}

#[inline(always)]
fn each<const N: usize>(bytes: &[u8], to: &mut [f64], value: impl Fn([u8; N]) -> f64) {
    let (words, _) = bytes.as_chunks::<N>();
    for (to, &word) in to.iter_mut().zip(words) {
        *to = value(word);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(what: Reduce, values: &[f64], others: &[f64]) -> Reduction {
        let bytes =
            |values: &[f64]| -> Vec<u8> { values.iter().flat_map(|v| v.to_ne_bytes()).collect() };
        let mut reduction = Reduction::default();
        reduction.take_bytes(what, [ScalarKind::F64; 2], [&bytes(values), &bytes(others)]);
        reduction
    }

    proptest! {
        #[test]
        fn sums_are_exact_in_any_order(numbers in prop::collection::vec((-1i64 << 50..1 << 50, 0u32..40), 0..700), cut in 0usize..700) {
            let values: Vec<_> = numbers.iter().map(|&(n, down)| n as f64 / 2f64.powi(down as i32)).collect();
            // Multiples of 2^-40 below 2^50, so the sum is exact in 128 bits.
            let sum: i128 = numbers.iter().map(|&(n, down)| i128::from(n) << (40 - down)).sum();
            let expect = sum as f64 / 2f64.powi(40);
            let all = of(Reduce::Sum, &values, &values);
            prop_assert_eq!(all.sum(), expect);
            let (left, right) = values.split_at(cut.min(values.len()));
            let mut parts = of(Reduce::Sum, right, right);
            parts.merge(&of(Reduce::Sum, left, left));
            let words: Vec<_> = parts.words().collect();
            prop_assert_eq!(words.len(), Reduction::WORDS);
            prop_assert_eq!(Reduction::from_words(&words).sum().to_bits(), all.sum().to_bits());
        }
    }

    /// The sum as a window of integers has it.
    fn slowly(values: &[f64]) -> f64 {
        let mut slow = Reduction::default();
        slow.positive.add_signed(&mut slow.negative, values.iter().copied());
        slow.sum()
    }

    #[test]
    fn chunks_of_all_sizes_have_the_exact_sum() {
        let number = |n: u64, spread: u64| {
            let mixed = (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mantissa = (mixed >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
            mantissa * 2f64.powi((mixed % (2 * spread + 1)) as i32 - spread as i32)
        };
        for (spread, by) in
            [(0, 0), (20, 0), (39, 900), (39, -940), (45, 0), (200, 0), (3, 1010), (9, -1060)]
        {
            for seed in 0..20u64 {
                let mut values: Vec<_> = (0..CHUNK as u64)
                    .map(|n| number(1000 * seed + n, spread) * 2f64.powi(by))
                    .collect();
                // What cancels leaves the last bits.
                (0..100).for_each(|n| values[100 + n] = -values[n]);
                let sum = of(Reduce::Sum, &values, &values).sum();
                assert_eq!(sum.to_bits(), slowly(&values).to_bits(), "2^{spread}, 2^{by}");
            }
        }
        let [most, tiny] = [f64::MAX, f64::from_bits(1)];
        for values in
            [vec![most, -most, tiny], vec![tiny; CHUNK], vec![-0.0; 7], vec![1.0, tiny, -1.0]]
        {
            let sum = of(Reduce::Sum, &values, &values).sum();
            assert_eq!(sum.to_bits(), slowly(&values).to_bits(), "{values:?}");
        }
    }

    #[test]
    fn what_cancels_leaves_what_is_small() {
        let values = [1e300, 1.0, -1e300, 2f64.powi(-1074), 3.0, -4.0];
        assert_eq!(of(Reduce::Sum, &values, &values).sum(), 2f64.powi(-1074));
        assert_eq!(of(Reduce::Dot, &[1e8, 1.0, -1e8], &[1e8, 0.5, 1e8]).sum(), 0.5);
    }

    #[test]
    fn extremes_keep_signs_and_tell_of_nan() {
        let range = |values: &[f64]| of(Reduce::Least, values, values).extremes();
        assert_eq!(range(&[3.0, -7.5, 2.0]), [-7.5, 3.0]);
        assert_eq!(range(&[f64::NEG_INFINITY, 1e-320]), [f64::NEG_INFINITY, 1e-320]);
        assert!(range(&[1.0, f64::NAN]).iter().all(|v| v.is_nan()));
        assert_eq!(range(&[-0.0, 0.0]).map(f64::to_bits), [(-0.0f64).to_bits(), 0]);
        let sum = |values: &[f64]| of(Reduce::Sum, values, values).sum();
        assert!(
            sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan() && sum(&[1.0, f64::NAN]).is_nan()
        );
        assert_eq!(sum(&[f64::NEG_INFINITY, 5.0]), f64::NEG_INFINITY);
        assert_eq!(sum(&[]), 0.0);
    }

    #[test]
    fn every_kind_of_number_is_converted() {
        let mut to = [0.0; 2];
        convert(ScalarKind::F16, &f16::from_f32(-1.5).to_bits().to_ne_bytes(), &mut to[..1]);
        convert(ScalarKind::Bf16, &bf16::from_f32(2.5).to_bits().to_ne_bytes(), &mut to[1..]);
        assert_eq!(to, [-1.5, 2.5]);
        convert(ScalarKind::I16, &[(-3i16).to_ne_bytes(), 7i16.to_ne_bytes()].concat(), &mut to);
        assert_eq!(to, [-3.0, 7.0]);
    }
}
