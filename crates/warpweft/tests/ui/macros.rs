use warpweft::prelude::*;

#[device]
fn prints(a: f32) -> f32 {
    println!("{a}");
    a
}

#[device]
fn panics(a: f32) -> f32 {
    if a < 0.0 {
        panic!("negative");
    }
    a
}

#[device]
fn allocates(a: f32) -> f32 {
    let v = vec![a];
    a
}

#[device]
fn asserts(a: i32) -> i32 {
    debug_assert!(a > 0);
    a
}

#[device]
fn some_other(a: i32) -> i32 {
    line!();
    a
}

fn main() {}
