//! Elements with tables, and with cells whose members are arrays.

use warpweft::prelude::*;

/// Tables of run-time length and fixed ones; an index outside one is a fault.
#[stencil]
pub fn looked_up(u: Near<i32, 2>, curve: &[i16], grid: [[i32; 2]; 3], hues: &[u8]) -> i32 {
    let at = (u[[0, 0]] as usize) % curve.len();
    let mut sum = curve[at] as i32 * grid[at % 3][at % 2];
    for k in 0..2 {
        sum += hues[u[[k, -k]] as usize / 3 + hues.len() - 4] as i32;
    }
    if sum > 40 { curve[curve.len() - 1] as i32 } else { sum }
}

/// Members that are arrays: each element is a field.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
pub struct Lattice {
    pub wet: [bool; 2],
    pub rho: f64,
    pub f: [f32; 3],
}

#[stencil]
pub fn streamed(now: Near<Lattice, 1>, next: &mut Lattice, rate: f32) {
    const REST: usize = 1;
    let mut sum = next.f[REST];
    for q in 0..3 {
        sum += now.f[q as usize][[q - 1]] * rate;
    }
    for q in 0..3 {
        next.f[q] = if q == REST { sum } else { now.f[2 - q][[0]] };
    }
    if now[[1]].f[2] > 30.0 {
        next.wet[1] = !next.wet[0];
    }
    let west = now[[-1]];
    next.rho += west.f[(sum as usize) % 3] as f64;
}

#[stencil]
pub fn turned(g: Near<Lattice, 1>) -> Lattice {
    Lattice { f: [g[[1]].f[0], g.f[1][[0]], g[[-1]].f[2] + 1.0], ..g[[0]] }
}

pub const CURVE: [i16; 5] = [7, -300, 12, 4, 99];
pub const HUES: [u8; 6] = [0, 0, 5, 250, 1, 30];

pub fn slice(of: &str, name: &str, length: usize) -> String {
    format!("ww::slice<ww::{of}>({name}, {length})")
}

pub fn listed<T: ToString>(numbers: &[T]) -> String {
    numbers.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}
