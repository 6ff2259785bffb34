//! Conway's Game of Life, B3/S23: a dead cell with three live neighbours of eight is born, a live
//! one with two or three survives.

use warpweft::prelude::*;

use crate::plain::Place;

/// What one cell does in a step: cells are 0 (dead) or 1 (alive).
#[stencil]
fn life(u: Near<u8, 2>) -> u8 {
    let around = u[[-1, -1]]
        + u[[-1, 0]]
        + u[[-1, 1]]
        + u[[0, -1]]
        + u[[0, 1]]
        + u[[1, -1]]
        + u[[1, 0]]
        + u[[1, 1]];
    ((around == 3) | ((around == 2) & (u[[0, 0]] == 1))) as u8
}

/// The game, cells 0 (dead) or 1 (alive), boundaries still to be said.
pub fn stencil() -> Stencil<u8, 2> {
    Stencil::of(life())
}

/// One step of the straightforward loop.
pub fn plain_step(u: Place<'_>) -> f64 {
    let mut around = 0.0;
    for y in -1..=1 {
        for x in -1..=1 {
            if (y, x) != (0, 0) {
                around += u.at([0, y, x]);
            }
        }
    }
    let alive = around == 3.0 || (around == 2.0 && u.at([0, 0, 0]) == 1.0);
    f64::from(u8::from(alive))
}
