//! Two-byte numbers that are stored but not computed with: `f16` and `bf16`.
//!
//! An element widens what it reads to `f32`, computes in `f32`, and narrows once at the end, to nearest, ties
//! to even. Widening is exact. Both conversions are a few integer operations here, which vectorise; on a
//! device they are the same operations or one instruction. So CPU and GPU agree to the bit. The layouts are
//! IEEE 754 binary16 and the upper half of binary32. NaN payloads are unspecified.

use half::{bf16, f16};

use super::{DeviceType, Real, Scalar, ScalarKind, Unit};

/// A floating-point scalar as cells hold it, and the one to compute in: what an element function is
/// written over that may run on cells of two bytes.
///
/// ```
/// use warpweft::prelude::*;
/// #[stencil]
/// fn smooth<T: Stored<Number = N>, N: Real>(u: Near<T, 1>) -> T {
///     T::narrow(N::lit(0.5) * (u[[-1]].widen() + u[[1]].widen()))
/// }
/// let line = Volume::from_fn([3], |[x]| f16::from_f32(x as f32));
/// assert_eq!(smooth::<f16, f32>::cell(line.near([1])), f16::from_f32(1.0));
/// ```
pub trait Stored: Scalar {
    /// The type to compute in: `f32` for two-byte floats, else the type itself.
    type Number: Real;
    /// The value in [`Stored::Number`]; exact.
    fn widen(self) -> Self::Number;
    /// The nearest value of this type, ties to even.
    fn narrow(value: Self::Number) -> Self;
}

macro_rules! itself {
    ($($t:ty),*) => {$(
        impl Stored for $t {
            type Number = $t;
            #[inline(always)]
            fn widen(self) -> $t { self }
            #[inline(always)]
            fn narrow(value: $t) -> $t { value }
        }
    )*};
}
itself!(f32, f64);

impl Stored for f16 {
    type Number = f32;

    #[inline(always)]
    fn widen(self) -> f32 {
        let bits = u32::from(self.to_bits());
        let magnitude = (bits & 0x7fff) << 13;
        // Times 2^112, the difference of the exponent biases. This handles subnormal numbers too.
        let number = (f32::from_bits(magnitude) * f32::from_bits(0x7780_0000)).to_bits();
        let number = if magnitude < 0x0f80_0000 { number } else { magnitude | 0x7f80_0000 };
        f32::from_bits(number | (bits & 0x8000) << 16)
    }

    #[inline(always)]
    fn narrow(value: f32) -> Self {
        let bits = value.to_bits();
        let magnitude = bits & 0x7fff_ffff;
        // Half a unit in the last kept place, minus one, plus one if the kept part is odd.
        let normal = magnitude.wrapping_add(0xc800_0fff).wrapping_add(magnitude >> 13 & 1) >> 13;
        // Adding 1/2, whose last place is 2^-24, rounds numbers below 2^-14 correctly.
        let small = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
        let large = if magnitude > 0x7f80_0000 { 0x7e00 } else { 0x7c00 };
        let number = if magnitude < 0x3880_0000 { small } else { normal };
        let number = if magnitude < 0x4780_0000 { number } else { large };
        Self::from_bits((number | (bits >> 16 & 0x8000)) as u16)
    }
}

impl Stored for bf16 {
    type Number = f32;

    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }

    #[inline(always)]
    fn narrow(value: f32) -> Self {
        let bits = value.to_bits();
        let rounded = bits.wrapping_add(0x7fff).wrapping_add(bits >> 16 & 1) >> 16;
        let nan = bits >> 16 | 0x40;
        Self::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { nan } else { rounded } as u16)
    }
}

/// `value` with fewer digits, such that rounding it again gives the same as rounding once: if digits are
/// lost, the last digit is odd (S. Boldo and G. Melquiond, "Emulation of a FMA and correctly rounded sums:
/// proved algorithms using rounding to odd", IEEE Trans. Comput. 57(4), 2008).
fn to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let there = f64::from(nearest);
    if there == value || value.is_nan() {
        return nearest;
    }
    let bits = nearest.to_bits();
    f32::from_bits(if there.abs() > value.abs() { bits - 1 } else { bits } | 1)
}

