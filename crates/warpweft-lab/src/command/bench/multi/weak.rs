//! Weak scaling: as many cells on each GPU as the largest case has, against that case on one GPU, and
//! against it on the slowest.

use std::time::Instant;

use warpweft::cuda::Device;
use warpweft::machine::{Machine, Probe};
use warpweft::prelude::*;
use warpweft::stencil::{
    CudaPolicy, CudaSweeps, Exchange, MultiCudaPolicy, MultiCudaSweeps, Policy, Region, Sweep,
    SweepExecutor, Trial,
};
use warpweft::tune::median;

use super::figure::{Figure, figure, kernel};
use super::heat::{filled, space_stencil};

/// Candidates that are tried beside what was best for the same number of planes on one GPU.
const WEAK: usize = 5;
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
    let mut found: Vec<Figure> = Vec::new();
    for policy in candidates {
        let mut executor = match MultiCudaSweeps::new(&stencil, &volume, &policy, &devices) {
            Err(Error::Spec { .. } | Error::Memory { .. }) => continue,
            executor => executor?,
        };
        let trial = timed(&mut executor, extents, count, Policy::Gpus(policy))?;
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
        let mut alone = each_alone(size, &cuda, &devices, probe)?;
        let slowest = alone.iter().map(|it| it.microseconds_a_step).max_by(f64::total_cmp);
        for figure in &mut found {
            figure.over_slowest = slowest.map(|it| it / figure.microseconds_a_step);
        }
        found.append(&mut alone);
    }
    Ok(found)
}

/// A cube of `size` on each of `devices` alone, by `cuda`: GPUs of one kind differ by how far they lower
/// their clocks to keep to their power, and several are as fast as the slowest.
fn each_alone(
    size: usize,
    cuda: &CudaPolicy,
    devices: &[Device],
    probe: &Probe,
) -> Result<Vec<Figure>> {
    let stencil = space_stencil();
    let volume = filled([size; 3])?;
    let of_device = |device: &Device| {
        let mut executor = CudaSweeps::new(&stencil, &volume, cuda, device)?;
        let trial = timed(&mut executor, volume.extents(), 1, Policy::Cuda(*cuda))?;
        Ok(figure(&trial, "alone", 3, size, volume.len(), probe))
    };
    devices.iter().map(of_device).collect()
}

/// The median of three runs of about [`RUN`] seconds, after one that prepares graphs and wakes the devices.
fn timed(
    executor: &mut dyn SweepExecutor<3>,
    extents: [usize; 3],
    devices: usize,
    policy: Policy,
) -> Result<Trial> {
    let cells: usize = extents.iter().product();
    let steps = (RUN * RATE_A_GPU * devices as f64 / cells as f64) as u64;
    let depth = match &policy {
        Policy::Gpus(policy) => u64::from(policy.steps_a_turn()),
        Policy::Cuda(policy) => u64::from(policy.temporal_depth),
        Policy::Cpu(_) => 1,
    };
    let steps = steps.max(16).next_multiple_of(16 * depth);
    let region = Region { low: [0; 3], high: extents };
    let sweep = Sweep { first_step: 0, steps, region, following: 0, keep_change: false };
    let mut seconds = Vec::new();
    for _ in 0..4 {
        let start = Instant::now();
        executor.sweep(&sweep)?;
        executor.finish()?;
        seconds.push(start.elapsed().as_secs_f64() / steps as f64);
    }
    seconds.remove(0);
    let seconds = median(&seconds);
    Ok(Trial { policy, devices, seconds, ran: (steps, seconds * steps as f64) })
}
