use warpweft::prelude::*;

#[derive(Clone, Copy, PartialEq, Device)]
#[repr(u8)]
enum Mode {
    Slow,
    Fast,
}

impl From<Mode> for f32 {
    fn from(mode: Mode) -> f32 {
        match mode {
            Mode::Slow => 0.25,
            Mode::Fast => 0.75,
        }
    }
}

impl std::ops::Shl<Mode> for i32 {
    type Output = i32;
    fn shl(self, _: Mode) -> i32 {
        7
    }
}

trait Phase {
    fn wrapping_add(self, by: f32) -> f32;
}

impl Phase for f32 {
    fn wrapping_add(self, by: f32) -> f32 {
        (self + by).fract()
    }
}

trait Own {
    fn hypot(self, other: Self) -> Self;
    fn from(value: Self) -> Self;
}

trait Sizes {
    fn to_f64(&self) -> f64;
    fn len(&self) -> usize;
}

impl Sizes for [f32; 4] {
    fn to_f64(&self) -> f64 {
        4.0
    }
    fn len(&self) -> usize {
        5
    }
}

impl Sizes for f32 {
    fn to_f64(&self) -> f64 {
        0.0
    }
    fn len(&self) -> usize {
        1
    }
}

trait Parse {
    fn from_f64(value: f64) -> Self;
}

impl Parse for u8 {
    fn from_f64(_: f64) -> u8 {
        3
    }
}

#[device]
fn rate(m: Mode) -> f32 {
    f32::from(m)
}

#[device]
fn turned(x: f32) -> f32 {
    x.wrapping_add(0.75)
}

#[device]
fn turned_by_path(x: f32) -> f32 {
    f32::wrapping_add(x, 0.75)
}

#[device]
fn far<T: Real + Own>(x: T) -> T {
    x.hypot(x)
}

#[device]
fn converted<T: Real + Own>(x: T) -> T {
    T::from(x)
}

#[device]
fn shifted(n: i32, m: Mode) -> i32 {
    n << m
}

#[device]
fn length(a: [f32; 4]) -> usize {
    a.len()
}

mod without_the_prelude {
    use super::{Parse, Sizes};
    use warpweft::prelude::device;

    #[device]
    fn wide(x: f32) -> f64 {
        x.to_f64()
    }

    #[device]
    fn parsed(x: f64) -> u8 {
        u8::from_f64(x)
    }
}

fn main() {}
