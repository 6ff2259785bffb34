//! Scaling over the GPUs of this machine: strong and weak, each against the best that one GPU does.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde::Serialize;
use warpweft::machine::{Machine, Probe};
use warpweft::prelude::*;
use warpweft::stencil::{
    CudaKernel, GpuList, MultiCudaPolicy, MultiCudaSweeps, Policy, Region, Sweep, SweepExecutor,
    Target, Trial, Tuned, Tuning, tune,
};

use super::Options;
use super::peers::{self, Peer};
use super::record::{self, Record};
use crate::arguments::seconds;
use crate::device::limits;
use crate::output::{fail, note, say, scaled};

/// Heat conduction over several GPUs.
#[derive(clap::Args)]
pub struct Several {
    /// Seconds that the search for the best policies of a case may take, about; three times as many
    /// for large volumes.
    #[arg(long, value_name = "SECONDS", default_value_t = BUDGET, value_parser = seconds)]
    budget: u64,
    /// Divide every extent by this, for a quick look.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    shrink: u32,
    /// Measure strong scaling of these cases only, as dimensions x cells, e.g. 3x128,2x4096.
    #[arg(long, value_name = "DxN[,DxN..]", value_delimiter = ',', value_parser = case)]
    only: Vec<(usize, usize)>,
    /// List every candidate that ran.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    options: Options,
}

/// Seconds for a case unless said otherwise.
const BUDGET: u64 = 12;
/// Cells above which a volume is large: seconds go by before a candidate is on the GPUs.
const LARGE: usize = 1 << 29;
/// Candidates that weak scaling tries.
const WEAK: usize = 4;
/// Seconds that a measured run of weak scaling should last.
const RUN: f64 = 0.1;

/// Dimensions and cells along each, from small to large.
const CASES: [(usize, usize); 6] = [(3, 128), (3, 256), (2, 2048), (2, 4096), (3, 512), (3, 1024)];

/// One volume on one number of GPUs.
#[derive(Clone, Debug, Serialize)]
struct Figure {
    /// "strong": the volume is shared; "weak": each GPU has as many cells.
    scaling: &'static str,
    dims: usize,
    /// Cells along each axis, of the share of one GPU in weak scaling.
    size: usize,
    gpus: usize,
    /// Of the best policy.
    microseconds_a_step: f64,
    cells_per_second: f64,
    /// Speedup (strong) or efficiency (weak) over the best policy of one GPU.
    over_best: f64,
    /// The same over one GPU's best policy with the same kernel.
    over_same_kernel: Option<f64>,
    /// Microseconds a step that more GPUs can't go below however fast they compute: what a launch
    /// costs in a graph, and one way of a flag between GPUs for every exchange.
    floor: Option<f64>,
    policy: Policy,
}

impl Several {
    /// Measures and prints.
    pub fn execute(&self) -> ExitCode {
        match self.measure() {
            Ok(text) => say(&text),
            Err(error) => fail(&error),
        }
    }

    fn command(&self) -> String {
        let mut command = String::from("warpweft bench multi");
        if self.budget != BUDGET {
            command.push_str(&format!(" --budget {}", self.budget));
        }
        if self.shrink != 1 {
            command.push_str(&format!(" --shrink {}", self.shrink));
        }
        if !self.only.is_empty() {
            let cases = self.only.iter().map(|(dims, size)| format!("{dims}x{size}"));
            command.push_str(&format!(" --only {}", cases.collect::<Vec<_>>().join(",")));
        }
        if self.all {
            command.push_str(" --all");
        }
        command + &self.options.command()
    }

