//! Control flow, places, constants and calls, as Rust and as C++; see
//! `translation_semantics.rs`.
#![allow(clippy::all, arithmetic_overflow, unconditional_panic)]

use crate::translation_support::host::{check, inputs};
use crate::translation_support::{Cell, Hue, Point};
use warpweft::prelude::*;

const TABLE: [[i32; 3]; 2] = [[1, -2, 3], [i32::MIN, 5, 6]];
const SCALE: f32 = 0.3;
mod nested {
    pub const HUES: [super::Hue; 2] = [super::Hue::Blue, super::Hue::Red];
    pub const ORIGIN: super::Point =
        super::Point { tag: 7, x: -0.0, weights: [f32::NAN, 1.0e-40, 0.1], double: -5 };
}

#[test]
fn control_flow() {
    use self::control::*;
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

mod control {
    use super::*;

    #[device]
    pub fn branches(a: i32, b: i32) -> i32 {
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
    pub fn loops(n: u32) -> (u32, u32, u32, u32) {
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
    pub fn steps(low: u8, high: u8, by: usize) -> u32 {
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
    pub fn matches(a: i32, b: u8, hue: Hue, flag: bool) -> i64 {
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
    pub fn lazily(a: i32, b: i32) -> (bool, bool, i32) {
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
    pub fn in_order(a: i32) -> i32 {
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
    pub fn unreachable_end(n: i32) -> i32 {
        let mut i = 0;
        loop {
            i += 1;
            if i * i >= n % 1000 {
                return i;
            }
        }
    }
}

#[test]
fn values_places_and_constants() {
    use self::values::*;
    check("values", |cases| {
        case!(cases, arrays, (a, b), &inputs());
        case!(cases, indices_with_effects, (a, b), &inputs());
        case!(cases, outside, (a, b), &inputs());
        case!(cases, tuples, (a, b), &inputs());
        case!(cases, structs, (a, b), &inputs());
        case!(cases, nested_structs, (a, b), &inputs());
        case!(cases, shadowed, (a, b), &inputs());
        case!(cases, inferred, (a, b), &inputs());
    });
}

mod values {
    use super::*;

    #[device]
    pub fn arrays(i: usize, a: i32) -> ([i32; 4], i32, usize) {
        let mut items = [a, 2, 3, 4];
        items[i % 4] += 10;
        items[1] = items[i % 3] * 2;
        let mut grid = [[0; 3]; 2];
        grid[i % 2][1] = a;
        grid[0][2] = -1;
        (items, grid[i % 2][i % 3] + TABLE[i % 2][i % 3], grid.len() + items.len())
    }
    #[device]
    pub fn indices_with_effects(mut grid: [[i32; 3]; 2], k: usize) -> ([[i32; 3]; 2], usize) {
        let mut n = k;
        grid[n % 2][{
            n += 1;
            n % 3
        }] ^= 5;
        grid[{
            n += k;
            n % 2
        }][{
            n += 1;
            n % 3
        }] = 7;
        let x = grid[n % 3][{
            n += 2;
            1
        }];
        grid[1][0] ^= x;
        (grid, n)
    }
    #[device]
    pub fn outside(i: usize, a: [u8; 5]) -> u8 {
        a[i]
    }
    #[device]
    pub fn tuples(a: (i8, f32), b: u64) -> ((f32, i8), (u64,)) {
        let (x, mut y) = a;
        y *= 2.0;
        let mut t = (y, x);
        t.1 += 1;
        let (p, (q, _)) = (t.0, (b, 1));
        ((p, t.1), (q + 1,))
    }
    #[device]
    pub fn structs(p: Point, n: i16) -> Point {
        let Point { tag, x, .. } = p;
        let mut q = Point { double: n, tag: tag + 1, ..p };
        q.x = x * 2.0;
        q.weights[1] -= SCALE;
        q
    }
    #[device]
    pub fn nested_structs(c: Cell, hue: Hue) -> Cell {
        let Cell(a, mut p, _) = c;
        p.weights = [p.weights[2]; 3];
        p.double += nested::ORIGIN.double;
        if nested::HUES[(a as usize) % 2] == hue {
            p.x = nested::ORIGIN.x;
        }
        Cell(a * 2, p, hue > Hue::Green)
    }
    #[device]
    pub fn shadowed(int: i32, register: f32) -> f32 {
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
    pub fn inferred(a: u8, b: i64) -> (u8, i64, f32) {
        let big = 5_000_000_000;
        let small = 0xff;
        let byte = b'a';
        let third = 1.0 / 3.0;
        (a ^ small ^ byte, b + big, third)
    }
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
