#![allow(unused, unconditional_recursion)]

use warpweft::prelude::*;

#[spawning(cores)]
fn hides_an_accumulator(n: u64) -> u64 {
    let mut a = 0u64;
    for mut a in 0..n {
        a += spawn!(hides_an_accumulator(a / 2));
    }
    sync!();
    a
}

#[spawning(cores)]
fn hides_one_of_two(n: u64) -> u64 {
    let mut a = 0u64;
    a += spawn!(hides_one_of_two(n / 2));
    for (k, a) in (0..n).enumerate() {
        drop((k, a));
    }
    sync!();
    a
}

#[spawning(cores)]
fn in_an_inner_loop(n: u64) -> u64 {
    let mut sum = 0u64;
    for k in 0..n {
        for mut sum in 0..k {
            sum ^= spawn!(in_an_inner_loop(k / 2));
        }
    }
    sync!();
    sum
}

fn main() {}
