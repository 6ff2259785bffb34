//! Life in three dimensions: of 26 neighbours, exactly five give birth; a live cell dies with one
//! or fewer, or with eight or more.

use warpweft::prelude::*;

use crate::plain::Place;

/// What one cell does in a step: cells are 0 (dead) or 1 (alive).
#[stencil]
fn life3d(u: Near<u8, 3>) -> u8 {
    let here = u[[0, 0, 0]];
    let mut with_here = 0;
    for z in -1..=1 {
        for y in -1..=1 {
            with_here += u[[z, y, -1]] + u[[z, y, 0]] + u[[z, y, 1]];
        }
    }
    let around = with_here - here;
    if here == 1 { (around > 1 && around < 8) as u8 } else { (around == 5) as u8 }
}

/// The game, cells 0 (dead) or 1 (alive), boundaries still to be said.
pub fn stencil() -> Stencil<u8, 3> {
    Stencil::of(life3d())
}

/// One step of the straightforward loop.
pub fn plain_step(u: Place<'_>) -> f64 {
    let mut around = -u.at([0, 0, 0]);
    for z in -1..=1 {
        for y in -1..=1 {
            for x in -1..=1 {
                around += u.at([z, y, x]);
            }
        }
    }
    let alive = if u.at([0, 0, 0]) == 1.0 { (2.0..=7.0).contains(&around) } else { around == 5.0 };
    f64::from(u8::from(alive))
}
