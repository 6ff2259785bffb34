use warpweft::prelude::*;

#[derive(Clone, Copy, Fields)]
#[repr(C)]
struct Wave {
    height: f32,
    speed: f32,
}

#[stencil]
fn passed_on(u: Near<f32, 1>) -> f32 {
    helper(u)
}

#[stencil]
fn aliased(u: Near<f32, 1>) -> f32 {
    let v = u;
    v[[0]]
}

#[stencil]
fn whole_field(now: Near<Wave, 1>, next: &mut Wave) {
    next.height = now.height;
}

#[stencil]
fn whole_cell(now: Near<Wave, 1>, next: &mut Wave) {
    *next = Wave { height: now.height[[0]], speed: 0.0 };
}

#[stencil]
fn assigns_neighbour(u: Near<f32, 1>) -> f32 {
    u[[0]] = 1.0;
    u[[0]]
}

fn main() {}
