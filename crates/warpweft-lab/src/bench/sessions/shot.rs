//! Elastic waves on a GPU: the rate of a session alone, with a slice every 10 steps, with a checkpoint every 100.

use std::ops::ControlFlow;
use std::time::Instant;

use warpweft::prelude::*;
use warpweft::stencil::{Checkpoint, Run};
use warpweft_apps::seismic::{Blast, Elastic, Medium};

use super::{Figure, On, Place};

const STEPS: u64 = 1000;
/// Steps between two slices, and between two checkpoints.
const EVERY: [u64; 2] = [10, 100];

/// What is done while the steps run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meanwhile {
    Nothing,
    Slices,
    Checkpoints,
}

/// Rates, those with something else to do over that without. Only a GPU's: cores take minutes.
pub fn measured(place: &Place<'_>) -> Result<Vec<Figure>> {
    if !place.devices().contains(&On::Gpu) {
        return Ok(Vec::new());
    }
    let n = 256 / place.shrink;
    let alone = figure(place, n, Meanwhile::Nothing)?;
    let mut figures = Vec::new();
    for meanwhile in [Meanwhile::Slices, Meanwhile::Checkpoints] {
        let figure = figure(place, n, meanwhile)?;
        let ratio = figure.value / alone.value;
        figures.push(figure.over(ratio, "of the rate without"));
    }
    figures.insert(0, alone);
    Ok(figures)
}

fn figure(place: &Place<'_>, n: usize, meanwhile: Meanwhile) -> Result<Figure> {
    let mut rates = Vec::new();
    for _ in 0..place.repeats {
        rates.push(once(place, n, meanwhile)?);
    }
    let what = match meanwhile {
        Meanwhile::Nothing => String::new(),
        Meanwhile::Slices => format!(", a slice every {} steps", EVERY[0]),
        Meanwhile::Checkpoints => format!(", a checkpoint every {} steps", EVERY[1]),
    };
    Ok(Figure::median(format!("seismic, {n}^3 f32{what}"), On::Gpu.name(), rates, "steps/s"))
}

/// Steps a second, from when the session is open and has run a little until the last step is done.
fn once(place: &Place<'_>, n: usize, meanwhile: Meanwhile) -> Result<f64> {
    let extents = [n; 3];
    let mut rock = Blast::in_the_middle(extents).start::<f32>(extents)?;
    let stencil = Medium::granite(0.8).stencil::<f32>()?.boundary(Boundary::Dirichlet(0.0));
    let directory = std::env::temp_dir().join(format!("warpweft-bench-{}", std::process::id()));
    let checkpoint = Checkpoint { directory: directory.clone(), every: EVERY[1], resume: false };
    let saves = meanwhile == Meanwhile::Checkpoints;
    let run = Run { checkpoint: saves.then_some(&checkpoint), ..place.run(On::Gpu) };
    let mut session = stencil.on_with(&mut rock, place.machine, &run)?;
    session.run(Steps(EVERY[0]))?;
    session.get([0; 3])?;
    let begin = Instant::now();
    if meanwhile == Meanwhile::Slices {
        let mut loudest = 0.0f32;
        session.run_every(Steps(EVERY[0]), Steps(STEPS), |session| {
            let slice = session.read_field::<f32>("vz", [n / 2..n / 2 + 1, 0..n, 0..n])?;
            loudest = slice.iter().fold(loudest, |most, v| most.max(v.abs()));
            Ok(ControlFlow::Continue(()))
        })?;
        std::hint::black_box(loudest);
    } else {
        session.run(Steps(STEPS))?;
    }
    let _: Elastic<f32> = session.get([0; 3])?;
    let seconds = begin.elapsed().as_secs_f64();
    drop(session);
    if saves {
        // What is left of it is the bench's own.
        let _ = std::fs::remove_dir_all(&directory);
    }
    Ok(STEPS as f64 / seconds)
}
