//! Flow around a cylinder by the lattice Boltzmann method D2Q9: ten fields a cell, functions that know where their cell
//! is, drag as a sum over cells, and a picture.
//!
//! `cargo run --release --package warpweft --example cylinder`

use warpweft::grid::io::{Colours, Picture, png};
use warpweft::prelude::*;

/// How many particles fly in each of nine directions, and what a wall cell is pushed with along x.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
struct Lattice {
    rest: f64,
    e: f64,
    n: f64,
    w: f64,
    s: f64,
    ne: f64,
    nw: f64,
    sw: f64,
    se: f64,
    push: f64,
}

/// The channel, and what flows through it.
#[derive(Clone, Copy, Device)]
struct Channel {
    columns: usize,
    /// The cylinder: its centre and radius.
    centre: [f64; 2],
    radius: f64,
    /// Speed of the flow that comes in.
    speed: f64,
    /// Collisions a step, by the viscosity.
    omega: f64,
}

#[device]
fn is_wall(at: [usize; 2], channel: Channel) -> bool {
    let dy = at[0] as f64 - channel.centre[0];
    let dx = at[1] as f64 - channel.centre[1];
    dy * dy + dx * dx < channel.radius * channel.radius
}

/// The equilibrium of a direction of this weight, `along` being the speed in that direction.
#[device]
fn equilibrium(weight: f64, density: f64, along: f64, square: f64) -> f64 {
    weight * density * (1.0 + 3.0 * along + 4.5 * along * along - 1.5 * square)
}

/// All directions in equilibrium at this density and velocity; y goes south.
#[device]
fn still(density: f64, x: f64, y: f64) -> Lattice {
    let (square, side, corner) = (x * x + y * y, 1.0 / 9.0, 1.0 / 36.0);
    Lattice {
        rest: equilibrium(4.0 / 9.0, density, 0.0, square),
        e: equilibrium(side, density, x, square),
        n: equilibrium(side, density, -y, square),
        w: equilibrium(side, density, -x, square),
        s: equilibrium(side, density, y, square),
        ne: equilibrium(corner, density, x - y, square),
        nw: equilibrium(corner, density, -x - y, square),
        sw: equilibrium(corner, density, y - x, square),
        se: equilibrium(corner, density, x + y, square),
        push: 0.0,
    }
}

/// Particles arrive from the neighbours, then collide; walls send them back.
#[stencil]
fn flow(f: Near<Lattice, 2>, #[at] at: [usize; 2], channel: Channel) -> Lattice {
    if at[1] == 0 {
        return still(1.0, channel.speed, 0.0);
    }
    // The last column is a copy of the one before, so what comes out does not come back.
    if at[1] + 1 == channel.columns {
        return f[[0, -1]];
    }
    let rest = f[[0, 0]].rest;
    let (e, w, n, s) = (f[[0, -1]].e, f[[0, 1]].w, f[[1, 0]].n, f[[-1, 0]].s);
    let (ne, nw, sw, se) = (f[[1, -1]].ne, f[[1, 1]].nw, f[[-1, 1]].sw, f[[-1, -1]].se);
    if is_wall(at, channel) {
        let push = 2.0 * (e + ne + se - w - nw - sw);
        return Lattice { rest, e: w, n: s, w: e, s: n, ne: sw, nw: se, sw: ne, se: nw, push };
    }
    let density = rest + e + n + w + s + ne + nw + sw + se;
    let x = (e + ne + se - w - nw - sw) / density;
    let y = (s + sw + se - n - ne - nw) / density;
    let to = still(density, x, y);
    let omega = channel.omega;
    Lattice {
        rest: rest + omega * (to.rest - rest),
        e: e + omega * (to.e - e),
        n: n + omega * (to.n - n),
        w: w + omega * (to.w - w),
        s: s + omega * (to.s - s),
        ne: ne + omega * (to.ne - ne),
        nw: nw + omega * (to.nw - nw),
        sw: sw + omega * (to.sw - sw),
        se: se + omega * (to.se - se),
        push: 0.0,
    }
}

const ROWS: usize = 120;
const COLUMNS: usize = 200;
const RADIUS: f64 = 5.0;
const REYNOLDS: f64 = 20.0;

fn main() -> Result<()> {
    let machine = Machine::detect()?;
    let speed = 0.08;
    let viscosity = speed * 2.0 * RADIUS / REYNOLDS;
    let channel = Channel {
        columns: COLUMNS,
        centre: [(ROWS - 1) as f64 / 2.0, 60.5],
        radius: RADIUS,
        speed,
        omega: 1.0 / (3.0 * viscosity + 0.5),
    };
    let begin = |at| {
        let fluid = still(1.0, speed, 0.0);
        if is_wall(at, channel) { still(0.0, 0.0, 0.0) } else { fluid }
    };
    let mut volume = Volume::from_fn([ROWS, COLUMNS], begin);
    let stencil = Stencil::of(flow(channel)).boundary(Boundary::Periodic);
    let mut on = stencil.on(&mut volume, &machine)?;
    let mut drag = 0.0;
    for _ in 0..6 {
        let done = on.run(Steps(500))?.done;
        drag = on.sum("push")? / (speed * speed * RADIUS);
        println!("{done} steps: drag coefficient {drag:.3}");
    }
    println!("{}", on.finish()?);
    // Of a cylinder alone 2.05 at this Reynolds number (S. C. R. Dennis, G.-Z. Chang, 1970); ours has others above
    // and below, 12 diameters away, which makes it more.
    assert!((1.95..2.6).contains(&drag), "a drag coefficient of {drag}");
    let speeds = Volume::from_fn([ROWS, COLUMNS], |at| {
        let Some(f) = volume.get(at).filter(|_| !is_wall(at, channel)) else { return 0.0 };
        let density = f.rest + f.e + f.n + f.w + f.s + f.ne + f.nw + f.sw + f.se;
        let x = (f.e + f.ne + f.se - f.w - f.nw - f.sw) / density;
        let y = (f.s + f.sw + f.se - f.n - f.ne - f.nw) / density;
        x.hypot(y)
    });
    // Above and below the flow is the same.
    let differs = |y: usize, x: usize| (speeds[[y, x]] - speeds[[ROWS - 1 - y, x]]).abs();
    let worst = (0..ROWS * COLUMNS).map(|i| differs(i / COLUMNS, i % COLUMNS)).fold(0.0, f64::max);
    assert!(worst < 1e-9, "the flow is symmetric, not off by {worst:e}");
    let picture = Picture::of_middle(&speeds, 0, [0.0, 1.4 * speed], Colours::Viridis)?;
    png::write("cylinder.png".as_ref(), &picture)?;
    println!("written cylinder.png");
    Ok(())
}
