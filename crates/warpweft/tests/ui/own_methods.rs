use warpweft::prelude::*;

#[derive(Clone, Copy, PartialEq, Device)]
#[repr(C)]
struct Point {
    x: f32,
    y: f32,
}

impl Point {
    fn max(self, other: f32) -> f32 {
        self.x.max(other)
    }
}

impl std::ops::Add for Point {
    type Output = Point;
    fn add(self, other: Point) -> Point {
        Point { x: self.x + other.x, y: self.y + other.y }
    }
}

#[device]
fn method(p: Point) -> f32 {
    p.max(1.0)
}

#[device]
fn operator(p: Point, q: Point) -> Point {
    p + q
}

#[device]
fn comparison(p: Point, q: Point) -> bool {
    p == q
}

#[device]
fn through_reference(a: &f32) -> f32 {
    a + 1.0
}

fn main() {}
