//! Functions whose values are no sum by their form, so that calls wait for the values of their calls.

use warpweft::prelude::*;

/// Fibonacci numbers.
#[spawning]
pub fn fib(n: u32) -> u64 {
    if n < 2 {
        return n as u64;
    }
    let a = spawn!(fib(n - 1));
    let b = spawn!(fib(n - 2));
    sync!();
    (a + b).rotate_left(0)
}

/// A path of so many calls, each of which has another call to spawn when it is back.
#[spawning]
pub fn path(n: u32) -> u64 {
    if n == 0 {
        return 1;
    }
    let long = spawn!(path(n - 1));
    let short = spawn!(path(0));
    sync!();
    (long + short).rotate_left(0)
}

/// Solutions below a row of a board.
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
    found.rotate_left(0)
}
