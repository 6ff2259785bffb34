use warpweft::prelude::*;

#[wavefront]
fn nothing() -> i32 {
    1
}

#[wavefront]
fn no_cells(a: i32) -> i32 {
    a
}

#[wavefront]
fn by_reference(h: &Earlier<i32>) -> i32 {
    h.n
}

#[wavefront]
fn other_result(h: Earlier<i32>) -> u8 {
    h.n as u8
}

#[wavefront]
fn no_result(h: Earlier<i32>) {
    let _ = h.n;
}

#[wavefront]
fn late_old(h: Earlier<f32>, a: f32, old: Old<f32>) -> f32 {
    h.n + old.c + a
}

#[wavefront]
fn other_old(h: Earlier<f32>, old: Old<f64>) -> f32 {
    h.n + old.c as f32
}

#[wavefront]
fn two_rows(h: Earlier<i32>, #[row] a: i32, #[row] b: i32) -> i32 {
    h.n + a + b
}

#[wavefront]
fn twice(h: Earlier<i32>, #[row] #[column] a: i32) -> i32 {
    h.n + a
}

#[wavefront]
fn argument(h: Earlier<i32>, #[row(1)] a: i32) -> i32 {
    h.n + a
}

#[wavefront]
fn borrowed(h: Earlier<i32>, #[row] a: &i32) -> i32 {
    h.n + a
}

#[wavefront(fast)]
fn arguments(h: Earlier<i32>) -> i32 {
    h.n
}

#[wavefront]
fn independent(h: Earlier<i32>, a: i32) -> i32 {
    a
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Device, Ranked)]
#[repr(C)]
struct Two {
    #[score]
    a: i32,
    #[score]
    b: i32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Device, Ranked)]
#[repr(C)]
struct Tuple(i32, i32);

#[wavefront(step = never)]
fn wide_step(h: Earlier<i64>) -> i64 {
    h.n
}

fn never<E>(_: &E, _: i64) -> Option<u32> {
    None
}

fn main() {}
