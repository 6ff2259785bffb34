//! Functions whose calls are as unlike as they come: trees of every shape, all kinds of values, several waits.

use warpweft::channels::{spawn, spawning, sync};

/// Two calls a call, one deeper than the other.
#[spawning]
pub fn fib(n: u32) -> u64 {
    if n < 2 {
        return n as u64;
    }
    let a = spawn!(fib(n - 1));
    let b = spawn!(fib(n - 2));
    sync!();
    a + b
}

/// Paths as long as there are levels, each call of which leaves a short one next to it.
#[spawning]
pub fn path(n: u32) -> u64 {
    if n == 0 {
        return 1;
    }
    let short = spawn!(path(0));
    let long = spawn!(path(n - 1));
    sync!();
    short + long
}

/// Solutions below a row of a board: as many calls as there are free squares.
#[spawning]
pub fn queens(all: u32, columns: u32, left: u32, right: u32) -> u64 {
    if columns == all {
        return 1;
    }
    let mut free = all & !(columns | left | right);
    let mut found = 0;
    while free != 0 {
        let square = free & free.wrapping_neg();
        free ^= square;
        found += spawn!(queens(all, columns | square, (left | square) << 1, (right | square) >> 1));
    }
    sync!();
    found
}

/// A well-mixed number (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
#[warpweft::element::device]
pub fn mixed(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A tree that nobody can foresee: up to 40 calls a call, fewer where it is deep.
#[spawning]
pub fn tree(seed: u64, depth: u32) -> u64 {
    let drawn = mixed(seed);
    let most = if drawn & 7 == 0 { 40 } else { 3 };
    let count = if depth == 0 { 0 } else { (drawn >> 8) % (most + 1) };
    let mut sum = drawn;
    for k in 0..count {
        sum ^= spawn!(tree(seed ^ mixed(k + 1), depth - 1));
    }
    sync!();
    sum.rotate_left(7)
}

/// Much that lives across waits: several of them, and variables that change in between.
#[spawning]
pub fn wide(mut n: u32, seed: u64) -> u64 {
    let (low, high) = (seed as u32, (seed >> 32) as u32);
    let pair = [low ^ 7, high ^ 9];
    let mut turns = 0u8;
    if n == 0 {
        return seed ^ 5;
    }
    n -= 1;
    let a = spawn!(wide(n, seed.wrapping_mul(3)));
    let mut bits = 0u64;
    if low & 1 == 0 {
        bits = spawn!(wide(n / 2, seed ^ 77));
    } else {
        bits ^= spawn!(fib(n + 3));
    }
    turns += 1;
    sync!();
    let mixed_in = a ^ bits;
    let half = n / 2;
    let mut all = 0u64;
    all |= spawn!(wide(half, mixed_in));
    all |= spawn!(wide(half, mixed_in ^ 1));
    turns += 1;
    sync!();
    let last = spawn!(queens(7, 0, 0, 0));
    turns += pair[1] as u8 & 3;
    sync!();
    all.wrapping_mul(31)
        ^ mixed_in
        ^ last
        ^ (pair[0] as u64)
        ^ (turns as u64)
        ^ (high as u64)
        ^ (n as u64)
}

/// Whether a number is even, by asking whether the one below is odd.
#[spawning]
pub fn even(n: u32) -> bool {
    if n == 0 {
        return true;
    }
    let below = spawn!(odd(n - 1));
    sync!();
    below
}

/// The other of the two.
#[spawning]
pub fn odd(n: u32) -> bool {
    if n == 0 {
        return false;
    }
    let below = spawn!(even(n - 1));
    sync!();
    below
}

/// Nothing to return, and nobody who waits but the end.
#[spawning]
pub fn idle(n: u32) {
    for k in 0..n {
        spawn!(idle(k));
    }
}

/// A value that is known while calls still run.
#[spawning]
pub fn hasty(n: i32) -> i32 {
    spawn!(idle(3));
    if n > 4 {
        spawn!(idle(2));
        return n - 4;
    }
    let mut twice = 0i32;
    twice += spawn!(hasty(n + 3));
    sync!();
    spawn!(idle(1));
    twice * 2 - n
}

/// Small and large values, of all kinds.
#[spawning]
pub fn kinds(n: u8, x: f64) -> (i16, f32) {
    if n == 0 {
        return (-3, x as f32);
    }
    let (m, y) = (n - 1, x * 0.5);
    let one = spawn!(kinds(m, y));
    let list = spawn!(list(m, y as f32));
    let half = spawn!(halved(y));
    sync!();
    (one.0 - list[1] as i16, one.1 + half as f32 + list[0] as f32)
}

/// Three bytes.
#[spawning]
pub fn list(n: u8, x: f32) -> [u8; 3] {
    [n, n / 2 + 1, (x * 3.0) as u8]
}

/// A call without calls.
#[spawning]
pub fn halved(x: f64) -> f64 {
    x * 0.5
}

/// One call a level: nothing to share.
#[spawning]
pub fn chain(n: u32) -> u32 {
    if n == 0 {
        return 1;
    }
    let below = spawn!(chain(n - 1));
    sync!();
    below.wrapping_mul(3) ^ n
}
