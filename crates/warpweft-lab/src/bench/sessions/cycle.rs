//! V-cycles of a multigrid method for Poisson's equation on a GPU, next to the time of their memory traffic.

use warpweft::prelude::*;
use warpweft::stencil::Session;

use super::{Figure, On, Place};

/// Cycles that are timed together.
const CYCLES: u32 = 4;
/// Arrays that a cycle reads or writes on each grid: 3 in each of 8 half sweeps, 3 for the residual, 1 and 2 for the
/// transfers, and three coarse ones, each an eighth.
const PASSES: f64 = 30.375;

/// `-Δu = f` is to hold, and `r` is what is missing.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
struct Vertex {
    u: f64,
    f: f64,
    r: f64,
}

type Grid<'v> = Session<'v, Vertex, 3>;

/// Half a Gauss-Seidel sweep: the vertices of one colour.
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

fn vertices(levels: u32) -> usize {
    (1 << levels) - 1
}

fn spacing(levels: u32) -> f64 {
    1.0 / f64::from(1u32 << levels)
}

/// A V-cycle on the grids from the finest on, which has so many levels.
fn cycle(grids: &mut [Grid<'_>], levels: u32) -> Result<()> {
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

/// 511^3 on a GPU.
pub fn measured(place: &Place<'_>) -> Result<Vec<Figure>> {
    if !place.devices().contains(&On::Gpu) {
        return Ok(Vec::new());
    }
    let all = 9 - place.shrink.ilog2();
    let mut volumes = Vec::new();
    for levels in (1..=all).rev() {
        let noise = |[z, y, x]: [usize; 3]| ((31 * z + 17 * y + 7 * x) % 101) as f64 - 50.0;
        let f = |at| if levels == all { noise(at) } else { 0.0 };
        let vertex = |at| Vertex { u: 0.0, f: f(at), r: 0.0 };
        volumes.push(Volume::try_par_from_fn([vertices(levels); 3], vertex)?);
    }
    let run = place.run(On::Gpu);
    let mut grids = Vec::new();
    for (volume, levels) in volumes.iter_mut().zip((1..=all).rev()) {
        let stencil = Stencil::sequence((smooth(0, spacing(levels)), smooth(1, spacing(levels))));
        let stencil = stencil.boundary(Boundary::Dirichlet(0.0));
        grids.push(stencil.on_with(volume, place.machine, &run)?);
    }
    let some = |grids: &mut Vec<Grid<'_>>| {
        (0..CYCLES).try_for_each(|_| cycle(grids, all))?;
        grids[0].apply(residual(spacing(all)))?;
        grids[0].norm("r")
    };
    let mut norms = vec![some(&mut grids)?];
    let seconds = place.repeated(|| some(&mut grids).map(|norm| norms.push(norm)))?;
    if norms.is_sorted_by(|a, b| a > b || *b < 1e-6) {
        return Ok(vec![figure(place, all, &seconds)]);
    }
    Err(Error::spec(format!("residuals of {norms:?} after V-cycles"), "report this as a bug"))
}

fn figure(place: &Place<'_>, all: u32, seconds: &[f64]) -> Figure {
    let each = seconds.iter().map(|seconds| 1e3 * seconds / f64::from(CYCLES)).collect();
    let case = format!("a V-cycle, {}^3 f64", vertices(all));
    let figure = Figure::median(case, On::Gpu.name(), each, "ms");
    let cells: f64 = (1..=all).map(|levels| (vertices(levels) as f64).powi(3)).sum();
    match place.traffic(On::Gpu, 8.0 * PASSES * cells) {
        Some(traffic) => {
            let ratio = figure.value * 1e-3 / traffic;
            figure.over(ratio, "times its memory traffic")
        }
        None => figure,
    }
}
