//! Weak scaling: as many cells on each GPU as the largest case has, against that case on one GPU, and
//! against it on the slowest.

use warpweft::machine::{Gpu, Machine, Probe};
use warpweft::prelude::*;
use warpweft::stencil::drive::Ranks;
use warpweft::stencil::{CudaPolicy, GpuList, Policy, Run, Settings, Target, Trial};
use warpweft::tune::median;

use super::figure::{Figure, figure, kernel};
use super::heat::{filled, space_stencil};

/// The part of the best rate of as many GPUs that a policy must have reached in strong scaling to be tried.
const CLOSE: f64 = 0.8;
/// Seconds that a measured run lasts, if a GPU advances [`RATE_A_GPU`] cells a second: long enough for clocks to
/// have come down to what the power allows.
const RUN: f64 = 0.5;
const RATE_A_GPU: f64 = 8e11;

/// The best of each kernel over all GPUs with cubes of `size`, against `strong` figures of one cube.
pub fn weak(
    size: usize,
    machine: &Machine,
    probe: &Probe,
    strong: &[Figure],
) -> Result<Vec<Figure>> {
    let stencil = space_stencil();
    let numbers: Vec<_> = machine.gpus.iter().map(|gpu| gpu.ordinal).collect();
    let (count, all) = (numbers.len(), Target::Gpus(GpuList::new(&numbers)?));
    let mut volume = filled([size * count, size, size])?;
    let mut found: Vec<Figure> = Vec::new();
    for policy in candidates(size, count, strong) {
        let trial = match timed(&stencil, &mut volume, machine, (all, count), policy) {
            Err(Error::Spec { .. } | Error::Memory { .. }) => continue,
            trial => trial?,
        };
        let mut figure = figure(&trial, "weak", 3, size, volume.len(), probe);
        let alone = |same: bool| {
            let whole = ("strong", 3, size, 1);
            let one = strong.iter().filter(|it| (it.scaling, it.dims, it.size, it.gpus) == whole);
            let fit = one.filter(|it| !same || kernel(&it.policy) == kernel(&trial.policy));
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
    drop(volume);
    let one = strong
        .iter()
        .filter(|it| (it.scaling, it.dims, it.size, it.gpus) == ("strong", 3, size, 1));
    let best = one.min_by(|a, b| a.microseconds_a_step.total_cmp(&b.microseconds_a_step));
    if let Some(Policy::Cuda(cuda)) = best.map(|it| it.policy) {
        let mut alone = each_alone(size, cuda, machine, probe)?;
        let slowest = alone.iter().map(|it| it.microseconds_a_step).max_by(f64::total_cmp);
        for figure in &mut found {
            figure.over_slowest = slowest.map(|it| it / figure.microseconds_a_step);
        }
        found.append(&mut alone);
    }
    Ok(found)
}

/// The policies that were among the fastest of a cube on one GPU, or on `count`.
fn candidates(size: usize, count: usize, strong: &[Figure]) -> Vec<CudaPolicy> {
    // A subdomain is one GPU's cube: what is best there is compared with itself.
    let whole = |it: &&Figure| {
        (it.scaling, it.dims, it.size) == ("strong", 3, size) && [1, count].contains(&it.gpus)
    };
    let mut candidates: Vec<CudaPolicy> = Vec::new();
    for figure in strong.iter().filter(whole) {
        let Policy::Cuda(policy) = figure.policy else { continue };
        let alike = strong.iter().filter(whole).filter(|it| it.gpus == figure.gpus);
        let best = alike.map(|it| it.cells_per_second).fold(0.0, f64::max);
        if figure.cells_per_second > CLOSE * best && !candidates.contains(&policy) {
            candidates.push(policy);
        }
    }
    candidates
}

/// A cube of `size` on each GPU alone, by `cuda`: GPUs of one kind differ by how far they lower
/// their clocks to keep to their power, and several are as fast as the slowest.
fn each_alone(
    size: usize,
    cuda: CudaPolicy,
    machine: &Machine,
    probe: &Probe,
) -> Result<Vec<Figure>> {
    let stencil = space_stencil();
    let mut volume = filled([size; 3])?;
    let of_gpu = |gpu: &Gpu| {
        let alone = (Target::Gpu(gpu.ordinal), 1);
        let trial = timed(&stencil, &mut volume, machine, alone, cuda)?;
        Ok(figure(&trial, "alone", 3, size, volume.len(), probe))
    };
    machine.gpus.iter().map(of_gpu).collect()
}

/// The median of three runs of about [`RUN`] seconds, after one that wakes the devices.
fn timed(
    stencil: &Stencil<f32, 3>,
    volume: &mut Volume<f32, 3>,
    machine: &Machine,
    (target, devices): (Target, usize),
    cuda: CudaPolicy,
) -> Result<Trial> {
    let policy = Policy::Cuda(cuda);
    let steps = (RUN * RATE_A_GPU * devices as f64 / volume.len() as f64) as u64;
    let steps = steps.max(16).next_multiple_of(16 * u64::from(cuda.temporal_depth.max(1)));
    let mut seconds = Vec::new();
    // A search for the depth of ghost zones would be a large part of the run.
    let fused = cuda.temporal_depth.max(1) as usize;
    let depth = Some(if fused > 1 { 2 * fused } else { 1 });
    let over = |settings: Settings| settings.over(Ranks { count: devices, grid: None, depth });
    for _ in 0..4 {
        let mut run = Run { target, policy: Some(policy), ..Run::default() };
        if devices > 1 {
            run.settings = over(run.settings);
        }
        let report = stencil.run_with(volume, Steps(steps), machine, &run)?;
        seconds.push(report.seconds / steps as f64);
    }
    seconds.remove(0);
    let seconds = median(&seconds);
    Ok(Trial { policy, devices, seconds, ran: (steps, seconds * steps as f64) })
}
