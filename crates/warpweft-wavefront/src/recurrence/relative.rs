//! Cells as distances from a base, in 16 bits, and what may be computed with them.
//!
//! The types are the proof: a function that compiles over them gives, for cells that are all greater
//! by some number, a result greater by that number. Cells can be compared and subtracted from one
//! another, and differences added to them; a number on its own counts from `zero`, wherever the base
//! has that. Where a cell may hold a number that no cell is computed from, sums saturate: what is out of reach of 16 bits stays
//! at their end, below or above every cell. Elsewhere nothing is out of reach, and they are plain sums.

use std::cmp::Ordering;
use std::ops::{Add, Neg, Sub};

/// A cell less a base.
#[derive(Clone, Copy, Debug, Default)]
pub struct Relative {
    value: i16,
    zero: i16,
    saturates: bool,
}

/// By how much two cells differ.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Difference(i16);

/// Stands where a cell may: a cell, or a number counted from zero.
pub trait Term: Copy {
    /// Its distance from the base that `zero` is the distance of 0 from.
    fn at_base(self, zero: i16) -> i16;
}

impl Relative {
    /// The cell at distance `value` from a base, of which 0 is at distance `zero`. Whether sums saturate should be a constant: the
    /// plain ones are faster where they go by vectors.
    #[inline(always)]
    pub fn new(value: i16, zero: i16, saturates: bool) -> Self {
        Self { value, zero, saturates }
    }

    /// Its distance from the base.
    #[inline(always)]
    pub fn value(self) -> i16 {
        self.value
    }

    /// The greater of two.
    #[inline(always)]
    pub fn max(self, other: impl Term) -> Self {
        Self { value: self.value.max(other.at_base(self.zero)), ..self }
    }

    /// The lesser of two.
    #[inline(always)]
    pub fn min(self, other: impl Term) -> Self {
        Self { value: self.value.min(other.at_base(self.zero)), ..self }
    }
}

impl Difference {
    /// A parameter as a difference, the same as by `from`. The sum is the last step, and no conversion to 16 bits: such a one
    /// the compiler makes of each lane, after it has chosen one of two parameters for it in 32 bits.
    #[doc(hidden)]
    #[inline(always)]
    pub fn parameter(number: i32) -> Self {
        let half = |number: i32| number.clamp(-(1 << 14), 1 << 14) as i16;
        Self(half(number / 2).saturating_add(half(number - number / 2)))
    }

    /// The greater of two.
    #[inline(always)]
    pub fn max(self, other: impl Into<Self>) -> Self {
        Self(self.0.max(other.into().0))
    }

    /// The lesser of two.
    #[inline(always)]
    pub fn min(self, other: impl Into<Self>) -> Self {
        Self(self.0.min(other.into().0))
    }
}

impl From<i32> for Difference {
    #[inline(always)]
    fn from(number: i32) -> Self {
        Self(number.clamp(i16::MIN.into(), i16::MAX.into()) as i16)
    }
}

impl From<i8> for Difference {
    #[inline(always)]
    fn from(number: i8) -> Self {
        Self(number.into())
    }
}

impl Term for Relative {
    #[inline(always)]
    fn at_base(self, _: i16) -> i16 {
        self.value
    }
}

impl Term for Difference {
    #[inline(always)]
    fn at_base(self, zero: i16) -> i16 {
        zero.saturating_add(self.0)
    }
}

impl Term for i32 {
    #[inline(always)]
    fn at_base(self, zero: i16) -> i16 {
        Difference::from(self).at_base(zero)
    }
}

