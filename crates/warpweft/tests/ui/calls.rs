use warpweft::prelude::*;

fn plain(a: f32) -> f32 {
    a
}

#[device]
fn calls_plain(a: f32) -> f32 {
    plain(a) + 1.0
}

fn main() {}
