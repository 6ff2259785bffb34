//! An acoustic shot over two layers: a source, receivers in a row, a sponge layer that swallows what leaves, and a picture.
//!
//! `cargo run --release --package warpweft --example shot`
//!
//! The program compares when the direct wave and its reflection arrive with what the ray paths say.

use std::f64::consts::PI;

use warpweft::grid::io::{Colours, Picture, png};
use warpweft::prelude::*;

/// Pressure, now and a step ago.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
struct Wave {
    now: f32,
    before: f32,
}

/// The wave equation, of order 4 in space. `courant` holds (speed * step / cell)^2 of each row. `sponge` holds by what a
/// step multiplies the waves at each distance from the first edge (C. Cerjan and others, "A nonreflecting boundary condition
/// for discrete acoustic and elastic wave equations", 1985).
#[stencil]
fn propagate(p: Near<Wave, 2>, #[at] at: [usize; 2], courant: &[f32], sponge: &[f32]) -> Wave {
    let here = p[[0, 0]].now;
    let near = p[[-1, 0]].now + p[[1, 0]].now + p[[0, -1]].now + p[[0, 1]].now;
    let far = p[[-2, 0]].now + p[[2, 0]].now + p[[0, -2]].now + p[[0, 2]].now;
    let laplace = (16.0 * near - far - 60.0 * here) / 12.0;
    let damp = sponge[at[0]] * sponge[at[1]];
    let next = 2.0 * here - p[[0, 0]].before + courant[at[0]] * laplace;
    Wave { now: damp * next, before: damp * here }
}

const SIZE: usize = 301;
/// Seconds a step, metres a cell, and the peak frequency of the source.
const STEP: f64 = 0.001;
const CELL: f64 = 10.0;
const HERTZ: f64 = 15.0;
/// The speeds of the layers in metres a second, and the row where the second begins.
const SPEEDS: [f64; 2] = [2500.0, 4000.0];
const LAYER: usize = 200;
/// Width of the sponge in cells.
const SPONGE: f64 = 40.0;
const SOURCE: [usize; 2] = [60, 150];
const RECEIVERS: [usize; 3] = [190, 220, 250];

/// The second derivative of a Gauss curve, which peaks 1.2 periods after the start.
fn ricker(step: u64) -> f64 {
    let phase = (PI * (HERTZ * step as f64 * STEP - 1.2)).powi(2);
    (1.0 - 2.0 * phase) * (-phase).exp()
}

/// When receiver number `r` records the most in the steps from `begin` to `end`.
fn peak(records: &[Vec<f64>], r: usize, begin: usize, end: usize) -> f64 {
    let steps = begin..end.min(records.len());
    let most = steps.max_by(|&a, &b| records[a][r].total_cmp(&records[b][r]));
    most.unwrap_or(0) as f64 * STEP
}

fn main() -> Result<()> {
    let machine = Machine::detect()?;
    let row = |y| ((SPEEDS[usize::from(y >= LAYER)] * STEP / CELL).powi(2)) as f32;
    let courant: Vec<f32> = (0..SIZE).map(row).collect();
    let column = |x: usize| {
        let into = (1.0 - x.min(SIZE - 1 - x) as f64 / SPONGE).max(0.0);
        (-0.06 * into * into).exp() as f32
    };
    let sponge: Vec<f32> = (0..SIZE).map(column).collect();
    let stencil = Stencil::of(propagate(courant, sponge))
        .source(PointSource {
            field: 0,
            at: vec![SOURCE],
            amplitudes: (0..160).map(ricker).collect(),
        })
        .probe(Probe { field: 0, at: RECEIVERS.map(|x| [SOURCE[0], x]).to_vec(), every: 1 });
    let mut ground = Volume::from_fn([SIZE, SIZE], |_| Wave { now: 0.0, before: 0.0 });
    let mut session = stencil.on(&mut ground, &machine)?;
    session.run(Steps(500))?;
    let strong = session.norm("now")?;
    let snapshot = session.volume()?;
    session.run(Steps(1100))?;
    let left = session.norm("now")? / strong;
    let report = session.finish()?;
    println!("{report}");
    let records = &report.probes[0].values;
    let depth = (LAYER - SOURCE[0]) as f64 * CELL;
    let first = peak(records, 0, 0, 700);
    for (r, x) in RECEIVERS.into_iter().enumerate() {
        let offset = (x - SOURCE[1]) as f64 * CELL;
        let direct = peak(records, r, 0, 700);
        let echo = peak(records, r, (direct / STEP) as usize + 150, 1600);
        let late = ((2.0 * depth).hypot(offset) - offset) / SPEEDS[0];
        println!(
            "{offset} m: {direct:.3} s, reflected {echo:.3} s, by rays {:.3} s",
            direct + late
        );
        let moved = (x - RECEIVERS[0]) as f64 * CELL / SPEEDS[0];
        assert!((direct - first - moved).abs() < 0.003, "the direct wave travels at its speed");
        assert!((echo - direct - late).abs() < 0.008, "the reflection comes when rays say");
    }
    assert!(left < 0.08, "the sponge swallows the waves, {left:.3} are left");
    let picture = Picture::of_middle(&snapshot, 0, [-0.2, 0.2], Colours::Viridis)?;
    png::write("shot.png".as_ref(), &picture)?;
    println!("{:.1} % of the waves left, written shot.png", 100.0 * left);
    Ok(())
}
