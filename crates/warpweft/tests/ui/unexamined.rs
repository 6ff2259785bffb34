#![allow(unused)]
use warpweft::prelude::*;

#[stencil]
fn conditional(u: Near<f32, 1>) -> f32 {
    #[cfg(any())]
    let k = 1;
    #[inline]
    const N: isize = 1;
    u[[N]]
}

#[device]
fn of_parameters(#[cfg(all())] a: i32, b: i32) -> i32 {
    match b {
        #[cfg(any())]
        1 => a,
        _ => b,
    }
}

#[stencil]
fn message(u: Near<f32, 1>, k: isize) -> f32 {
    assert!(u[[0]] > 0.0, "{}", u[[k]]);
    assert!(u[[0]] > 0.0, "{k}");
    u[[0]]
}

#[stencil]
fn wraps(u: Near<f32, 1>) -> f32 {
    let mut sum = 0.0;
    for k in 0..4u32 {
        sum += u[[(k - 2) as isize]];
    }
    sum
}

#[stencil]
fn overflows(u: Near<f32, 1>) -> f32 {
    const NEAR: u8 = 200;
    u[[(NEAR + NEAR) as isize]]
}

#[stencil]
fn overflows_with_a_literal(u: Near<f32, 1>) -> f32 {
    let far: i8 = 127;
    u[[(far + 1) as isize]]
}

#[device]
fn alias(x: &mut f32) {
    let mut y = x;
    *y += 1.0;
}

#[device]
fn matched(x: &mut (f32, f32)) {
    match (x) {
        (a, b) => *a = *b,
    }
}

#[device]
fn small_name(n: i32) -> i32 {
    const seven: i32 = 7;
    match n {
        seven => 1,
        _ => 0,
    }
}

fn main() {}
