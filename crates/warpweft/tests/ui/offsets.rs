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

fn main() {}
