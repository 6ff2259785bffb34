use warpweft::prelude::*;

#[device]
fn closure(a: f32) -> f32 {
    let double = |x: f32| 2.0 * x;
    double(a)
}

#[device]
fn reference(a: f32) -> f32 {
    let r = &a;
    *r
}

#[device]
fn reference_inside(a: f32) -> f32 {
    1.0 + &a
}

#[device]
fn unsafe_block(a: f32) -> f32 {
    unsafe { a }
}

#[device]
fn question(a: f32) -> f32 {
    a?
}

#[device]
fn range_value(n: i32) -> i32 {
    let all = 0..n;
    1
}

#[device]
fn address(a: f32) -> f32 {
    let p = &raw const a;
    a
}

#[device]
fn const_block() -> f32 {
    const { 1.0 }
}

#[device]
fn assigns_many(a: i32, b: i32) -> i32 {
    let mut x = 0;
    let mut y = 0;
    (x, y) = (a, b);
    x - y
}

#[device]
fn assigns_nothing(a: i32) -> i32 {
    _ = a;
    a
}

#[device]
fn chained(a: i32, b: i32) -> i32 {
    if let 1 = a && let 2 = b { 1 } else { 2 }
}

fn main() {}
