//! Poisson's equation by a multigrid method: a session for each grid, red-black smoothing, V-cycles.
//!
//! `cargo run --release --package warpweft --example multigrid`

use std::f64::consts::PI;

use warpweft::grid::io::{Colours, Picture, png};
use warpweft::prelude::*;
use warpweft::stencil::Session;

/// A vertex of a grid: `-Δu = f` is to hold, and `r` is what is missing.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
struct Vertex {
    u: f64,
    f: f64,
    r: f64,
}

type Grid<'v> = Session<'v, Vertex, 3>;

/// One half of a Gauss-Seidel sweep: the vertices of one colour, whose neighbours all have the other.
#[stencil]
fn smooth(g: Near<Vertex, 3>, next: &mut Vertex, #[at] at: [usize; 3], colour: usize, h: f64) {
    let around = g.u[[-1, 0, 0]] + g.u[[1, 0, 0]] + g.u[[0, -1, 0]] + g.u[[0, 1, 0]];
    let around = around + g.u[[0, 0, -1]] + g.u[[0, 0, 1]];
    let solved = (around + h * h * g.f[[0, 0, 0]]) / 6.0;
    let mine = (at[0] + at[1] + at[2]) % 2 == colour;
    next.u = if mine { solved } else { g.u[[0, 0, 0]] };
}

/// `r = f + Δu`.
#[stencil]
fn residual(g: Near<Vertex, 3>, next: &mut Vertex, h: f64) {
    let around = g.u[[-1, 0, 0]] + g.u[[1, 0, 0]] + g.u[[0, -1, 0]] + g.u[[0, 1, 0]];
    let around = around + g.u[[0, 0, -1]] + g.u[[0, 0, 1]];
    next.r = g.f[[0, 0, 0]] + (around - 6.0 * g.u[[0, 0, 0]]) / (h * h);
}

/// `u = value`.
#[stencil]
fn set(_g: Near<Vertex, 3>, next: &mut Vertex, value: f64) {
    next.u = value;
}

/// Vertices of a grid along an axis, and how far apart they are in the unit cube.
fn vertices(levels: usize) -> usize {
    (1 << levels) - 1
}

fn spacing(levels: usize) -> f64 {
    1.0 / (1 << levels) as f64
}

/// One V-cycle on the grids from the finest on, which has so many levels.
fn cycle(grids: &mut [Grid<'_>], levels: usize) -> Result<()> {
    let Some((fine, coarser)) = grids.split_first_mut() else { return Ok(()) };
    fine.run(Steps(2))?;
    let Some(coarse) = coarser.first_mut() else { return Ok(()) };
    fine.apply(residual(spacing(levels)))?;
    fine.restrict("r", coarse, "f")?;
    coarse.apply(set(0.0))?;
    cycle(coarser, levels - 1)?;
    coarser[0].prolong("u", fine, "u")?;
    fine.run(Steps(2)).map(drop)
}

const LEVELS: usize = 6;

/// A product of sines, which the differences only stretch: so it solves the equations of the grid exactly.
fn exact(at: [usize; 3]) -> f64 {
    at.iter().zip([1.0, 2.0, 3.0]).map(|(&i, k)| (k * PI * (i + 1) as f64 * H).sin()).product()
}

const H: f64 = 1.0 / (1 << LEVELS) as f64;

fn main() -> Result<()> {
    let machine = Machine::detect()?;
    let stretch: f64 =
        [1.0, 2.0, 3.0].iter().map(|k| (2.0 - 2.0 * (k * PI * H).cos()) / (H * H)).sum();
    let mut volumes: Vec<_> = (1..=LEVELS)
        .rev()
        .map(|levels| {
            let right = |at| if levels == LEVELS { stretch * exact(at) } else { 0.0 };
            Volume::from_fn([vertices(levels); 3], |at| Vertex { u: 0.0, f: right(at), r: 0.0 })
        })
        .collect();
    let mut grids = Vec::new();
    for (volume, levels) in volumes.iter_mut().zip((1..=LEVELS).rev()) {
        let h = spacing(levels);
        let stencil = Stencil::sequence((smooth(0, h), smooth(1, h)));
        grids.push(stencil.boundary(Boundary::Dirichlet(0.0)).on(volume, &machine)?);
    }
    let begun = std::time::Instant::now();
    let mut before = f64::INFINITY;
    for number in 1..=9 {
        cycle(&mut grids, LEVELS)?;
        grids[0].apply(residual(H))?;
        let norm = grids[0].norm("r")?;
        println!("cycle {number}: residual {norm:.2e}");
        assert!(norm < 0.2 * before || norm < 1e-8, "a cycle takes most of the residual away");
        before = norm;
    }
    println!("{:.1} ms a cycle", 1e3 * begun.elapsed().as_secs_f64() / 9.0);
    drop(grids);
    let n = vertices(LEVELS);
    let cells = (0..n * n * n).map(|i| [i / (n * n), i / n % n, i % n]);
    let worst = cells.map(|at| (volumes[0].cell::<Vertex>(at).u - exact(at)).abs());
    let worst = worst.fold(0.0, f64::max);
    println!("largest error {worst:.1e}");
    assert!(worst < 1e-8, "the solution is that which the right-hand side was made of");
    let plane = Volume::from_fn([n; 2], |[y, x]| volumes[0].cell::<Vertex>([n / 2, y, x]).u);
    let picture = Picture::of_middle(&plane, 0, [-1.0, 1.0], Colours::Viridis)?;
    png::write("multigrid.png".as_ref(), &picture)?;
    println!("written multigrid.png, the solution in the middle plane");
    Ok(())
}
