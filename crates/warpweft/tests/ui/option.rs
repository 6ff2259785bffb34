use warpweft::prelude::*;

#[device]
fn takes(a: Option<f32>) -> f32 {
    1.0
}

#[device]
fn makes(a: f32) -> f32 {
    let b = Some(a);
    1.0
}

#[device]
fn returns(a: f32) -> Result<f32, ()> {
    Ok(a)
}

#[device]
fn matches_it(a: i32) -> i32 {
    match a {
        Some(x) => x,
        _ => 0,
    }
}

fn main() {}
