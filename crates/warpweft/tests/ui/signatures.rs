use warpweft::prelude::*;

#[device]
async fn waits(a: f32) -> f32 {
    a
}

#[device]
unsafe fn trusted(a: f32) -> f32 {
    a
}

#[device]
extern "C" fn foreign(a: f32) -> f32 {
    a
}

#[task]
fn slice(a: u32, b: &mut [f32]) -> f32 {
    b[0]
}

#[device]
fn text(a: &str) -> f32 {
    1.0
}

#[device]
fn heap(a: Vec<f32>) -> f32 {
    a[0]
}

#[device]
fn some_number(a: impl Real) -> f32 {
    1.0
}

#[device]
fn pointer(a: *const f32) -> f32 {
    1.0
}

#[device]
fn function(f: fn(f32) -> f32) -> f32 {
    f(1.0)
}

#[device]
fn object(f: &dyn Fn(f32) -> f32) -> f32 {
    1.0
}

#[device]
fn gives_reference(a: &f32) -> &f32 {
    a
}

#[device]
fn named_lifetime<'a>(a: &'a f32) -> f32 {
    *a
}

#[device(fast)]
fn arguments(a: f32) -> f32 {
    a
}

struct Point(f32);

impl Point {
    #[device]
    fn method(&self) -> f32 {
        1.0
    }
}

fn main() {}
