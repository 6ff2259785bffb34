use warpweft::prelude::*;

/// No error: a struct needs no fixed layout.
#[derive(Clone, Copy, Device)]
struct NoLayout {
    x: f32,
}

#[derive(Clone, Copy, Device)]
#[repr(C)]
struct Empty {}

#[derive(Clone, Copy, Device)]
enum NoRepr {
    A,
}

#[derive(Clone, Copy, Device)]
#[repr(u8)]
enum Data {
    A(f32),
    B,
}

#[derive(Clone, Copy, Device)]
#[repr(C)]
union Either {
    a: f32,
    b: u32,
}

/// The uses of a struct that is refused add no errors of their own.
#[derive(Clone, Copy, Fields)]
struct Several {
    x: f32,
    y: (f32, f32),
}

#[stencil]
fn uses(u: Near<Unnamed, 1>) -> Unnamed {
    u[[1]]
}

#[stencil]
fn takes(u: Near<f32, 1>, _given: NoRepr) -> f32 {
    u[[0]]
}

#[derive(Clone, Copy, Fields)]
#[repr(C)]
struct Unnamed(f32, f32);

#[derive(Clone, Copy, Fields)]
#[repr(C)]
struct Generic<const N: usize> {
    x: f32,
}

#[derive(Clone, Copy, Fields)]
#[repr(u8)]
enum Choice {
    A,
}

#[derive(Clone, Copy, Fields)]
#[repr(C)]
struct Many {
    a: f32, b: f32, c: f32, d: f32, e: f32, f: f32, g: f32, h: f32, i: f32,
    j: f32, k: f32, l: f32, m: f32, n: f32, o: f32, p: f32, q: f32,
    a1: f32, a2: f32, a3: f32, a4: f32, a5: f32, a6: f32, a7: f32, a8: f32,
    b1: f32, b2: f32, b3: f32, b4: f32, b5: f32, b6: f32, b7: f32, b8: f32,
}

fn main() {}
