//! Shallow water: a dam breaks, whole or through a gap; walls are a mask; and a picture.
//!
//! `cargo run --release --package warpweft --example shallow_water`
//!
//! The depth that a whole dam leaves behind is compared with theory (J. J. Stoker, "Water Waves", 1957). Water is neither made
//! nor lost, and a flow through a gap in the middle stays symmetric.

use warpweft::grid::io::{Colours, Picture, png};
use warpweft::prelude::*;

/// A column of water: its depth, its momentum to the south and to the east, and whether it is a wall instead.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
struct Water {
    depth: f32,
    south: f32,
    east: f32,
    wall: bool,
}

/// Water as a face between two cells sees it: the momentum along and across its normal.
#[derive(Clone, Copy, Device)]
struct Side {
    depth: f32,
    along: f32,
    across: f32,
}

const GRAVITY: f32 = 9.81;

/// What flows through a face, by the fluxes of both sides and the fastest wave (V. V. Rusanov, 1961).
#[device]
fn flux(a: Side, b: Side) -> Side {
    let (ua, ub) = (a.along / a.depth, b.along / b.depth);
    let fast = (ua.abs() + (GRAVITY * a.depth).sqrt()).max(ub.abs() + (GRAVITY * b.depth).sqrt());
    let (pa, pb) = (0.5 * GRAVITY * a.depth * a.depth, 0.5 * GRAVITY * b.depth * b.depth);
    Side {
        depth: 0.5 * (a.along + b.along - fast * (b.depth - a.depth)),
        along: 0.5 * (a.along * ua + pa + b.along * ub + pb - fast * (b.along - a.along)),
        across: 0.5 * (a.across * ua + b.across * ub - fast * (b.across - a.across)),
    }
}

/// The other side of a face: a wall sends the water back.
#[device]
fn other(here: Side, there: Side, wall: bool) -> Side {
    if wall { Side { along: -here.along, ..here } } else { there }
}

#[device]
fn vertical(water: Water) -> Side {
    Side { depth: water.depth, along: water.south, across: water.east }
}

#[device]
fn horizontal(water: Water) -> Side {
    Side { depth: water.depth, along: water.east, across: water.south }
}

#[stencil]
fn flow(now: Near<Water, 2>, step: f32) -> Water {
    let here = now[[0, 0]];
    if here.wall {
        return here;
    }
    let (north, south, west, east) = (now[[-1, 0]], now[[1, 0]], now[[0, -1]], now[[0, 1]]);
    let (v, h) = (vertical(here), horizontal(here));
    let n = flux(other(v, vertical(north), north.wall), v);
    let s = flux(v, other(v, vertical(south), south.wall));
    let w = flux(other(h, horizontal(west), west.wall), h);
    let e = flux(h, other(h, horizontal(east), east.wall));
    Water {
        depth: here.depth - step * (s.depth - n.depth + e.depth - w.depth),
        south: here.south - step * (s.along - n.along + e.across - w.across),
        east: here.east - step * (s.across - n.across + e.along - w.along),
        wall: false,
    }
}

const ROWS: usize = 120;
const COLUMNS: usize = 200;
const DAM: usize = 82;
/// Seconds a step; a cell is a metre wide.
const STEP: f32 = 0.05;

/// Two metres of water behind a dam with a gap of `gap` rows, one in front of it, in a basin with walls.
fn basin(gap: usize) -> Volume<Water, 2> {
    Volume::from_fn([ROWS, COLUMNS], |[y, x]| {
        let edge = y == 0 || x == 0 || y == ROWS - 1 || x == COLUMNS - 1;
        let dam = x.abs_diff(DAM) < 2 && (2 * y + 1).abs_diff(ROWS) > gap;
        let depth = if x < DAM { 2.0 } else { 1.0 };
        Water { depth, south: 0.0, east: 0.0, wall: edge || dam }
    })
}

/// The depth between the wave that runs up and the bore that runs down, of a dam between depths of 2 and 1.
fn middle() -> f32 {
    let [mut low, mut high] = [1.0f32, 2.0];
    for _ in 0..40 {
        let depth = 0.5 * (low + high);
        let behind = 2.0 * ((2.0 * GRAVITY).sqrt() - (depth * GRAVITY).sqrt());
        let bore = (depth - 1.0) * (0.5 * GRAVITY * (1.0 + 1.0 / depth)).sqrt();
        *(if behind > bore { &mut low } else { &mut high }) = depth;
    }
    low
}

fn main() -> Result<()> {
    let machine = Machine::detect()?;
    let stencil = Stencil::of(flow(STEP));
    let mut open = basin(ROWS);
    stencil.run(&mut open, Steps(200), &machine)?;
    let depth = open.get([ROWS / 2, DAM]).map_or(0.0, |water| water.depth);
    println!("{depth:.3} m after the whole dam broke, {:.3} m by theory", middle());
    assert!((depth / middle() - 1.0).abs() < 0.01, "the depth behind the bore is Stoker's");

    let mut basin = basin(20);
    let mut session = stencil.on(&mut basin, &machine)?;
    let before = session.sum("depth")?;
    session.run(Steps(400))?;
    let after = session.sum("depth")?;
    println!("{}", session.finish()?);
    assert!((after / before - 1.0).abs() < 1e-5, "water is neither made nor lost");
    let column = |y: usize, x: usize| basin.get([y, x]).map_or(0.0, |water| water.depth);
    for (y, x) in (0..ROWS).flat_map(|y| (0..COLUMNS).map(move |x| (y, x))) {
        let (north, south) = (column(y, x), column(ROWS - 1 - y, x));
        assert!((north - south).abs() < 1e-3, "the flow is symmetric at [{y}, {x}]");
    }
    let picture = Picture::of_middle(&basin, 0, [0.7, 2.0], Colours::Viridis)?;
    png::write("shallow_water.png".as_ref(), &picture)?;
    println!("{:.1e} of the water lost, written shallow_water.png", 1.0 - after / before);
    Ok(())
}
