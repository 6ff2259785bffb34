//! Every pinned semantic of the subset, as Rust and as C++: the answers must be the same bits, and
//! where Rust panics the translation must report a fault.
//!
//! Here the numbers, function by function, so that a difference names the rule that is broken; the
//! language around them is in `translation_language.rs`, random functions in `translation_random.rs`.
#![allow(clippy::all, arithmetic_overflow, unconditional_panic)]

use crate::translation_support::Hue;
use crate::translation_support::host::{check, inputs};
use warpweft::prelude::*;

macro_rules! integer_operators {
    ($cases:ident, $($t:ident)*) => {$({
        mod $t {
            use warpweft::prelude::*;
            #[device]
            pub fn wrapping(a: $t, b: $t) -> [$t; 4] {
                let mut c = a;
                c += b;
                c *= 3;
                [a + b, a - b, a * b, c]
            }
            #[device]
            pub fn bits(a: $t, b: $t) -> [$t; 4] {
                [a & b, a | b, a ^ b, !a]
            }
            #[device]
            pub fn shifts(a: $t, by: u32, wide: i64) -> [$t; 4] {
                let mut c = a;
                c <<= 1;
                c >>= by;
                [a << by, a >> by, c, a << wide]
            }
            #[device]
            pub fn quotient(a: $t, b: $t) -> $t {
                a / b
            }
            #[device]
            pub fn remainder(a: $t, b: $t) -> $t {
                a % b
            }
            #[device]
            pub fn by_constants(a: $t) -> ($t, $t) {
                (a / 7, a % 7)
            }
            #[device]
            pub fn euclid(a: $t, b: $t) -> ($t, $t) {
                (a.div_euclid(b), a.rem_euclid(b))
            }
            #[device]
            pub fn order(a: $t, b: $t) -> [bool; 6] {
                [a < b, a <= b, a > b, a >= b, a == b, a != b]
            }
            #[device]
            pub fn choose(a: $t, b: $t, c: $t) -> [$t; 3] {
                [a.min(b), a.max(b), a.clamp(b.min(c), c.max(b))]
            }
            #[device]
            pub fn clamped(a: $t, b: $t, c: $t) -> $t {
                a.clamp(b, c)
            }
            #[device]
            pub fn saturating(a: $t, b: $t) -> [$t; 3] {
                [a.saturating_add(b), a.saturating_sub(b), a.saturating_mul(b)]
            }
            #[device]
            pub fn wrapped(a: $t, b: $t, by: u32) -> [$t; 6] {
                [
                    a.wrapping_add(b),
                    a.wrapping_sub(b),
                    a.wrapping_mul(b),
                    a.wrapping_neg(),
                    a.wrapping_shl(by),
                    a.wrapping_shr(by),
                ]
            }
            #[device]
            pub fn wrapped_division(a: $t, b: $t) -> ($t, $t) {
                (a.wrapping_div(b), a.wrapping_rem(b))
            }
            #[device]
            pub fn counts(a: $t) -> [u32; 4] {
                [a.count_ones(), a.count_zeros(), a.leading_zeros(), a.trailing_zeros()]
            }
            #[device]
            pub fn turned(a: $t, by: u32) -> [$t; 4] {
                [a.rotate_left(by), a.rotate_right(by), a.swap_bytes(), a.reverse_bits()]
            }
            #[device]
            pub fn power(a: $t, n: u32) -> ($t, $t) {
                (a.pow(n % 70), a.wrapping_pow(n % 9))
            }
            #[device]
            pub fn edges(a: $t) -> [$t; 4] {
                [<$t>::MIN + a, <$t>::MAX - a, <$t>::default(), $t::BITS as $t]
            }
            #[device]
            pub fn sum(a: $t) -> $t {
                let mut total: $t = 0;
                for i in 0..=a % 20 {
                    total = total * 3 + i;
                }
                for i in (a / 2..a / 2 + 5).rev() {
                    total = total * 5 - i;
                }
                for i in (<$t>::MAX - 3..=<$t>::MAX).rev() {
                    total ^= i;
                }
                for i in (<$t>::MIN..<$t>::MIN + 7).step_by(3) {
                    total += i;
                }
                total
            }
        }
        use $t::*;
        case!($cases, wrapping, (a, b), &inputs());
        case!($cases, bits, (a, b), &inputs());
        case!($cases, shifts, (a, b, c), &inputs());
        case!($cases, quotient, (a, b), &inputs());
        case!($cases, remainder, (a, b), &inputs());
        case!($cases, by_constants, (a), &inputs());
        case!($cases, euclid, (a, b), &inputs());
        case!($cases, order, (a, b), &inputs());
        case!($cases, choose, (a, b, c), &inputs());
        case!($cases, clamped, (a, b, c), &inputs());
        case!($cases, saturating, (a, b), &inputs());
        case!($cases, wrapped, (a, b, c), &inputs());
        case!($cases, wrapped_division, (a, b), &inputs());
        case!($cases, counts, (a), &inputs());
        case!($cases, turned, (a, b), &inputs());
        case!($cases, power, (a, b), &inputs());
        case!($cases, edges, (a), &inputs());
        case!($cases, sum, (a), &inputs());
    })*};
}

