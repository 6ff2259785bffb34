use warpweft::prelude::*;

#[spawning]
fn half(x: f64) -> f64 {
    x * 0.5
}

#[spawning]
fn summed(n: u32) -> f64 {
    let mut sum = 0.0;
    for k in 0..n {
        sum += spawn!(half(k as f64));
    }
    sync!();
    sum
}

fn main() {}
