use warpweft::prelude::*;

#[derive(Clone, Copy, Fields)]
#[repr(C)]
struct Wave {
    height: f32,
    speed: f32,
}

#[stencil]
fn nothing() -> f32 {
    1.0
}

#[stencil]
fn no_neighbourhood(rate: f32) -> f32 {
    rate
}

#[stencil]
fn no_dimensions(u: Near<f32>) -> f32 {
    u[[0]]
}

#[stencil]
fn by_reference(u: &Near<f32, 1>) -> f32 {
    u[[0]]
}

#[stencil]
fn no_result(u: Near<f32, 1>) {}

#[stencil]
fn other_result(u: Near<f32, 1>) -> f64 {
    u[[0]] as f64
}

#[stencil]
fn two_results(now: Near<Wave, 1>, next: &mut Wave) -> f32 {
    next.height = now.height[[0]];
    1.0
}

#[stencil]
fn other_next(now: Near<Wave, 1>, next: &mut f32) {}

#[stencil]
fn reference(u: Near<f32, 1>, rates: &[f32; 3]) -> f32 {
    rates[0] * u[[0]]
}

#[stencil]
fn pattern(u: Near<f32, 1>, (a, b): (f32, f32)) -> f32 {
    a * b * u[[0]]
}

#[stencil(radius = 1)]
fn arguments(u: Near<f32, 1>) -> f32 {
    u[[0]]
}

#[stencil]
fn index(u: Near<f32, 1>, #[at] at: usize) -> f32 {
    u[[0]]
}

#[stencil]
fn count(u: Near<f32, 1>, rate: f32, #[step] step: u64) -> f32 {
    rate * u[[0]]
}

#[stencil]
fn seconds(u: Near<f32, 1>, #[step] step: f64) -> f32 {
    u[[0]]
}

fn main() {}