#[test]
fn integers_wrap_shift_divide_and_count_as_in_rust() {
    check("integers", |cases| {
        integer_operators!(cases, i8 i16 i32 i64 isize u8 u16 u32 u64 usize);
    });
}

macro_rules! signed_methods {
    ($cases:ident, $($t:ident)*) => {$({
        mod $t {
            use warpweft::prelude::*;
            #[device]
            pub fn signs(a: $t, b: $t) -> ([$t; 4], [bool; 2]) {
                ([-a, a.abs(), a.signum(), b.wrapping_abs()], [a.is_positive(), a.is_negative()])
            }
        }
        case!($cases, signs, (a, b), &inputs());
        use $t::signs;
    })*};
}

#[test]
fn signs_of_integers() {
    #[device]
    fn differences(a: i8, b: i8, c: u64, d: u64) -> (u8, u64, u8, bool) {
        (a.abs_diff(b), c.abs_diff(d), a.unsigned_abs(), c.is_power_of_two())
    }
    check("signs", |cases| {
        signed_methods!(cases, i8 i16 i32 i64 isize);
        case!(cases, differences, (a, b, c, d), &inputs());
    });
}

macro_rules! casts {
    ($cases:ident, $($t:ident)*) => {$({
        mod $t {
            use warpweft::prelude::*;
            #[device]
            pub fn to_signed(a: $t) -> (i8, i16, i32, i64) {
                (a as i8, a as i16, a as i32, a as i64)
            }
            #[device]
            pub fn to_unsigned(a: $t) -> (u8, u16, u32, u64) {
                (a as u8, a as u16, a as u32, a as u64)
            }
            #[device]
            pub fn to_floats(a: $t) -> (f32, f64, isize, usize) {
                (a as f32, a as f64, a as isize, a as _)
            }
        }
        use $t::*;
        case!($cases, to_signed, (a), &inputs());
        case!($cases, to_unsigned, (a), &inputs());
        case!($cases, to_floats, (a), &inputs());
    })*};
}

#[test]
fn as_saturates_truncates_and_rounds_as_in_rust() {
    #[device]
    fn from_bool(a: bool, hue: Hue) -> (u8, i64, i32, u8) {
        (a as u8, a as i64, hue as i32, hue as u8)
    }
    #[device]
    fn literals(a: u8) -> (f32, u8, i64, u64) {
        (0.1 as f32 + a as f32, 300i32 as u8, -1 as i64, 3_000_000_000 as u64 + u64::from(a))
    }
    #[device]
    fn of_the_library(a: f32, b: f64, n: i32) -> ([f64; 2], [f32; 3], (i32, u8)) {
        let real = [a.widen(), f32::from_f64(b), f32::lit(b)];
        ([a.to_f64(), n.to_f64()], real, (i32::from_f64(b), u8::from_f64(b)))
    }
    check("casts", |cases| {
        casts!(cases, i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64);
        case!(cases, from_bool, (a, hue), &inputs());
        case!(cases, literals, (a), &inputs());
        case!(cases, of_the_library, (a, b, n), &inputs());
    });
}

