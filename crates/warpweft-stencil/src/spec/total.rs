//! The largest of some numbers and their exact sum, in any order.
//!
//! The sum is a fixed-point number that holds every `f64` there is, in digits of 32 bits with room for
//! carries above them (R. M. Neal, "Fast exact summation using small and large crateaccumulators", 2015,
//! the small one). Numbers come in through a window of 128 bits, which moves where the next one does not
//! fit. cuda/kernels/residual.cuh does the same on a GPU.

use std::cmp::Ordering;

/// Digits of a sum: 2098 bits of an `f64`, 64 more for as many numbers as there can be, and two for
/// carries.
const DIGITS: usize = 70;

/// Bits of a mantissa that are stored.
const STORED: u32 = f64::MANTISSA_DIGITS - 1;

/// Numbers that a window takes: 63 + 53 bits hold one.
pub(crate) const WINDOW: usize = 1 << 10;

/// What absolute changes, or squared ones, come to.
#[derive(Clone, Debug)]
pub struct Total {
    /// Bits of the largest; above infinity's for NaN.
    largest: u64,
    /// Digit `i` counts `2^(32 i - 1074)`; what is above 32 bits has yet to be carried.
    digits: [u64; DIGITS],
}

impl Default for Total {
    fn default() -> Self {
        Self { largest: 0, digits: [0; DIGITS] }
    }
}

impl Total {
    /// Words that [`Total::words`] gives.
    pub const WORDS: usize = 1 + DIGITS;

    /// Takes in `values`, none negative, for [`Total::largest`] alone.
    #[inline(always)]
    pub fn raise(&mut self, values: impl Iterator<Item = f64>) {
        self.largest = values.fold(self.largest, |largest, value| largest.max(bits_of(value)));
    }

    /// Takes in `values`, none negative, at most [`WINDOW`] of them.
    #[inline(always)]
    pub fn add(&mut self, values: impl Iterator<Item = f64>) {
        let (mut window, mut place, mut largest) = (0u128, 0u32, self.largest);
        for value in values {
            let bits = bits_of(value);
            largest = largest.max(bits);
            // Infinities and NaN leave nonsense here, which `largest` says.
            let exponent = (bits >> STORED) as u32;
            let mantissa = bits & ((1 << STORED) - 1) | u64::from(exponent > 0) << STORED;
            let at = exponent.max(1) - 1;
            let mut shift = at.wrapping_sub(place);
            if shift >= 64 {
                if bits == 0 {
                    continue;
                }
                self.put(place, window);
                (window, place) = (0, (at / 32).saturating_sub(1) * 32);
                shift = at - place;
            }
            window += u128::from(mantissa) << shift;
        }
        self.put(place, window);
        self.largest = largest;
    }

    /// Takes in what another took in.
    pub fn merge(&mut self, other: &Self) {
        self.largest = self.largest.max(other.largest);
        for (i, &digit) in other.digits.iter().enumerate() {
            self.carry(i, digit);
        }
    }

    /// Adds `window × 2^(place - 1074)`, `place` a multiple of 32.
    fn put(&mut self, place: u32, window: u128) {
        for i in 0..4 {
            self.carry(place as usize / 32 + i, u64::from((window >> (32 * i)) as u32));
        }
    }

    fn carry(&mut self, mut digit: usize, mut part: u64) {
        while part > 0 {
            let (sum, over) = self.digits[digit].overflowing_add(part);
            self.digits[digit] = sum;
            (digit, part) = (digit + 2, u64::from(over));
        }
    }

    /// The largest number; NaN if any was, 0 if there was none.
    pub fn largest(&self) -> f64 {
        let largest = f64::from_bits(self.largest);
        if largest.is_nan() { f64::NAN } else { largest }
    }

    /// The sum, rounded to the nearest `f64`, ties to even; NaN if any number was, infinite if any was.
    pub fn sum(&self) -> f64 {
        if self.largest >= f64::INFINITY.to_bits() {
            return self.largest();
        }
        rounded(&self.canonical())
    }

    /// The digits with all carries made.
    fn canonical(&self) -> [u32; DIGITS] {
        let mut digits = [0u32; DIGITS];
        let mut carry = 0u128;
        for (digit, &sum) in digits.iter_mut().zip(&self.digits) {
            carry += u128::from(sum);
            *digit = carry as u32;
            carry >>= 32;
        }
        digits
    }

