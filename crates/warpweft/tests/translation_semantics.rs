//! Every pinned semantic of the subset, as Rust and as C++: the answers must be the same bits, and
//! where Rust panics the translation must report a fault.
//!
//! Function by function, so that a difference names the rule that is broken; random functions are
//! in `translation_random.rs`.
#![allow(clippy::all, arithmetic_overflow, unconditional_panic)]

mod translation_support;

use translation_support::random::Random;
use translation_support::{Cases, Cell, Flat, Hue, Point, host};
use warpweft::prelude::*;

/// Inputs at the edges, the same on every run.
fn inputs<A: Flat>() -> Vec<A> {
    let mut random = Random(1);
    (0..400).map(|_| A::sample(&mut random)).collect()
}

/// Compares all, or prints why it can't.
fn check(name: &str, fill: impl FnOnce(&mut Cases)) {
    std::panic::set_hook(Box::new(|_| {}));
    let mut cases = Cases::default();
    fill(&mut cases);
    let _ = std::panic::take_hook();
    let (source, data) = host::write(&cases, &host::scratch(name));
    match host::compiler() {
        Err(reason) => println!("skipped: {reason}"),
        Ok(compiler) => {
            let (same, text) = host::run(&compiler, &source, &data);
            assert!(same, "{text}");
            println!("{text}");
        }
    }
}

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
    check("casts", |cases| {
        casts!(cases, i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64);
        case!(cases, from_bool, (a, hue), &inputs());
        case!(cases, literals, (a), &inputs());
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

const TABLE: [[i32; 3]; 2] = [[1, -2, 3], [i32::MIN, 5, 6]];
const SCALE: f32 = 0.3;
mod nested {
    pub const HUES: [super::Hue; 2] = [super::Hue::Blue, super::Hue::Red];
    pub const ORIGIN: super::Point =
        super::Point { tag: 7, x: -0.0, weights: [f32::NAN, 1.0e-40, 0.1], double: -5 };
}

#[test]
fn control_flow() {
    #[device]
    fn branches(a: i32, b: i32) -> i32 {
        let mut x = if a < b { a } else { b };
        if a == 0 {
            return -7;
        } else if b > 5 {
            x += 1;
        } else {
            x = {
                let x = x + 2;
                x * 2
            } + x;
        }
        let y = if a > 3 {
            if b > 3 { 1 } else { 2 }
        } else if b < 0 {
            x = 9;
            3
        } else {
            return x;
        };
        x * 10 + y
    }
    #[device]
    fn loops(n: u32) -> (u32, u32, u32, u32) {
        let n = n % 50;
        let mut a = 0;
        while a * a < n {
            a += 1;
        }
        let mut b = 0;
        let c = loop {
            b += 3;
            if b % 2 == 0 {
                continue;
            }
            if b > n {
                break b * 2;
            }
        };
        let mut d = 0;
        'outer: for i in 0..n {
            for j in (0..=i).rev() {
                if (i + j) % 7 == 6 {
                    continue 'outer;
                }
                let step = j + 1;
                d += step;
                if d > 300 {
                    break 'outer;
                }
            }
            d += 2;
        }
        let mut e = 0;
        for i in (0..n).step_by(4) {
            if i == 8 {
                continue;
            }
            e ^= i;
        }
        for i in (0..n).rev().step_by(3) {
            e = e * 2 + i;
        }
        (a, c, d, e)
    }
    #[device]
    fn steps(low: u8, high: u8, by: usize) -> u32 {
        let mut sum = 0u32;
        for i in (low..high).step_by(by) {
            sum = sum * 31 + i as u32;
        }
        for i in (low..=high).rev().step_by(by / 4 + 1) {
            sum = sum * 31 + i as u32;
        }
        for _ in low..=high {
            sum += 1;
        }
        sum
    }
    #[device]
    fn matches(a: i32, b: u8, hue: Hue, flag: bool) -> i64 {
        let first = match a {
            i32::MIN => 1,
            -5..=-1 => 2,
            0 | 1 | 2 => 3,
            n if n % 2 == 0 => n as i64,
            n @ 3..100 => n as i64 * 2,
            _ => 4,
        };
        let second = match (b, flag) {
            (0, _) => 10,
            (1..=9, true) => 20,
            (n, true) if n > 200 => 30,
            (n, false) => 40 + n as i64,
            _ => 50,
        };
        let third = match hue {
            Hue::Red => 100,
            Hue::Green if flag => 200,
            Hue::Green | Hue::Blue => 300,
        };
        let mut fourth = 0;
        match flag {
            true => fourth += 1,
            false => {
                fourth = 5;
                fourth *= 2
            }
        }
        if let 7..=20 = b {
            fourth += 1000;
        }
        if matches!(a, 1..=9 if b > 3) || matches!(hue, Hue::Blue | Hue::Red) {
            fourth += 2000;
        }
        first + second + third + fourth
    }
    #[device]
    fn lazily(a: i32, b: i32) -> (bool, bool, i32) {
        let mut calls = 0;
        let x = a > 0 && {
            calls += 1;
            10 / b > 1
        };
        let y = a > 0 || {
            calls += 10;
            b == 0 || 10 / b > 1
        };
        (x, y, calls)
    }
    #[device]
    fn in_order(a: i32) -> i32 {
        let mut x = a;
        let y = x + {
            x += 5;
            x
        } * {
            x *= 2;
            x
        } - x;
        let z = [
            x,
            {
                x = 1;
                x
            },
            x,
        ];
        y + z[0] * 3 + z[1] * 5 + z[2] + x
    }
    #[device]
    fn unreachable_end(n: i32) -> i32 {
        let mut i = 0;
        loop {
            i += 1;
            if i * i >= n % 1000 {
                return i;
            }
        }
    }
    check("control", |cases| {
        case!(cases, branches, (a, b), &inputs());
        case!(cases, loops, (n), &inputs());
        case!(cases, steps, (a, b, c), &inputs());
        case!(cases, matches, (a, b, c, d), &inputs());
        case!(cases, lazily, (a, b), &inputs());
        case!(cases, in_order, (a), &inputs());
        case!(cases, unreachable_end, (n), &inputs());
    });
}

#[test]
fn values_places_and_constants() {
    #[device]
    fn arrays(i: usize, a: i32) -> ([i32; 4], i32, usize) {
        let mut items = [a, 2, 3, 4];
        items[i % 4] += 10;
        items[1] = items[i % 3] * 2;
        let mut grid = [[0; 3]; 2];
        grid[i % 2][1] = a;
        grid[0][2] = -1;
        (items, grid[i % 2][i % 3] + TABLE[i % 2][i % 3], grid.len() + items.len())
    }
    #[device]
    fn outside(i: usize, a: [u8; 5]) -> u8 {
        a[i]
    }
    #[device]
    fn tuples(a: (i8, f32), b: u64) -> ((f32, i8), (u64,)) {
        let (x, mut y) = a;
        y *= 2.0;
        let mut t = (y, x);
        t.1 += 1;
        let (p, (q, _)) = (t.0, (b, 1));
        ((p, t.1), (q + 1,))
    }
    #[device]
    fn structs(p: Point, n: i16) -> Point {
        let Point { tag, x, .. } = p;
        let mut q = Point { double: n, tag: tag + 1, ..p };
        q.x = x * 2.0;
        q.weights[1] -= SCALE;
        q
    }
    #[device]
    fn nested_structs(c: Cell, hue: Hue) -> Cell {
        let Cell(a, mut p, _) = c;
        p.weights = [p.weights[2]; 3];
        p.double += nested::ORIGIN.double;
        if nested::HUES[(a as usize) % 2] == hue {
            p.x = nested::ORIGIN.x;
        }
        Cell(a * 2, p, hue > Hue::Green)
    }
    #[device]
    fn shadowed(int: i32, register: f32) -> f32 {
        let int = int as f32;
        let int = int + register;
        const HALF: f32 = 0.5;
        {
            let int = 3.0;
            if register > int {
                return int * HALF;
            }
        }
        int * HALF
    }
    #[device]
    fn inferred(a: u8, b: i64) -> (u8, i64, f32) {
        let big = 5_000_000_000;
        let small = 0xff;
        let byte = b'a';
        let third = 1.0 / 3.0;
        (a ^ small ^ byte, b + big, third)
    }
    check("values", |cases| {
        case!(cases, arrays, (a, b), &inputs());
        case!(cases, outside, (a, b), &inputs());
        case!(cases, tuples, (a, b), &inputs());
        case!(cases, structs, (a, b), &inputs());
        case!(cases, nested_structs, (a, b), &inputs());
        case!(cases, shadowed, (a, b), &inputs());
        case!(cases, inferred, (a, b), &inputs());
    });
}

mod library {
    //! Stands for another crate.
    use warpweft::prelude::*;
    const FACTOR: i32 = 3;
    #[device]
    pub fn scaled<T: Real>(x: T, by: T) -> T {
        x * by + T::lit(0.1)
    }
    #[device]
    pub fn times(x: i32) -> i32 {
        x * FACTOR
    }
    #[device]
    pub fn longest<T: Scalar, const N: usize>(items: [T; N]) -> (T, usize) {
        let mut best = items[0];
        let mut at = 0;
        for i in 1..N {
            if items[i] > best {
                best = items[i];
                at = i;
            }
        }
        (best, at)
    }
}

#[test]
fn functions_call_functions() {
    use library::{longest, times};
    #[device]
    fn raise(x: &mut i32, by: &i32) -> i32 {
        *x += *by;
        *x * 2
    }
    #[device]
    fn set(items: &mut [i32; 3], i: usize) {
        items[i % 3] = 9;
        raise(&mut items[0], &5);
    }
    #[device]
    fn pass_on(x: &mut i32) {
        raise(x, &1);
    }
    #[device]
    fn calls(a: f32, b: f64, n: i32) -> (f32, f64, i32, usize) {
        let longest_one = longest([a, 2.0, -1.0]);
        (
            library::scaled(a, 2.0) + longest_one.0,
            library::scaled::<f64>(b, 0.7),
            times(n) + longest([n, 5]).0,
            longest_one.1,
        )
    }
    #[device]
    fn through_references(n: i32) -> (i32, [i32; 3]) {
        let mut x = n;
        let y = x + raise(&mut x, &n) * x;
        let mut items = [x; 3];
        set(&mut items, 1);
        pass_on(&mut x);
        pass_on(&mut items[2]);
        (y - x, items)
    }
    check("calls", |cases| {
        case!(cases, calls, (a, b, c), &inputs());
        case!(cases, through_references, (n), &inputs());
        case!(cases, longest::<u8, 6>, (items), &inputs());
    });
}

#[test]
fn a_fault_names_the_line_and_says_what_rust_would() {
    #[device]
    fn three(a: i32, b: i32, i: usize) -> i32 {
        let q = a / b;
        assert!(q != 3);
        q + TABLE[0][i]
    }
    let mut unit = warpweft::element::Unit::new();
    <three as warpweft::element::DeviceFn>::cuda(&mut unit);
    let sites: Vec<_> = (1..).map_while(|n| unit.site_of(n).cloned()).collect();
    let first = line!() - 9;
    let found: Vec<_> = sites.iter().map(|site| (site.line, site.what)).collect();
    assert_eq!(
        found,
        [
            (first + 2, "attempt to divide by zero"),
            (first + 2, "attempt to divide with overflow"),
            (first + 3, "assertion failed: q != 3"),
            (first + 4, "index out of bounds"),
        ]
    );
    assert!(sites.iter().all(|site| site.file.ends_with("translation_semantics.rs")));
    let faulting = [(1, 0, 0), (i32::MIN, -1, 0), (6, 2, 0), (1, 1, 3), (7, 2, 1)];
    // 6 / 2 and 7 / 2 are both 3.
    check("faults", |cases| case!(cases, three, (a, b, i), &faulting));
}