macro_rules! float_functions {
    ($cases:ident, $($t:ident $int:ident)*) => {$({
        mod $t {
            use warpweft::prelude::*;
            #[device]
            pub fn arithmetic(a: $t, b: $t) -> [$t; 6] {
                let mut c = a;
                c -= b;
                c /= 3.0;
                [a + b, a - b, a * b, a / b, -a, c]
            }
            #[device]
            pub fn remainder(a: $t, b: $t) -> [$t; 3] {
                [a % b, a.rem_euclid(b), a.div_euclid(b)]
            }
            #[device]
            pub fn order(a: $t, b: $t) -> [bool; 6] {
                [a < b, a <= b, a > b, a >= b, a == b, a != b]
            }
            // Which zero `min(-0.0, 0.0)` is, Rust leaves open; adding 0.0 makes both alike.
            #[device]
            pub fn choose(a: $t, b: $t) -> [$t; 2] {
                [a.min(b) + 0.0, a.max(b) + 0.0]
            }
            #[device]
            pub fn clamped(a: $t, b: $t, c: $t) -> $t {
                a.clamp(b, c)
            }
            #[device]
            pub fn rounded(a: $t) -> [$t; 6] {
                [a.floor(), a.ceil(), a.round(), a.trunc(), a.fract(), a.round_ties_even()]
            }
            #[device]
            pub fn exact(a: $t, b: $t, c: $t) -> [$t; 6] {
                [a.abs(), a.sqrt(), a.mul_add(b, c), a.recip(), a.to_degrees(), a.to_radians()]
            }
            #[device]
            pub fn powers(a: $t, n: i32) -> [$t; 4] {
                [a.powi(n), a.powi(2), a.powi(-1), a.powi(n % 10)]
            }
            #[device]
            pub fn signs(a: $t, b: $t) -> [$t; 2] {
                [if b != b { 1.0 } else { a.copysign(b) }, a.signum()]
            }
            #[device]
            pub fn classes(a: $t) -> [bool; 5] {
                [
                    a.is_nan(),
                    a.is_finite(),
                    a.is_infinite(),
                    a == a && a.is_sign_negative(),
                    a == a && a.is_sign_positive(),
                ]
            }
            #[device]
            pub fn bits(a: $t, n: $int) -> ($int, $t) {
                (if a.is_nan() { 0 } else { a.to_bits() }, $t::from_bits(n))
            }
            #[device]
            pub fn constants(a: $t) -> [$t; 6] {
                [
                    a + 0.1,
                    $t::MAX - a,
                    a * $t::EPSILON,
                    a + std::$t::consts::PI,
                    $t::INFINITY * a,
                    $t::NAN,
                ]
            }
            #[device]
            pub fn associated(a: $t, b: $t) -> [$t; 3] {
                [$t::abs(a), $t::max(a, b) + 0.0, $t::from(3u8) + $t::mul_add(a, b, 0.5)]
            }
        }
        use $t::*;
        case!($cases, arithmetic, (a, b), &inputs());
        case!($cases, remainder, (a, b), &inputs());
        case!($cases, order, (a, b), &inputs());
        case!($cases, choose, (a, b), &inputs());
        case!($cases, clamped, (a, b, c), &inputs());
        case!($cases, rounded, (a), &inputs());
        case!($cases, exact, (a, b, c), &inputs());
        case!($cases, powers, (a, b), &inputs());
        case!($cases, signs, (a, b), &inputs());
        case!($cases, classes, (a), &inputs());
        case!($cases, bits, (a, b), &inputs());
        case!($cases, constants, (a), &inputs());
        case!($cases, associated, (a, b), &inputs());
    })*};
}

#[test]
fn floats_are_ieee_with_rusts_rules_for_nan() {
    check("floats", |cases| {
        float_functions!(cases, f32 u32 f64 u64);
    });
}

/// Sixteen good digits of a double, six of a float: the library functions of two worlds.
#[test]
fn transcendental_functions_mean_the_same() {
    #[device]
    fn double(x: f64, y: f64) -> i64 {
        let a = [x.exp(), x.exp2(), x.exp_m1(), y.ln(), y.ln_1p(), y.log2(), y.log10(), x.sin()];
        let b = [x.cos(), x.tan(), x.asin(), x.acos(), x.atan(), x.atan2(y), x.sinh(), x.cosh()];
        let c = [x.tanh(), y.powf(x), x.cbrt(), x.hypot(y)];
        let mut sum = 0.0;
        for i in 0..8 {
            sum += a[i] + b[i];
            if i < 4 {
                sum += c[i] * (i as f64 + 2.0);
            }
        }
        (sum * 1.0e10).round() as i64
    }
    #[device]
    fn single(x: f32, y: f32) -> i64 {
        let sum = x.exp() + x.sin() + x.cos() + x.tanh() + y.ln() + y.powf(x) + x.hypot(y);
        (sum * 1.0e3).round() as i64
    }
    let grid: Vec<f64> = (1..20).map(|i| f64::from(i) / 21.0).collect();
    let pairs: Vec<_> = grid.iter().flat_map(|&x| grid.iter().map(move |&y| (x, y))).collect();
    let singles: Vec<_> = pairs.iter().map(|&(x, y)| (x as f32, y as f32)).collect();
    check("transcendental", |cases| {
        case!(cases, double, (x, y), &pairs);
        case!(cases, single, (x, y), &singles);
    });
}
