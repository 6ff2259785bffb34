use warpweft::prelude::*;

#[device]
fn unknown(a: f32) -> f32 {
    a.midpoint(1.0)
}

#[device]
fn cloned(a: f32) -> f32 {
    a.clone()
}

#[device]
fn converted(a: f32) -> f64 {
    a.into()
}

#[device]
fn checked(a: i32) -> i32 {
    a.checked_add(1).unwrap_or(0)
}

#[device]
fn iterated(a: [f32; 3]) -> f32 {
    a.iter().sum()
}

#[device]
fn associated(a: f32) -> f32 {
    f32::midpoint(a, 1.0)
}

fn main() {}
