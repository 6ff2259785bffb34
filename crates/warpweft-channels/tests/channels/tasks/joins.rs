//! Functions whose calls wait for the values of their calls.

// Programs as users write them, whether the lint likes them or not.
#![allow(clippy::let_and_return, clippy::manual_is_multiple_of)]

use warpweft::prelude::*;
use warpweft_conformance::channels::{chain, hasty, mixed, odd, tree, wide};

use super::{call, played};

/// The largest of a tree and where it is, by pairs: not one sum.
#[spawning]
fn largest(n: u32, seed: u64) -> [u32; 2] {
    let here = mixed(seed) as u32;
    if n == 0 {
        return [here, seed as u32];
    }
    let left = spawn!(largest(n - 1, mixed(seed ^ 1)));
    let right = spawn!(largest(n / 2, mixed(seed ^ 2)));
    sync!();
    let below = if left[0] < right[0] { right } else { left };
    if below[0] < here { [here, seed as u32] } else { below }
}

/// Solutions of a board, of a form that is no sum.
#[spawning]
fn boards(all: u32, columns: u32, left: u32, right: u32) -> u64 {
    if columns == all {
        return 1;
    }
    let mut free = all & !(columns | left | right);
    let mut found = 0;
    while free != 0 {
        let square = free & free.wrapping_neg();
        free ^= square;
        found += spawn!(boards(all, columns | square, (left | square) << 1, (right | square) >> 1));
    }
    sync!();
    found.rotate_left(0)
}

/// A path each call of which has another call to spawn when it is back, of a form that is no sum.
#[spawning]
fn deep(n: u32) -> u64 {
    if n == 0 {
        return 1;
    }
    let long = spawn!(deep(n - 1));
    let short = spawn!(deep(0));
    sync!();
    (long + short).rotate_left(0)
}

/// As `fib`, of a form that is no sum.
#[spawning]
fn joined(n: u32) -> u64 {
    if n < 2 {
        return n as u64;
    }
    let a = spawn!(joined(n - 1));
    let b = spawn!(joined(n - 2));
    sync!();
    (a + b).rotate_left(0)
}

/// Two variables of one name, tuples taken apart, constants, loops within loops that spawn.
#[spawning]
fn names(mut n: u32, twice: bool) -> u32 {
    const STEP: u32 = 3;
    let n1 = n + STEP;
    let (x, y) = (n1 * 2, n1 ^ 5);
    let x = x + 1;
    if n == 0 {
        return x;
    }
    n -= 1;
    let mut sum = 0u32;
    let mut bits = 0u64;
    'rows: for i in 0..n {
        let mut j = i;
        while j < n {
            if (i ^ j) & 3 == 3 {
                continue 'rows;
            }
            if j == 5 {
                break;
            }
            sum += spawn!(names(j / 2, !twice));
            bits ^= spawn!(tree((i * j) as u64, 2));
            j += 1;
        }
    }
    sync!();
    let x = x + sum;
    let y = y ^ bits as u32;
    if twice {
        sum = spawn!(names(n / 2, false));
    }
    sync!();
    x ^ y.rotate_left(3) ^ sum ^ STEP
}

/// A value for each of a struct's members, through a generic function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Device)]
#[repr(C)]
struct Pair {
    left: i64,
    right: u16,
    more: u16,
    last: u32,
}

#[spawning]
fn same<T: Scalar>(x: T) -> T {
    x
}

#[spawning]
fn pair(p: Pair, depth: u32) -> Pair {
    if depth == 0 {
        return Pair { left: -p.left, ..p };
    }
    let less = spawn!(pair(Pair { left: p.left + 1, ..p }, depth - 1));
    let left = spawn!(same::<i64>(p.left * 2));
    let right = spawn!(same::<u16>(p.right / 2));
    sync!();
    Pair { left: left + less.left, right: right + less.right, ..p }
}