    /// The sum less that of `other`, exact and rounded once as [`Total::sum`] is; NaN if both are infinite.
    pub fn less(&self, other: &Self) -> f64 {
        let finite = |total: &Self| total.largest < f64::INFINITY.to_bits();
        if !finite(self) || !finite(other) {
            let number = |total: &Self| if finite(total) { 0.0 } else { total.largest() };
            return number(self) - number(other);
        }
        let [more, less] = [self.canonical(), other.canonical()];
        match more.iter().rev().cmp(less.iter().rev()) {
            Ordering::Less => -rounded(&difference(&less, &more)),
            _ => rounded(&difference(&more, &less)),
        }
    }

    /// Takes in `values` of either sign, at most [`WINDOW`] of them: the others into `negative`, without their sign.
    #[inline(always)]
    pub fn add_signed(&mut self, negative: &mut Self, values: impl Iterator<Item = f64>) {
        let (mut window, mut place) = (0i128, 0u32);
        let mut largest = [self.largest, negative.largest];
        for value in values {
            let (bits, below) = (bits_of(value), value.is_sign_negative());
            largest[usize::from(below)] = largest[usize::from(below)].max(bits);
            let exponent = (bits >> STORED) as u32;
            let mantissa = bits & ((1 << STORED) - 1) | u64::from(exponent > 0) << STORED;
            let at = exponent.max(1) - 1;
            let mut shift = at.wrapping_sub(place);
            if shift >= 64 {
                if bits == 0 {
                    continue;
                }
                self.put_signed(negative, place, window);
                (window, place) = (0, (at / 32).saturating_sub(1) * 32);
                shift = at - place;
            }
            let term = i128::from(mantissa) << shift;
            window += if below { -term } else { term };
        }
        self.put_signed(negative, place, window);
        [self.largest, negative.largest] = largest;
    }

    fn put_signed(&mut self, negative: &mut Self, place: u32, window: i128) {
        let to = if window < 0 { negative } else { self };
        to.put(place, window.unsigned_abs());
    }

    /// All there is to it, for other ranks.
    pub fn words(&self) -> impl Iterator<Item = u64> {
        std::iter::once(self.largest).chain(self.digits)
    }

    /// As [`Total::words`] gave them; words that are missing are 0.
    pub fn from_words(words: impl IntoIterator<Item = u64>) -> Self {
        let mut total = Self::default();
        let places = std::iter::once(&mut total.largest).chain(&mut total.digits);
        places.zip(words).for_each(|(place, word)| *place = word);
        total
    }
}

/// The number that these digits are, rounded to the nearest, ties to even.
fn rounded(digits: &[u32; DIGITS]) -> f64 {
    let Some(top) = digits.iter().rposition(|&digit| digit > 0) else { return 0.0 };
    let low = top.saturating_sub(2);
    let mut leading =
        digits[low..=top].iter().rev().fold(0u128, |all, &digit| all << 32 | u128::from(digit));
    // Half way is above that bit, as there are 65 or more if any are left out.
    leading |= u128::from(digits[..low].iter().any(|&digit| digit > 0));
    leading as f64 * power_of_two(32 * low as i32 - 1074)
}

/// `more - less`, of which the first is not below the second.
fn difference(more: &[u32; DIGITS], less: &[u32; DIGITS]) -> [u32; DIGITS] {
    let mut borrow = false;
    std::array::from_fn(|i| {
        let (first, below) = more[i].overflowing_sub(less[i]);
        let (digit, under) = first.overflowing_sub(u32::from(borrow));
        borrow = below || under;
        digit
    })
}

/// Bits that are in order as the numbers are, NaN above all.
#[inline(always)]
fn bits_of(value: f64) -> u64 {
    value.to_bits() & (u64::MAX >> 1)
}

