//! Poisson's equation by a multigrid method: a session for each grid, red-black smoothing, V-cycles.
//!
//! `cargo run --release --package warpweft --example multigrid`

use std::f64::consts::PI;

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

/// Vertices of a grid along an axis, and how far apart they are in the unit cube.
fn vertices(levels: usize) -> usize {
    (1 << levels) - 1
}

fn spacing(levels: usize) -> f64 {
    1.0 / (1 << levels) as f64
}

/// Weights of the fine vertices around a coarse one along an axis.
const WEIGHTS: [f64; 3] = [0.25, 0.5, 0.25];

/// The residual of the fine grid as the right-hand side of the coarse one, weighted over 27 vertices.
fn restrict(fine: &mut Grid<'_>, coarse: &mut Grid<'_>, levels: usize) -> Result<()> {
    let (n, half) = (vertices(levels), vertices(levels - 1));
    let r = fine.read_field::<f64>("r", [0..n, 0..n, 0..n])?;
    let weighted = |[z, y, x]: [usize; 3]| {
        let mut sum = 0.0;
        for (k, wz) in WEIGHTS.iter().enumerate() {
            for (j, wy) in WEIGHTS.iter().enumerate() {
                for (i, wx) in WEIGHTS.iter().enumerate() {
                    sum += wz * wy * wx * r[((2 * z + k) * n + 2 * y + j) * n + 2 * x + i];
                }
            }
        }
        sum
    };
    let right = Volume::from_fn([half; 3], |at| Vertex { u: 0.0, f: weighted(at), r: 0.0 });
    coarse.write([0; 3], &right)
}

/// Adds the solution of the coarse grid to the fine one's, interpolated linearly along each axis.
fn prolong(coarse: &mut Grid<'_>, fine: &mut Grid<'_>, levels: usize) -> Result<()> {
    let (n, half) = (vertices(levels), vertices(levels - 1));
    let u = coarse.read_field::<f64>("u", [0..half, 0..half, 0..half])?;
    // Coarse vertices counted from 1; outside u is 0.
    let coarse_u = |at: [usize; 3]| {
        let inside = at.iter().all(|i| (1..=half).contains(i));
        if inside { u[((at[0] - 1) * half + at[1] - 1) * half + at[2] - 1] } else { 0.0 }
    };
    let old = fine.volume()?;
    let new = Volume::from_fn([n; 3], |at| {
        // Fine vertex number i + 1 is number (i + 1) / 2 of the coarse ones, or lies between two.
        let [below, above] = [at.map(|i| i.div_ceil(2)), at.map(|i| (i + 2) / 2)];
        let corner = |k: usize| {
            coarse_u(std::array::from_fn(|d| if k >> d & 1 == 0 { below[d] } else { above[d] }))
        };
        let vertex = old.cell::<Vertex>(at);
        Vertex { u: vertex.u + (0..8).map(corner).sum::<f64>() / 8.0, ..vertex }
    });
    fine.write([0; 3], &new)
}

/// One V-cycle on the grids from the finest on, which has so many levels.
fn cycle(grids: &mut [Grid<'_>], levels: usize) -> Result<()> {
    let Some((fine, coarser)) = grids.split_first_mut() else { return Ok(()) };
    fine.run(Steps(2))?;
    let Some(coarse) = coarser.first_mut() else { return Ok(()) };
    fine.apply(residual(spacing(levels)))?;
    restrict(fine, coarse, levels)?;
    cycle(coarser, levels - 1)?;
    prolong(&mut coarser[0], fine, levels)?;
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
    Ok(())
}
