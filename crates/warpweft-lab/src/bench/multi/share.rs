//! What bounds strong scaling: the share of one GPU, alone on one GPU and with nobody to wait for.

use std::time::Duration;

use warpweft::machine::{Machine, Probe};
use warpweft::prelude::*;
use warpweft::stencil::{GpuList, Target, Tuned, Tuning};

use super::figure::{Figure, figure};
use super::heat::filled;

/// The best that one GPU does with the largest of `count` slabs of a cube of `size`, over the `best`
/// microseconds a step that it takes for the whole; nothing where no candidate ran.
pub fn share<const D: usize>(
    stencil: &Stencil<f32, D>,
    size: usize,
    count: usize,
    best: f64,
    budget: Duration,
    machine: &Machine,
    probe: &Probe,
) -> Result<Option<Figure>> {
    let Some(gpu) = machine.gpus.first() else { return Ok(None) };
    let mut extents = [size; D];
    extents[0] = size.div_ceil(count);
    let volume = filled(extents)?;
    let target = Target::Gpus(GpuList::new(&[gpu.ordinal])?);
    let Tuned { trials, .. } =
        stencil.tune(&volume, machine, &Tuning { target, budget, ..Tuning::default() })?;
    let fastest = trials.iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
    Ok(fastest.map(|trial| {
        let mut figure = figure(trial, "share", D, size, volume.len(), probe);
        figure.over_best = best / figure.microseconds_a_step;
        figure
    }))
}