macro_rules! scalars {
    ($($t:ident => $kind:ident),*) => {$(
        // SAFETY: KIND names the same layout; kernels write only values of that C++ type.
        unsafe impl Scalar for $t {
            const KIND: ScalarKind = ScalarKind::$kind;
            fn from_f64(value: f64) -> Self {
                Self::narrow(to_odd(value))
            }
            fn to_f64(self) -> f64 {
                f64::from(self.widen())
            }
            fn to_i128(self) -> i128 {
                self.widen() as i128
            }
        }

        impl DeviceType for $t {
            fn cuda(_: &mut Unit) -> String {
                concat!("ww::", stringify!($t)).into()
            }
            fn cuda_value(&self, _: &mut Unit) -> String {
                format!(concat!("ww::", stringify!($t), "{{{:#06x}}}"), self.to_bits())
            }
        }
    )*};
}
scalars!(f16 => F16, bf16 => Bf16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_numbers_of_two_bytes_widen_as_the_crate_half_says_and_narrow_back() {
        for bits in 0..=u16::MAX {
            let (a, b) = (f16::from_bits(bits), bf16::from_bits(bits));
            assert!(a.widen().to_bits() == a.to_f32().to_bits() || a.is_nan(), "{bits:#x}");
            assert!(b.widen().to_bits() == b.to_f32().to_bits() || b.is_nan(), "{bits:#x}");
            assert!(f16::narrow(a.widen()).to_bits() == bits || a.is_nan());
            assert!(bf16::narrow(b.widen()).to_bits() == bits || b.is_nan());
            assert_eq!((a.widen().is_nan(), b.widen().is_nan()), (a.is_nan(), b.is_nan()));
        }
    }

    #[test]
    fn narrowing_rounds_to_nearest_even_at_every_tie_and_beside_it() {
        let check = |value: f32| {
            let (a, b) = (f16::narrow(value), bf16::narrow(value));
            if value.is_nan() {
                return assert!(a.is_nan() && b.is_nan());
            }
            assert_eq!(a.to_bits(), f16::from_f32(value).to_bits(), "f16 {value:e}");
            assert_eq!(b.to_bits(), bf16::from_f32(value).to_bits(), "bf16 {value:e}");
        };
        // Every number in the range of f16, with the 13 dropped bits at, below and above a tie.
        for high in 0..1 << 19 {
            for low in [0u32, 1, 0xfff, 0x1000, 0x1001, 0x1fff] {
                check(f32::from_bits(high << 13 | low));
            }
        }
        (0..1 << 20).for_each(|n: u32| check(f32::from_bits(n.wrapping_mul(0x9e37_79b1))));
    }

    #[test]
    fn numbers_of_eight_bytes_are_rounded_once() {
        // Just above a tie of f16, by less than f32 resolves.
        let tie = 1.0 + 2f64.powi(-11);
        assert_eq!(<f16 as Scalar>::from_f64(tie).to_bits(), 0x3c00);
        assert_eq!(<f16 as Scalar>::from_f64(tie + 2f64.powi(-40)).to_bits(), 0x3c01);
        assert_eq!(
            <bf16 as Scalar>::from_f64(1.0 + 2f64.powi(-8) + 2f64.powi(-50)).to_bits(),
            0x3f81
        );
        for value in [0.0, -0.0, 1e-9, -6e-8, 65519.9, 65520.0, 1e300, -1e-300, f64::INFINITY] {
            let expect = f16::from_f64_const(value).to_bits();
            assert_eq!(<f16 as Scalar>::from_f64(value).to_bits(), expect, "{value:e}");
        }
        assert!(<f16 as Scalar>::from_f64(f64::NAN).is_nan());
    }
}