impl Neg for Difference {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl Sub for Relative {
    type Output = Difference;
    #[inline(always)]
    fn sub(self, other: Self) -> Difference {
        Difference(self.value.saturating_sub(other.value))
    }
}

/// Sums with a difference, given as one or as a number.
macro_rules! sums {
    ($($number:ty)*) => {$(
        impl Add<$number> for Relative {
            type Output = Self;
            #[inline(always)]
            fn add(self, more: $number) -> Self {
                let more = Difference::from(more).0;
                let value = match self.saturates {
                    true => self.value.saturating_add(more),
                    false => self.value.wrapping_add(more),
                };
                Self { value, ..self }
            }
        }
        impl Sub<$number> for Relative {
            type Output = Self;
            #[inline(always)]
            fn sub(self, less: $number) -> Self {
                let less = Difference::from(less).0;
                let value = match self.saturates {
                    true => self.value.saturating_sub(less),
                    false => self.value.wrapping_sub(less),
                };
                Self { value, ..self }
            }
        }
        impl Add<Relative> for $number {
            type Output = Relative;
            #[inline(always)]
            fn add(self, cell: Relative) -> Relative {
                cell + self
            }
        }
        impl Add<$number> for Difference {
            type Output = Self;
            #[inline(always)]
            fn add(self, more: $number) -> Self {
                Self(self.0.saturating_add(Self::from(more).0))
            }
        }
        impl Sub<$number> for Difference {
            type Output = Self;
            #[inline(always)]
            fn sub(self, less: $number) -> Self {
                Self(self.0.saturating_sub(Self::from(less).0))
            }
        }
    )*};
}
sums!(i32 Difference);

impl<T: Term> PartialEq<T> for Relative {
    #[inline(always)]
    fn eq(&self, other: &T) -> bool {
        self.value == other.at_base(self.zero)
    }
}

impl<T: Term> PartialOrd<T> for Relative {
    #[inline(always)]
    fn partial_cmp(&self, other: &T) -> Option<Ordering> {
        Some(self.value.cmp(&other.at_base(self.zero)))
    }
}

impl PartialEq<i32> for Difference {
    #[inline(always)]
    fn eq(&self, other: &i32) -> bool {
        *self == Self::from(*other)
    }
}

impl PartialOrd<i32> for Difference {
    #[inline(always)]
    fn partial_cmp(&self, other: &i32) -> Option<Ordering> {
        self.partial_cmp(&Self::from(*other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function that the types allow, over cells as they are and over distances from a base.
    macro_rules! function {
        ($h:expr, $gap:expr) => {{
            let [a, b] = $h;
            let nearer = if a - b > 3 { a } else { b + 1 };
            let floor = if nearer < 7 { 5 } else { 0 };
            (nearer + $gap).max(a - 2).min(b + 9).max(floor)
        }};
    }

    #[test]
    fn results_are_those_of_whole_numbers_whatever_the_base() {
        for base in [-31_000, -500, 0, 3, 800, 31_000] {
            for a in -20..20 {
                for b in -20..20 {
                    let whole: i32 = function!([a, b], -4);
                    for saturates in [false, true] {
                        let near =
                            |x: i32| Relative::new((x - base) as i16, -base as i16, saturates);
                        let found = function!([near(a), near(b)], Difference::from(-4));
                        assert_eq!(i32::from(found.value()) + base, whole, "{a}, {b}, base {base}");
                    }
                }
            }
        }
    }

    #[test]
    fn parameters_are_differences_like_others() {
        let near = (-70_000..70_000).chain((0..32).flat_map(|bit| [1 << bit, -(1 << bit)]));
        for number in near.chain([i32::MIN, i32::MAX]) {
            assert_eq!(Difference::parameter(number), Difference::from(number), "{number}");
        }
    }

    #[test]
    fn what_is_far_away_stays_beyond_every_cell() {
        let cell = Relative::new(-32_000, i16::MIN, true);
        assert_eq!((cell + -1_000_000).max(cell).value(), -32_000);
        assert_eq!(cell.max(0).value(), -32_000);
        assert_eq!(Relative::new(32_000, i16::MAX, true).min(0).value(), 32_000);
        assert_eq!(Relative::new(32_000, 0, true).min(1_000_000).value(), 32_000);
        assert_eq!((Difference::from(-1_000_000) - 5).max(-40_000), -40_000);
    }
}