    fn measure(&self) -> Result<String> {
        let machine = Machine::detect()?;
        let all: Vec<_> = machine.gpus.iter().map(|gpu| gpu.ordinal).collect();
        if all.len() < 2 {
            return Err(Error::Device {
                stage: "bench multi".into(),
                device: "this machine".into(),
                what: format!("{} GPUs, of which scaling needs two", all.len()),
                remedy: "run `warpweft bench stencil` for one, or see `warpweft info`".into(),
            });
        }
        let probe = limits(&machine)?;
        let list = GpuList::new(&all)?;
        let mut figures = Vec::new();
        let only = |case: &(usize, usize)| self.only.is_empty() || self.only.contains(case);
        for (dims, size) in CASES.into_iter().filter(only) {
            let size = size / self.shrink as usize;
            note(&extents_of(dims, size));
            figures.extend(match dims {
                2 => self.strong(plane_stencil(), size, list, &machine, &probe)?,
                _ => self.strong(space_stencil(), size, list, &machine, &probe)?,
            });
        }
        if self.only.is_empty() {
            note("weak scaling");
            figures.extend(self.weak(&machine, &probe, &figures)?);
        }
        let folder = self.options.peers.as_path();
        let peers = if folder.exists() && self.shrink == 1 && self.only.is_empty() {
            note("peers");
            peers::on_gpus(folder)?
        } else {
            note("no peers: they are not there, or sizes are not theirs");
            Vec::new()
        };
        let record = Record::new("multi", &self.command(), &machine, probe, &figures, &peers);
        let saved = if self.options.save { Some(record.save()?) } else { None };
        if self.options.json {
            return Ok(record.json().to_string());
        }
        let mut text = table(&figures, &peers);
        text.push_str(&record::repeat_with(&self.command()));
        if let Some(path) = saved {
            text.push_str(&format!("written {}\n", path.display()));
        }
        Ok(text.trim_end().into())
    }

    fn strong<const D: usize>(
        &self,
        stencil: Stencil<f32, D>,
        size: usize,
        list: GpuList,
        machine: &Machine,
        probe: &Probe,
    ) -> Result<Vec<Figure>> {
        let volume = filled([size; D])?;
        let large = volume.len() >= LARGE;
        let budget = Duration::from_secs(self.budget * if large { 3 } else { 1 });
        let tuning = Tuning { target: Target::Gpus(list), budget, ..Tuning::default() };
        let Tuned { trials, notes, .. } = tune(&stencil, &volume, machine, &tuning)?;
        notes.iter().for_each(|what| note(what));
        if self.all {
            let figure = |trial: &Trial| figure(trial, "strong", D, size, volume.len(), probe);
            return Ok(trials.iter().map(figure).collect());
        }
        Ok(figures_of(&trials, "strong", D, size, 1.0, probe))
    }

