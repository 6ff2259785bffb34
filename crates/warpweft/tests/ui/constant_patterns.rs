#![allow(non_upper_case_globals)]

use warpweft::prelude::*;

const limit: i32 = 3;

#[derive(Clone, Copy, Device)]
#[repr(C)]
struct Pair {
    limit: i32,
    other: i32,
}

#[device]
fn arm(a: i32) -> i32 {
    match a {
        limit => 1,
        _ => 2,
    }
}

#[device]
fn condition(a: (i32, i32)) -> i32 {
    if let (limit, b) = a { b } else { 0 }
}

#[device]
fn in_a_macro(a: i32) -> bool {
    matches!(a, limit)
}

#[device]
fn member(a: Pair) -> i32 {
    match a {
        Pair { limit, other } => other,
        Pair { other, .. } => -other,
    }
}

fn main() {}
