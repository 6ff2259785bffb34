use warpweft::prelude::*;

#[stencil]
fn itself(u: Near<u32, 1>) -> u32 {
    if u[[0]] == 0 { 1 } else { itself(u[[0]] - 1) }
}

#[device]
fn through_variable(f: f32) -> f32 {
    f(1.0)
}

#[device]
fn computed(a: [f32; 2]) -> f32 {
    (a[0])(1.0)
}

#[device]
fn constructor() -> f32 {
    let v = Vec::with_capacity(3);
    1.0
}

fn main() {}