/// Statements before the value, with and without calls before them, and in a function that may return while calls run.
#[spawning]
fn lets(n: u32, early: bool) -> u32 {
    let x = n * 3;
    let y = x ^ 5;
    if n < 2 {
        return y;
    }
    let a = spawn!(lets(n - 1, !early));
    if early && n % 3 == 0 {
        return x;
    }
    let b = spawn!(plainly(n - 2));
    sync!();
    let (sum, product) = (a + b, a * b);
    let mixed = sum ^ product.rotate_left(x);
    if early { mixed + y } else { mixed }
}

#[spawning]
fn plainly(n: u32) -> u32 {
    let x = n + 1;
    x
}

/// More arguments than most functions have.
#[spawning]
fn many(table: [u64; 40], n: u32) -> u64 {
    if n == 0 {
        let mut sum = 0;
        for i in 0..40 {
            sum += table[i] * (i as u64 + 1);
        }
        return sum;
    }
    let mut other = table;
    other[n as usize] = u64::from(n);
    let a = spawn!(many(table, n - 1));
    let b = spawn!(many(other, n - 1));
    sync!();
    let twice = 2 * a;
    twice ^ b
}

#[test]
fn two_calls_a_call() {
    let calls: Vec<_> = [12u32, 3, 0, 9].map(|n| call!(joined(n))).into();
    let Some([ran, given, _]) = played(&calls, None, false, 3) else { return };
    assert_eq!(ran, 12 * (465 + 5 + 1 + 109));
    assert!(given > 24, "only {given} calls were given away");
    let Some([ran, ..]) = played(&calls[..1], None, true, 3) else { return };
    assert_eq!(ran, 12 * 465);
    let calls: Vec<_> = (0..5u64).map(|seed| call!(largest(9u32, seed))).collect();
    played(&calls, None, false, 3);
}

#[test]
fn as_many_calls_as_loops_make() {
    let calls = [call!(boards((1u32 << 7) - 1, 0u32, 0u32, 0u32))];
    let Some([_, given, _]) = played(&calls, None, true, 3) else { return };
    assert!(given > 0);
    let calls: Vec<_> = (0..20u64).map(|seed| call!(tree(seed, 5u32))).collect();
    played(&calls, None, false, 3);
}

#[test]
fn several_waits_functions_and_values_before_their_calls_end() {
    let calls: Vec<_> = (0..7u64).map(|seed| call!(wide(6u32, seed * 0x1234_5678_9abc))).collect();
    played(&calls, None, false, 3);
    let calls: Vec<_> = (-9..9i32).map(|n| call!(hasty(n))).collect();
    played(&calls, None, false, 3);
    let calls: Vec<_> = (0..9u32).map(|n| call!(odd(n))).collect();
    played(&calls, None, false, 2);
    let calls: Vec<_> = (0..9u32).map(|n| call!(chain(7 * n))).collect();
    played(&calls, None, false, 2);
}

#[test]
fn names_structs_and_arrays() {
    let calls: Vec<_> = (0..8u32).map(|n| call!(names(n, true))).collect();
    played(&calls, None, false, 1);
    let calls: Vec<_> = (0..12u32).map(|n| call!(lets(n, n % 2 == 0))).collect();
    played(&calls, None, false, 1);
    let calls: Vec<_> = (0..4u32).map(|n| call!(many([u64::from(n) + 7; 40], n))).collect();
    played(&calls, None, false, 1);
    let calls: Vec<_> =
        (0..5u32).map(|n| call!(pair(Pair { left: 7, right: 900, more: 3, last: 5 }, n))).collect();
    played(&calls, None, false, 1);
}

#[test]
fn a_path_longer_than_the_window_goes_to_global_memory() {
    let calls = [call!(deep(300u32))];
    let Some([ran, _, spilled]) = played(&calls, None, true, 2) else { return };
    assert_eq!(ran, 8 * 601);
    assert!(spilled > 100, "only {spilled} calls were put away");
}
