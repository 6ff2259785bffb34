//! Drag of a sphere in a periodic array by the lattice Boltzmann method D3Q19: 21 fields a cell, a force that drives the
//! flow, momentum that is conserved to the last digits, and a picture.
//!
//! `cargo run --release --package warpweft --example spheres`

use std::f64::consts::PI;

use warpweft::grid::io::{Colours, Picture, png};
use warpweft::prelude::*;

/// How many particles rest, and fly east, west, north, south, to the top, to the bottom and between these; the
/// momentum of a fluid cell along x, and what a cell of the sphere is pushed with.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
struct Lattice {
    c: f64,
    e: f64,
    w: f64,
    n: f64,
    s: f64,
    t: f64,
    b: f64,
    ne: f64,
    nw: f64,
    se: f64,
    sw: f64,
    te: f64,
    tw: f64,
    be: f64,
    bw: f64,
    tn: f64,
    ts: f64,
    bn: f64,
    bs: f64,
    momentum: f64,
    push: f64,
}

/// A sphere, and what drives the fluid around it.
#[derive(Clone, Copy, Device)]
struct Case {
    centre: f64,
    radius: f64,
    /// On a fluid cell, along x.
    force: f64,
    /// Collisions a step, by the viscosity.
    omega: f64,
}

#[device]
fn is_sphere(at: [usize; 3], case: Case) -> bool {
    let z = at[0] as f64 - case.centre;
    let y = at[1] as f64 - case.centre;
    let x = at[2] as f64 - case.centre;
    z * z + y * y + x * x < case.radius * case.radius
}

/// The equilibrium of a direction of this weight, `along` being the speed in that direction.
#[device]
fn equilibrium(weight: f64, density: f64, along: f64, square: f64) -> f64 {
    weight * density * (1.0 + 3.0 * along + 4.5 * along * along - 1.5 * square)
}

/// All directions in equilibrium at this density and velocity: x goes east, y south, z to the top.
#[device]
fn still(density: f64, x: f64, y: f64, z: f64) -> Lattice {
    let (square, side, corner) = (x * x + y * y + z * z, 1.0 / 18.0, 1.0 / 36.0);
    Lattice {
        c: equilibrium(1.0 / 3.0, density, 0.0, square),
        e: equilibrium(side, density, x, square),
        w: equilibrium(side, density, -x, square),
        n: equilibrium(side, density, -y, square),
        s: equilibrium(side, density, y, square),
        t: equilibrium(side, density, z, square),
        b: equilibrium(side, density, -z, square),
        ne: equilibrium(corner, density, x - y, square),
        nw: equilibrium(corner, density, -x - y, square),
        se: equilibrium(corner, density, x + y, square),
        sw: equilibrium(corner, density, y - x, square),
        te: equilibrium(corner, density, x + z, square),
        tw: equilibrium(corner, density, z - x, square),
        be: equilibrium(corner, density, x - z, square),
        bw: equilibrium(corner, density, -x - z, square),
        tn: equilibrium(corner, density, z - y, square),
        ts: equilibrium(corner, density, y + z, square),
        bn: equilibrium(corner, density, -y - z, square),
        bs: equilibrium(corner, density, y - z, square),
        momentum: 0.0,
        push: 0.0,
    }
}

/// The momentum of what flies in all directions.
#[device]
fn momentum(f: Lattice) -> [f64; 3] {
    let x = f.e + f.ne + f.se + f.te + f.be - f.w - f.nw - f.sw - f.tw - f.bw;
    let y = f.s + f.se + f.sw + f.ts + f.bs - f.n - f.ne - f.nw - f.tn - f.bn;
    let z = f.t + f.te + f.tw + f.tn + f.ts - f.b - f.be - f.bw - f.bn - f.bs;
    [x, y, z]
}

/// The sphere sends everything back.
#[device]
fn reflect(f: Lattice) -> Lattice {
    let push = 2.0 * momentum(f)[0];
    Lattice {
        c: f.c,
        e: f.w,
        w: f.e,
        n: f.s,
        s: f.n,
        t: f.b,
        b: f.t,
        ne: f.sw,
        nw: f.se,
        se: f.nw,
        sw: f.ne,
        te: f.bw,
        tw: f.be,
        be: f.tw,
        bw: f.te,
        tn: f.bs,
        ts: f.bn,
        bn: f.ts,
        bs: f.tn,
        momentum: 0.0,
        push,
    }
}