/// `2^exponent` for exponents from -1074 on, infinite above 1023.
fn power_of_two(exponent: i32) -> f64 {
    match exponent {
        ..-1022 => f64::from_bits(1 << (exponent + 1074)),
        -1022..=1023 => f64::from_bits(((exponent + 1023) as u64) << STORED),
        1024.. => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn total(values: &[f64]) -> Total {
        let mut total = Total::default();
        values.chunks(WINDOW).for_each(|values| total.add(values.iter().copied()));
        total
    }

    /// The exact sum by another way, rounded once: partial sums that do not overlap (J. R. Shewchuk,
    /// "Adaptive precision floating-point arithmetic", 1997, as in Python's `math.fsum`).
    fn by_expansion(values: &[f64]) -> f64 {
        let mut partials: Vec<f64> = Vec::new();
        for &value in values {
            let mut x = value;
            let mut kept = Vec::new();
            for &y in &partials {
                let (large, small) = if x.abs() < y.abs() { (y, x) } else { (x, y) };
                let high = large + small;
                let low = small - (high - large);
                if low != 0.0 {
                    kept.push(low);
                }
                x = high;
            }
            kept.push(x);
            partials = kept;
        }
        let mut high = partials.pop().unwrap_or(0.0);
        while let Some(y) = partials.pop() {
            let x = high;
            high = x + y;
            let low = y - (high - x);
            if low != 0.0 {
                let next = partials.last().copied().unwrap_or(0.0);
                // Not by their product, which may be too small for a number.
                let alike = next != 0.0 && (low > 0.0) == (next > 0.0);
                if alike && high + 2.0 * low - high == 2.0 * low {
                    high += 2.0 * low;
                }
                break;
            }
        }
        high
    }

    /// Numbers of all sizes, most of a few.
    fn number() -> impl Strategy<Value = f64> {
        let near = (0u64..1 << 52, 1000u64..1040).prop_map(|(m, e)| f64::from_bits(e << 52 | m));
        let any = (0u64..1 << 52, 0u64..2000).prop_map(|(m, e)| f64::from_bits(e << 52 | m));
        prop_oneof![4 => near, 1 => any, 1 => Just(0.0), 1 => (0u64..64).prop_map(f64::from_bits)]
    }

    proptest! {
        #[test]
        fn sums_are_exact_and_rounded_once(values in prop::collection::vec(number(), 0..3000)) {
            let expect = by_expansion(&values);
            prop_assert_eq!(total(&values).sum().to_bits(), expect.to_bits());
            let largest = values.iter().copied().fold(0.0, f64::max);
            prop_assert_eq!(total(&values).largest().to_bits(), largest.to_bits());
        }

        #[test]
        fn sums_are_the_same_however_the_numbers_are_dealt_out(
            values in prop::collection::vec(number(), 1..300),
            cuts in prop::array::uniform3(0usize..300),
        ) {
            let mut parts = vec![Total::default(); 4];
            for (i, &value) in values.iter().enumerate().rev() {
                parts[cuts.iter().filter(|&&cut| cut <= i).count()].add([value].into_iter());
            }
            let mut merged = Total::default();
            for part in parts {
                merged.merge(&Total::from_words(part.words()));
            }
            prop_assert_eq!(merged.sum().to_bits(), total(&values).sum().to_bits());
        }
    }

    #[test]
    fn halves_go_to_the_even_one_and_what_is_below_them_counts() {
        let ulp = f64::EPSILON;
        let half_and_more = [3129.1953392986393, 1606.8320335138496, 5e-324];
        assert_eq!(total(&half_and_more).sum().to_bits(), by_expansion(&half_and_more).to_bits());
        assert_eq!(total(&[1.0, ulp / 2.0]).sum(), 1.0);
        assert_eq!(total(&[1.0 + ulp, ulp / 2.0]).sum(), 1.0 + 2.0 * ulp);
        assert_eq!(total(&[1.0, f64::from_bits(1), ulp / 2.0]).sum(), 1.0 + ulp);
        assert_eq!(total(&[0.1; 10]).sum(), 1.0);
    }

    #[test]
    fn sums_beyond_all_numbers_are_infinite_and_nan_goes_before() {
        assert_eq!(total(&[f64::MAX, f64::MAX]).sum(), f64::INFINITY);
        assert_eq!(total(&[f64::MAX, 1.0]).sum(), f64::MAX);
        assert_eq!(total(&[1.0, f64::INFINITY]).sum(), f64::INFINITY);
        assert!(total(&[f64::INFINITY, -f64::NAN, 1.0]).sum().is_nan());
        assert!(total(&[f64::INFINITY, -f64::NAN, 1.0]).largest().is_nan());
        assert_eq!(total(&[]).sum().to_bits(), 0);
    }

    #[test]
    fn digits_that_are_full_are_carried() {
        let mut twice = total(&[1.5]);
        let mut times = 1.5f64;
        for _ in 0..200 {
            let other = twice.clone();
            twice.merge(&other);
            times *= 2.0;
            assert_eq!(twice.sum(), times);
        }
    }
}
