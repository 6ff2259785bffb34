//! Types that have no form on a device.

use warpweft::prelude::*;

#[derive(Clone, Copy)]
struct Plain {
    x: f32,
}

#[device]
fn takes(p: Plain) -> f32 {
    p.x
}

#[device]
fn makes(a: f32) -> f32 {
    let p = Plain { x: a };
    p.x
}

static NAMES: [&str; 2] = ["a", "b"];

#[device]
fn constant() -> usize {
    NAMES.len()
}
