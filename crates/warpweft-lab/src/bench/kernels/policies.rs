//! Named shapes of fused steps on the cases: what each reaches, with the registers that it takes. Not: what
//! tuning finds.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde::Serialize;
use warpweft::grid::RawVolume;
use warpweft::grid::io::read_given_text;
use warpweft::machine::{Gpu, Machine};
use warpweft::prelude::*;
use warpweft::stencil::{CudaPolicy, CudaSweeps, Region, Spec, Sweep, SweepExecutor, cuda};

use super::cases::{CASES, Case};

/// Seconds that a measured run should last.
const RUN: f64 = 0.04;
/// Measured runs.
const RUNS: usize = 3;

/// What one shape reached.
#[derive(Debug, Serialize)]
pub struct Reached {
    case: &'static str,
    policy: CudaPolicy,
    cells_per_second: Option<f64>,
    registers: u32,
    /// Bytes of local memory a thread: above 0 registers spill.
    local_bytes: u32,
    /// Why it did not run.
    refused: Option<String>,
}

/// A case, and its shapes in the order of the file.
struct Shapes {
    case: &'static Case,
    spec: Spec,
    policies: Vec<CudaPolicy>,
}

/// Measures the shapes that the file names, each on a line: a case, cells a thread along x and y, warps, blocks a
/// multiprocessor, planes ahead and steps.
///
/// # Errors
/// The file can't be read or says something else; no GPU; a device that fails.
pub fn measure(file: &Path, machine: &Machine) -> Result<Vec<Reached>> {
    let Some(gpu) = machine.gpus.first() else {
        return Err(Error::spec("shapes of kernels without a GPU", "run on a machine with one"));
    };
    let text =
        read_given_text(file).map_err(|error| Error::file(file, error, "name a file of shapes"))?;
    let shapes = parse(&text, gpu)?;
    compile_ahead(&shapes, gpu, machine.cpu.threads());
    let mut all = Vec::new();
    for Shapes { case, spec, policies } in &shapes {
        let volume = case.volume(spec, case.size)?;
        for policy in policies {
            let reached = reached(case.name, spec, &volume, policy, gpu)?;
            eprintln!("{}", line(&reached));
            all.push(reached);
        }
    }
    Ok(all)
}

fn parse(text: &str, gpu: &Gpu) -> Result<Vec<Shapes>> {
    let mut shapes: Vec<Shapes> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let wrong = || {
            Error::spec(
                format!("the line '{line}' of a file of shapes"),
                "write a case, cells along x and y, warps, blocks, planes ahead and steps",
            )
        };
        let mut words = line.split_whitespace();
        let name = words.next().ok_or_else(wrong)?;
        let case = CASES.iter().find(|case| case.name == name).ok_or_else(wrong)?;
        let numbers: Vec<u32> = words.map_while(|word| word.parse().ok()).collect();
        let [vx, vy, warps, blocks, prefetch, depth] = numbers[..] else { return Err(wrong()) };
        let spec = case.spec()?;
        let shape = [vx, vy, warps, blocks, prefetch, depth];
        let extents = case.extents();
        let Some(policy) = CudaPolicy::fusing(&spec, extents, shape, gpu.sms) else {
            eprintln!("no kernel has the shape of '{line}'");
            continue;
        };
        match shapes.iter_mut().find(|it| it.case.name == name) {
            Some(it) => it.policies.push(policy),
            None => shapes.push(Shapes { case, spec, policies: vec![policy] }),
        }
    }
    Ok(shapes)
}

/// Compiles all shapes into the cache, several at once; one that fails does so again when it is tried.
fn compile_ahead(shapes: &[Shapes], gpu: &Gpu, threads: usize) {
    let Ok(arch) = gpu.device().and_then(|device| device.arch()) else { return };
    let all: Vec<_> =
        shapes.iter().flat_map(|it| it.policies.iter().map(move |policy| (it, policy))).collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((it, policy)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let begun = Instant::now();
                    let done = cuda::compile_check(&it.spec, it.case.extents(), policy, &arch);
                    let how = done.map_or_else(|error| error.to_string(), |_| "compiled".into());
                    let name = it.case.name;
                    let seconds = begun.elapsed().as_secs_f64();
                    eprintln!("{name} {:?} {how} in {seconds:.2} s", policy.cells);
                }
            });
        }
    });
}

fn reached(
    case: &'static str,
    spec: &Spec,
    volume: &RawVolume,
    policy: &CudaPolicy,
    gpu: &Gpu,
) -> Result<Reached> {
    let none = Reached {
        case,
        policy: *policy,
        cells_per_second: None,
        registers: 0,
        local_bytes: 0,
        refused: None,
    };
    Ok(match rate(spec, volume, policy, gpu)? {
        Ok(Rate { cells_per_second, registers, local_bytes }) => {
            Reached { cells_per_second: Some(cells_per_second), registers, local_bytes, ..none }
        }
        Err(why) => Reached { refused: Some(why), ..none },
    })
}

/// What a kernel reaches in a few short runs, and what a thread of it takes.
pub struct Rate {
    pub cells_per_second: f64,
    registers: u32,
    local_bytes: u32,
}

/// The rate of the kernel of `policy`, or why it does not run.
///
/// # Errors
/// A device that fails.
pub fn rate(
    spec: &Spec,
    volume: &RawVolume,
    policy: &CudaPolicy,
    gpu: &Gpu,
) -> Result<Result<Rate, String>> {
    let mut sweeps = match CudaSweeps::new(spec, volume, policy, &gpu.device()?) {
        Ok(sweeps) => sweeps,
        Err(error @ Error::Device { .. }) => return Err(error),
        Err(error) => return Ok(Err(error.to_string())),
    };
    let region = Region::whole(volume.extents());
    let mut run = |steps: u64| {
        let begun = Instant::now();
        sweeps.sweep(&Sweep { first_step: 0, steps, region, following: 0, keep_change: false })?;
        sweeps.finish()?;
        Ok::<_, Error>(begun.elapsed().as_secs_f64())
    };
    let depth = u64::from(policy.temporal_depth).max(1);
    run(16 * depth)?;
    let short = run(16 * depth)?;
    // Whole graphs, so that launches cost little.
    let graphs = (RUN / short.max(1e-6)).ceil() as u64;
    let steps = 16 * depth * graphs.max(1);
    let mut times = (0..RUNS).map(|_| run(steps)).collect::<Result<Vec<_>>>()?;
    times.sort_by(f64::total_cmp);
    let cells_per_second = (volume.len() as u64 * steps) as f64 / times[RUNS / 2];
    let (registers, local_bytes) = sweeps.registers();
    Ok(Ok(Rate { cells_per_second, registers, local_bytes }))
}

/// One line of the table.
pub fn line(reached: &Reached) -> String {
    let Reached { case, policy, cells_per_second, registers, local_bytes, refused } = reached;
    let CudaPolicy {
        cells: [vx, vy, _], warps, min_blocks, chunk, prefetch, temporal_depth, ..
    } = policy;
    let rate = cells_per_second.map_or_else(|| "-".into(), |rate| format!("{:.0}", rate / 1e9));
    let refused = refused.as_deref().unwrap_or_default();
    format!(
        "{case} {vx}x{vy} {warps} warps x {min_blocks}, {prefetch} ahead, {temporal_depth} steps, chunk {chunk}: \
         {rate} Gcells/s, {registers} registers, {local_bytes} B local {refused}"
    )
}
