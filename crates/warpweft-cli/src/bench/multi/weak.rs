//! Weak scaling: as many cells on each GPU as the largest case has, against that case on one GPU.

use std::time::Instant;

use warpweft::machine::{Machine, Probe};
use warpweft::prelude::*;
use warpweft::stencil::{
    Exchange, MultiCudaPolicy, MultiCudaSweeps, Policy, Region, Sweep, SweepExecutor, Trial,
};
use warpweft::tune::median;

use super::figure::{Figure, figure, kernel};
use super::heat::{filled, space_stencil};

/// Candidates that are tried beside what was best for the same number of planes on one GPU.
const WEAK: usize = 5;
/// Seconds that a measured run should last.
const RUN: f64 = 0.1;

/// The best of each kernel over all GPUs with cubes of `size`, against `strong` figures of one cube.
pub fn weak(
    size: usize,
    machine: &Machine,
    probe: &Probe,
    strong: &[Figure],
) -> Result<Vec<Figure>> {
    let stencil = space_stencil();
    let devices = machine.gpus.iter().map(|gpu| gpu.device()).collect::<Result<Vec<_>>>()?;
    let count = devices.len();
    let volume = filled([size * count, size, size])?;
    let extents = volume.extents();
    let mut candidates = MultiCudaPolicy::candidates(&stencil, extents, &devices)?;
    // Single steps, trips of every shape, and the first of these by other chunks.
    candidates.truncate(WEAK);
    // A slab is one GPU's cube: what is best there is compared with itself.
    let whole = |it: &&Figure| {
        (it.scaling, it.dims, it.size) == ("strong", 3, size) && [1, count].contains(&it.gpus)
    };
    for figure in strong.iter().filter(whole) {
        let policy = match figure.policy {
            Policy::Cuda(cuda) => MultiCudaPolicy::new(cuda, Exchange::Flags),
            Policy::Gpus(policy) => policy,
            Policy::Cpu(_) => continue,
        };
        if !candidates.contains(&policy) {
            candidates.push(policy);
        }
    }
    let region = Region { low: [0; 3], high: extents };
    let mut found: Vec<Figure> = Vec::new();
    for policy in candidates {
        let depth = u64::from(policy.steps_a_turn());
        let mut executor = match MultiCudaSweeps::new(&stencil, &volume, &policy, &devices) {
            Err(Error::Spec { .. } | Error::Memory { .. }) => continue,
            executor => executor?,
        };
        let steps = (RUN * 4e11 * count as f64 / volume.len() as f64) as u64;
        let steps = steps.max(16).next_multiple_of(16 * depth);
        let sweep = Sweep { first_step: 0, steps, region, keep_change: false };
        let mut seconds = Vec::new();
        for _ in 0..4 {
            let start = Instant::now();
            executor.sweep(&sweep)?;
            executor.finish()?;
            seconds.push(start.elapsed().as_secs_f64() / steps as f64);
        }
        // The first prepares graphs and wakes the devices.
        seconds.remove(0);
        let seconds = median(&seconds);
        let policy = Policy::Gpus(policy);
        let trial = Trial { policy, devices: count, seconds, ran: (steps, seconds * steps as f64) };
        let mut figure = figure(&trial, "weak", 3, size, volume.len(), probe);
        let alone = |same: bool| {
            let whole = ("strong", 3, size, 1);
            let one = strong.iter().filter(|it| (it.scaling, it.dims, it.size, it.gpus) == whole);
            let fit = one.filter(|it| !same || kernel(&it.policy) == kernel(&policy));
            fit.map(|it| it.microseconds_a_step).min_by(f64::total_cmp)
        };
        figure.over_best = alone(false).unwrap_or(f64::NAN) / figure.microseconds_a_step;
        figure.over_same_kernel = alone(true).map(|it| it / figure.microseconds_a_step);
        found.push(figure);
    }
    found.sort_by(|a, b| a.microseconds_a_step.total_cmp(&b.microseconds_a_step));
    // The best of each kernel.
    let mut kernels = Vec::new();
    found.retain(|figure| {
        let kernel = kernel(&figure.policy);
        let new = !kernels.contains(&kernel);
        kernels.push(kernel);
        new
    });
    Ok(found)
}