    /// As many cells a GPU as the largest case has, against that case on one GPU.
    fn weak(&self, machine: &Machine, probe: &Probe, strong: &[Figure]) -> Result<Vec<Figure>> {
        let size = 1024 / self.shrink as usize;
        let stencil = space_stencil();
        let devices = machine.gpus.iter().map(|gpu| gpu.device()).collect::<Result<Vec<_>>>()?;
        let count = devices.len();
        let volume = filled([size * count, size, size])?;
        let extents = volume.extents();
        let mut candidates = MultiCudaPolicy::candidates(&stencil, extents, &devices)?;
        // Single steps, then the trips that are fast where a slab is the whole of it.
        candidates.truncate(WEAK);
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
            seconds.sort_by(f64::total_cmp);
            let policy = Policy::Gpus(policy);
            let trial = Trial { policy, devices: count, seconds: seconds[1] };
            let mut figure = figure(&trial, "weak", 3, size, volume.len(), probe);
            let alone = |same: bool| {
                let one = strong.iter().filter(|it| (it.dims, it.size, it.gpus) == (3, size, 1));
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
}

/// One of the cases by its name.
fn case(text: &str) -> Result<(usize, usize), String> {
    let known = || CASES.iter().map(|(dims, size)| format!("{dims}x{size}")).collect::<Vec<_>>();
    let found = CASES.into_iter().find(|(dims, size)| format!("{dims}x{size}") == text);
    found.ok_or_else(|| format!("no case '{text}'; {}", known().join(", ")))
}

/// The share of a neighbour that the peers take too.
const RATE: f32 = 0.1;

// Order two without the table of weights that `warpweft_apps::heat` looks into: a look that could fail
// keeps a function from being pipelined.
#[stencil]
fn plane(u: Near<f32, 2>, rate: f32) -> f32 {
    let around = u[[-1, 0]] + u[[1, 0]] + u[[0, -1]] + u[[0, 1]];
    u[[0, 0]] + rate * (around - 4.0 * u[[0, 0]])
}

#[stencil]
fn space(u: Near<f32, 3>, rate: f32) -> f32 {
    let around = u[[-1, 0, 0]] + u[[1, 0, 0]] + u[[0, -1, 0]] + u[[0, 1, 0]];
    let around = around + u[[0, 0, -1]] + u[[0, 0, 1]];
    u[[0, 0, 0]] + rate * (around - 6.0 * u[[0, 0, 0]])
}

fn plane_stencil() -> Stencil<f32, 2> {
    Stencil::of(plane(RATE)).boundary(Boundary::Dirichlet(0.0))
}

pub(super) fn space_stencil() -> Stencil<f32, 3> {
    Stencil::of(space(RATE)).boundary(Boundary::Dirichlet(0.0))
}

/// A volume of stirred values, filled by all cores.
pub(super) fn filled<const D: usize>(extents: [usize; D]) -> Result<Volume<f32, D>> {
    let mut volume = Volume::<f32, D>::zeroed(extents)?;
    let cells = volume.as_mut_slice();
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let share = cells.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        for (part, cells) in cells.chunks_mut(share).enumerate() {
            scope.spawn(move || {
                for (n, cell) in cells.iter_mut().enumerate() {
                    let index = (part * share + n) as u32;
                    *cell = (index.wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0;
                }
            });
        }
    });
    Ok(volume)
}

fn kernel(policy: &Policy) -> Option<CudaKernel> {
    match policy {
        Policy::Cuda(cuda) => Some(cuda.kernel),
        Policy::Gpus(gpus) => Some(gpus.cuda.kernel),
        Policy::Cpu(_) => None,
    }
}

fn figure(
    trial: &Trial,
    scaling: &'static str,
    dims: usize,
    size: usize,
    cells: usize,
    probe: &Probe,
) -> Figure {
    let steps = match &trial.policy {
        Policy::Gpus(policy) => f64::from(policy.steps_a_turn()),
        _ => 1.0,
    };
    let hops = probe.pairs.iter().filter_map(|pair| pair.hop);
    let hop = hops.reduce(f64::max).filter(|_| trial.devices > 1);
    let launch = probe.gpus.first().and_then(|gpu| gpu.graph_launch);
    // A pipelined trip is one launch, other turns are a launch a step.
    let piped = kernel(&trial.policy) == Some(CudaKernel::Pipeline);
    let launches = if piped { 1.0 / steps } else { 1.0 };
    Figure {
        scaling,
        dims,
        size,
        gpus: trial.devices,
        microseconds_a_step: 1e6 * trial.seconds,
        cells_per_second: cells as f64 / trial.seconds,
        over_best: 1.0,
        over_same_kernel: None,
        floor: launch.map(|launch| 1e6 * (launch * launches + hop.unwrap_or(0.0) / steps)),
        policy: trial.policy,
    }
}

/// The best of each number of GPUs and, where that is another, the best with each kernel.
fn figures_of(
    trials: &[Trial],
    scaling: &'static str,
    dims: usize,
    size: usize,
    ideal: f64,
    probe: &Probe,
) -> Vec<Figure> {
    let cells = size.pow(dims as u32);
    let best = |devices: usize, of: Option<CudaKernel>| {
        let fit = trials.iter().filter(|trial| trial.devices == devices);
        let fit = fit.filter(|trial| of.is_none() || kernel(&trial.policy) == of);
        fit.min_by(|a, b| a.seconds.total_cmp(&b.seconds))
    };
    let mut counts: Vec<_> = trials.iter().map(|trial| trial.devices).collect();
    counts.sort_unstable();
    counts.dedup();
    let mut figures = Vec::new();
    for devices in counts {
        let mut kernels = vec![best(devices, None).and_then(|trial| kernel(&trial.policy))];
        for of in [CudaKernel::Direct, CudaKernel::Pipeline] {
            if !kernels.contains(&Some(of)) {
                kernels.push(Some(of));
            }
        }
        for of in kernels {
            let Some(trial) = best(devices, of) else { continue };
            let mut figure = figure(trial, scaling, dims, size, cells, probe);
            let over = |one: Option<&Trial>| one.map(|one| ideal * one.seconds / trial.seconds);
            figure.over_best = over(best(1, None)).unwrap_or(f64::NAN);
            figure.over_same_kernel = over(best(1, of));
            figures.push(figure);
        }
    }
    figures
}

fn extents_of(dims: usize, size: usize) -> String {
    vec![size.to_string(); dims].join(" x ")
}

fn table(figures: &[Figure], peers: &[Peer]) -> String {
    let mut text = String::from("Heat conduction of order 2, f32, over GPUs\n");
    let mut last = (String::new(), 0);
    for figure in figures {
        let case = format!("{} {}", figure.scaling, extents_of(figure.dims, figure.size));
        if last.0 != case {
            text.push_str(&format!("{case}\n"));
        }
        let first = last != (case.clone(), figure.gpus);
        last = (case, figure.gpus);
        let gpus = if first { figure.gpus.to_string() } else { String::new() };
        let how = match &figure.policy {
            Policy::Gpus(policy) => format!(
                "{:?}, {:?}, {} steps a turn",
                policy.cuda.kernel,
                policy.exchange,
                policy.steps_a_turn()
            ),
            Policy::Cuda(policy) => {
                format!("{:?}, {} steps a trip", policy.kernel, policy.temporal_depth)
            }
            Policy::Cpu(_) => String::new(),
        };
        let same = figure.over_same_kernel.map_or("-".into(), |over| format!("{over:.2}"));
        let floor = figure.floor.map_or("-".into(), |floor| format!("{floor:.2}"));
        text.push_str(&format!(
            "  {gpus:>1} GPUs {:>9.2} us a step (floor {floor}), {}cells/s, {:.2} of the best on one, {same} of the same kernel; {how}\n",
            figure.microseconds_a_step,
            scaled(figure.cells_per_second),
            figure.over_best,
        ));
    }
    for peer in peers {
        let what = match (peer.cells_per_second, &peer.error) {
            (Some(rate), _) => {
                let gpus = peer.gpus.unwrap_or(1);
                let ours = figures.iter().filter(|it| {
                    (it.scaling, it.dims, it.size, it.gpus)
                        == ("strong", peer.dims, peer.size, gpus)
                });
                let ours = ours.map(|it| it.cells_per_second / rate).fold(f64::NAN, f64::max);
                format!("{}cells/s on {gpus} GPUs; here {ours:.2} times that", scaled(rate))
            }
            (None, Some(why)) => format!("did not run: {why}"),
            _ => continue,
        };
        text.push_str(&format!("  {} {}: {what}\n", peer.peer, extents_of(peer.dims, peer.size)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpweft::stencil::{CudaPolicy, Exchange};

    fn trial(devices: usize, kernel: CudaKernel, seconds: f64) -> Trial {
        let cuda = CudaPolicy {
            kernel,
            cells: [4, 1, 1],
            warps: 4,
            min_blocks: 1,
            chunk: 8,
            prefetch: 1,
            temporal_depth: 3,
            phases: 0,
            contraction: true,
        };
        let policy = match devices {
            1 => Policy::Cuda(cuda),
            _ => Policy::Gpus(MultiCudaPolicy::new(cuda, Exchange::Flags)),
        };
        Trial { policy, devices, seconds }
    }

    #[test]
    fn speedups_are_over_the_best_and_over_the_same_kernel() {
        use CudaKernel::{Direct, Pipeline};
        let trials = [
            trial(1, Direct, 8e-6),
            trial(1, Pipeline, 4e-6),
            trial(4, Direct, 2e-6),
            trial(4, Direct, 3e-6),
            trial(4, Pipeline, 1.6e-6),
        ];
        let probe = Probe {
            cpu: Default::default(),
            gpus: Vec::new(),
            pairs: Vec::new(),
            notes: Vec::new(),
            seconds: 0.0,
        };
        let found = figures_of(&trials, "strong", 2, 10, 1.0, &probe);
        let seen: Vec<_> = found
            .iter()
            .map(|it| (it.gpus, kernel(&it.policy).unwrap(), it.over_best, it.over_same_kernel))
            .collect();
        assert_eq!(
            seen,
            [
                (1, Pipeline, 1.0, Some(1.0)),
                (1, Direct, 0.5, Some(1.0)),
                (4, Pipeline, 4e-6 / 1.6e-6, Some(4e-6 / 1.6e-6)),
                (4, Direct, 2.0, Some(4.0)),
            ]
        );
        let shown = table(&found, &[]);
        assert!(shown.contains("strong 10 x 10") && shown.contains("2.50 of the best"), "{shown}");
    }
}
