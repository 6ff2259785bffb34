use warpweft::prelude::*;

#[stencil]
fn parameter(u: Near<f32, 1>, k: isize) -> f32 {
    u[[k]]
}

#[stencil]
fn unknown_bound(u: Near<f32, 1>, n: isize) -> f32 {
    let mut sum = 0.0;
    for k in 0..n {
        sum += u[[k]];
    }
    sum
}

#[stencil]
fn broken(u: Near<f32, 1>) -> f32 {
    let mut sum = 0.0;
    for k in 0..4 {
        if sum > 1.0 {
            break;
        }
        sum += u[[k]];
    }
    sum
}

#[stencil]
fn mutable(u: Near<f32, 1>) -> f32 {
    let mut k = 1;
    k += 1;
    u[[k]]
}

#[stencil]
fn no_array(u: Near<f32, 1>) -> f32 {
    let at = [1];
    u[at]
}

#[stencil]
fn inferred_later(u: Near<i32, 1>) -> i32 {
    let k = 200;
    let narrow: u8 = k;
    u[[(k + 100) as isize - 43]] + narrow as i32
}

#[stencil]
fn loop_inferred_later(u: Near<i32, 1>) -> i32 {
    let k = 1;
    let mut sum: u8 = k;
    for j in 0..(k - 3) / 2 + 5 {
        sum += u[[j as isize]] as u8;
    }
    sum as i32
}

fn main() {}