/// Particles collide, and the force changes their momentum.
#[device]
fn collide(f: Lattice, case: Case) -> Lattice {
    let density = f.c
        + f.e
        + f.w
        + f.n
        + f.s
        + f.t
        + f.b
        + f.ne
        + f.nw
        + f.se
        + f.sw
        + f.te
        + f.tw
        + f.be
        + f.bw
        + f.tn
        + f.ts
        + f.bn
        + f.bs;
    let m = momentum(f);
    let to = still(density, m[0] / density, m[1] / density, m[2] / density);
    let omega = case.omega;
    let (side, corner) = (case.force / 6.0, case.force / 12.0);
    Lattice {
        c: f.c + omega * (to.c - f.c),
        e: f.e + omega * (to.e - f.e) + side,
        w: f.w + omega * (to.w - f.w) - side,
        n: f.n + omega * (to.n - f.n),
        s: f.s + omega * (to.s - f.s),
        t: f.t + omega * (to.t - f.t),
        b: f.b + omega * (to.b - f.b),
        ne: f.ne + omega * (to.ne - f.ne) + corner,
        nw: f.nw + omega * (to.nw - f.nw) - corner,
        se: f.se + omega * (to.se - f.se) + corner,
        sw: f.sw + omega * (to.sw - f.sw) - corner,
        te: f.te + omega * (to.te - f.te) + corner,
        tw: f.tw + omega * (to.tw - f.tw) - corner,
        be: f.be + omega * (to.be - f.be) + corner,
        bw: f.bw + omega * (to.bw - f.bw) - corner,
        tn: f.tn + omega * (to.tn - f.tn),
        ts: f.ts + omega * (to.ts - f.ts),
        bn: f.bn + omega * (to.bn - f.bn),
        bs: f.bs + omega * (to.bs - f.bs),
        momentum: m[0] + 0.5 * case.force,
        push: 0.0,
    }
}

/// Particles arrive from the neighbours, then collide or are sent back.
#[stencil]
fn flow(f: Near<Lattice, 3>, #[at] at: [usize; 3], case: Case) -> Lattice {
    let arrived = Lattice {
        c: f[[0, 0, 0]].c,
        e: f[[0, 0, -1]].e,
        w: f[[0, 0, 1]].w,
        n: f[[0, 1, 0]].n,
        s: f[[0, -1, 0]].s,
        t: f[[-1, 0, 0]].t,
        b: f[[1, 0, 0]].b,
        ne: f[[0, 1, -1]].ne,
        nw: f[[0, 1, 1]].nw,
        se: f[[0, -1, -1]].se,
        sw: f[[0, -1, 1]].sw,
        te: f[[-1, 0, -1]].te,
        tw: f[[-1, 0, 1]].tw,
        be: f[[1, 0, -1]].be,
        bw: f[[1, 0, 1]].bw,
        tn: f[[-1, 1, 0]].tn,
        ts: f[[-1, -1, 0]].ts,
        bn: f[[1, 1, 0]].bn,
        bs: f[[1, -1, 0]].bs,
        momentum: 0.0,
        push: 0.0,
    };
    if is_sphere(at, case) {
        return reflect(arrived);
    }
    collide(arrived, case)
}

const N: usize = 20;

fn main() -> Result<()> {
    let machine = Machine::detect()?;
    let (viscosity, force) = (1.0 / 6.0, 1e-6);
    let case = Case {
        centre: (N - 1) as f64 / 2.0,
        radius: 4.1,
        force,
        omega: 1.0 / (3.0 * viscosity + 0.5),
    };
    let density = |at| if is_sphere(at, case) { 0.0 } else { 1.0 };
    let mut volume = Volume::from_fn([N; 3], |at| still(density(at), 0.0, 0.0, 0.0));
    let cells = (0..N * N * N).map(|i| [i / (N * N), i / N % N, i % N]);
    let solid = cells.filter(|&at| is_sphere(at, case)).count() as f64;
    let all = (N * N * N) as f64;
    let stencil = Stencil::of(flow(case)).boundary(Boundary::Periodic);
    let mut on = stencil.on(&mut volume, &machine)?;
    let (mut drag, mut momentum) = (0.0, 0.0);
    for _ in 0..3 {
        let done = on.run(Steps(800))?.done;
        (drag, momentum) = (on.sum("push")?, on.sum("momentum")?);
        println!("{done} steps: drag {:.4} of the force", drag / (force * (all - solid)));
    }
    println!("{}", on.finish()?);
    // At rest the sphere takes what the force gives.
    let rest = drag / (force * (all - solid));
    assert!((rest - 1.0).abs() < 2e-3, "the drag is {rest} of the force");
    // Stokes' drag of the sphere that these cells make, and what other spheres around it make of it (H. Hasimoto,
    // "On the periodic fundamental solutions of the Stokes equations", 1959).
    let (radius, part) = ((solid * 3.0 / (4.0 * PI)).cbrt(), solid / all);
    let stokes = 6.0 * PI * viscosity * radius * momentum / all;
    let found = force * all / stokes;
    let expect = 1.0 / (1.0 - 1.7601 * part.cbrt() + part - 1.5593 * part * part);
    println!("{found:.3} times Stokes' drag; Hasimoto: {expect:.3}");
    assert!((found / expect - 1.0).abs() < 0.04, "{found} of {expect} times Stokes' drag");
    let speeds = Volume::from_fn([N; 3], |at| volume.cell::<Lattice>(at).momentum);
    let most = speeds.as_slice().iter().copied().fold(0.0, f64::max);
    let picture = Picture::of_middle(&speeds, 0, [0.0, most], Colours::Viridis)?;
    png::write("spheres.png".as_ref(), &picture)?;
    println!("written spheres.png");
    Ok(())
}
