use warpweft::prelude::*;

#[device]
fn float(a: f32) -> i32 {
    match a {
        0.5 => 1,
        _ => 2,
    }
}

#[device]
fn slice(a: [i32; 2]) -> i32 {
    match a {
        [1, x] => x,
        _ => 2,
    }
}

#[device]
fn reference(a: &i32) -> i32 {
    match a {
        &x => x,
    }
}

#[device]
fn by_reference(a: i32) -> i32 {
    match a {
        ref x => 1,
    }
}

#[device]
fn rest(a: (i32, i32)) -> i32 {
    let (x, ..) = a;
    x
}

#[device]
fn alternatives(a: (i32, i32)) -> i32 {
    match a {
        (1, x) | (x, 1) => x,
        _ => 0,
    }
}

fn main() {}
