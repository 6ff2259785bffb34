use warpweft::prelude::*;

#[device]
fn string() -> f32 {
    let name = "heat";
    1.0
}

#[device]
fn character(a: u8) -> bool {
    a == 'a' as u8
}

#[device]
fn empty() -> i32 {
    let none = [];
    0
}

#[device]
fn long_tuple(a: i32) -> i32 {
    let t = (a, a, a, a, a);
    t.0
}

fn main() {}
