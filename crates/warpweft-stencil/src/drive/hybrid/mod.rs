//! The cores next to one GPU: two ranks of one process on slabs across the slowest axis, whose sizes
//! follow the measured speeds.
//!
//! The model decides before the run whether the cores take part at all; [`Balance`] moves planes, or
//! leaves the cores out after all, at swaps. Moving is ending the ranks and beginning with others: the
//! cells meet in host memory, and executors of the new sizes are made. Not here: how ranks swap.

pub(crate) mod balance;

use std::sync::Arc;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::checkpoint::{Opened, Saver, State};
use crate::cuda::CudaSweeps;
use crate::drive::cut::distribution::Distribution;
use crate::drive::deepest_feasible;
use crate::drive::devices::alone::{CELLS_A_SECOND, gpu, of_cores, probe};
use crate::drive::devices::choice::{OnGpu, check_for_parts, fused_steps};
use crate::drive::hybrid::balance::{Balance, Measured, Shares};
use crate::drive::rank_report::RankReport;
use crate::drive::ranks::launch::{DEEPEST, SWAP};
use crate::drive::start::Start;
use crate::drive::steps::Decision;
use crate::drive::subdomain::Build;
use crate::drive::task::{Task, on_cores, store_all};
use crate::exchange::Route;
use crate::executor::SweepExecutor;
use crate::model::FusedSteps;
use crate::model::ghost::{
    Balanced, Geometry, GhostModel, Kernel, Linear, Overlap, Split, Staging, Subdomain,
};
use crate::plan::Region;
use crate::plan::halo::{Margin, Reach, footprints};
use crate::plan::partition::Partition;
use crate::policy::{CpuPolicy, CudaPolicy, Policy};
use crate::run::Run;
use crate::spec::{Spec, Steps};
use crate::tune::tuning_cache::key;
use warpweft_core::cuda::Device;
use warpweft_core::error::Result;
use warpweft_core::grid::{Axes, RawVolume};
use warpweft_core::machine::{Gpu, Machine};
use warpweft_core::report::{Report, Series, counted};
use warpweft_core::run::Target;
use warpweft_core::tune::TuningCache;

/// The cores must be predicted to save so much of the GPU's time alone: predictions are no better.
const WORTH: f64 = 0.05;
/// Seconds between two measurements of the speeds, until the shares are settled and after; a swap
/// at least.
const ROUND: [f64; 2] = [5e-3, 0.5];

/// What a run on both came to.
pub(crate) struct Shared {
    pub distribution: Distribution,
    /// Of the ranks of the last shares, with times and counts of all.
    pub reports: Vec<RankReport>,
    /// All shares there were, in order, and how many measurements went before.
    pub shares: Vec<(usize, Shares)>,
    /// Measurements taken.
    pub rounds: usize,
}

/// Steps on two devices that share a volume.
pub(crate) struct Both<'a> {
    pub stencil: &'a Spec,
    /// Makes the executors of the cores' part and of the GPU's.
    pub builds: [&'a Build<'a>; 2],
    /// Steps between two swaps.
    pub depth: usize,
    /// The steps that are fused in one pass of the GPU's cells over memory.
    pub fused_steps: FusedSteps,
    /// Steps done before, and the residual then.
    pub first: State,
    /// Steps to be done in all.
    pub steps: u64,
    pub saving: Option<&'a Arc<Saver>>,
    /// What probes recorded before, to which more is added.
    pub probed: &'a Mutex<Vec<Series>>,
}

/// Learns from a round of `whole` seconds in which the devices were busy so long.
fn decide(balance: &mut Balance, busy: &[f64], whole: f64) -> Decision {
    let before = balance.shares();
    let cpu = if busy.len() == 2 { busy[0] } else { 0.0 };
    balance.record(Measured { cpu, gpu: *busy.last().unwrap_or(&0.0), whole });
    if balance.shares() != before {
        return Decision::Resize;
    }
    let round = ROUND[usize::from(balance.decided())];
    Decision::Keep((round / whole.max(1e-9)).clamp(1.0, 1e6) as u32)
}

impl Both<'_> {
    /// Advances `state`, shared as `balance` says, which learns on the way.
    pub fn run(&self, state: &mut RawVolume, balance: Balance, run: &Run<'_>) -> Result<Shared> {
        let extents = state.extents();
        let known = Mutex::new((balance, 0));
        let lock = || known.lock().unwrap_or_else(PoisonError::into_inner);
        let rebalance = |busy: &[f64], whole: f64| {
            let (balance, rounds) = &mut *lock();
            *rounds += 1;
            decide(balance, busy, whole)
        };
        let mut first = self.first;
        let mut shares = Vec::new();
        let mut before: Vec<RankReport> = Vec::new();
        loop {
            let (share, rounds) = {
                let known = lock();
                (known.0.shares(), known.1)
            };
            shares.push((rounds, share));
            let planes = [share.cpu, share.gpu].map(|planes| planes as f64);
            let weights = &planes[usize::from(share.cpu == 0)..];
            let partition = Partition::slabs(extents, 0, weights, &self.stencil.boundaries)?;
            let depth = self.depth;
            let distribution = Distribution::fixed(partition, depth);
            let build = |stencil: &Spec, volume: &RawVolume, part: usize| {
                let device = if share.cpu == 0 { 1 } else { part };
                self.builds[device](stencil, volume, part)
            };
            let ranks = {
                let task = Task {
                    stencil: self.stencil,
                    distribution: &distribution,
                    start: Start::Volume(state),
                    first,
                    steps: self.steps,
                    build: &build,
                    saving: self.saving,
                    trace: run.trace.as_deref(),
                    rebalance: Some(&rebalance),
                    fused_steps: self.fused_steps,
                    halos: Some(Route::Host),
                    probed: self.probed,
                };
                task.check(extents)?;
                task.watched(run)?
            };
            let mut reports = store_all(state, &distribution, ranks)?;
            let last = reports.first().copied().unwrap_or_default();
            first = State { step: last.steps, residual: last.residual };
            if let (Some(now), Some(before)) = (reports.first_mut(), before.first()) {
                now.add(before);
            }
            if !last.resized {
                let rounds = lock().1;
                return Ok(Shared { distribution, reports, shares, rounds });
            }
            before = reports;
        }
    }
}

/// What computes `volume` on the GPU.
fn sweeps(
    stencil: &Spec,
    volume: &RawVolume,
    policy: &CudaPolicy,
    device: &Device,
) -> Result<Box<dyn SweepExecutor>> {
    Ok(Box::new(CudaSweeps::new(stencil, volume, policy, device)?))
}

impl Spec {
    /// Advances `volume` on the cores and GPU `number` together, or on the GPU alone where the cores
    /// would not add to its speed. Multiplications and additions are not contracted where both take
    /// part, so the result does not depend on who computed which plane.
    ///
    /// # Errors
    /// As [`Stencil::run_with`]; a source of a field that no stage writes.
    pub(crate) fn run_on_both(
        &self,
        volume: &mut RawVolume,
        Steps(steps): Steps,
        machine: &Machine,
        number: usize,
        run: &Run<'_>,
    ) -> Result<Report> {
        let begin = Instant::now();
        let extents = volume.extents();
        self.check(extents)?;
        check_for_parts(run.policy)?;
        let gpu = gpu(machine, number)?;
        let cache = TuningCache::user();
        let key = key(self, extents, machine, &gpu.name);
        let of_gpu = OnGpu::of(self, (extents, gpu.capability), (&cache, &key), run);
        let (depth, split, alone) =
            self.predicted_split(extents, machine, (gpu, &of_gpu), (&cache, run));
        let why = words(&split, alone, depth);
        if split.cpu == 0 || split.seconds > (1.0 - WORTH) * alone {
            return self.run_without_cores((volume, Steps(steps)), machine, number, run, &why);
        }
        let device = gpu.device()?;
        let (cpu_policy, cores) = self.beside(extents, split.cpu, machine, run);
        cpu_policy.check()?;
        let cuda = CudaPolicy { contraction: false, ..of_gpu.choice.policy };
        let lists = [cores];
        let on_cores = on_cores(cpu_policy, &lists);
        let on_gpu =
            |stencil: &Spec, volume: &RawVolume, _: usize| sweeps(stencil, volume, &cuda, &device);
        let mut saved = self.open_checkpoint(volume, steps, run)?;
        let probed = Mutex::new(self.recorded_before(saved.as_mut()));
        let both = Both {
            stencil: self,
            builds: [&on_cores, &on_gpu],
            depth,
            fused_steps: Policy::Cuda(cuda).fused_steps(self.rank()),
            first: saved.as_ref().map(Opened::first).unwrap_or_default(),
            steps,
            saving: saved.as_ref().map(|saved| &saved.saver),
            probed: &probed,
        };
        let mut state = self.begun_from(volume, saved.as_ref())?;
        let smallest = self.thinnest(depth);
        let balance = Balance::new(extents[0], smallest, split.cpu as f64 / extents[0] as f64);
        let shared = both.run(&mut state, balance, run)?;
        *volume = state;
        let (first, policies) = (both.first.step, [Policy::Cpu(cpu_policy), Policy::Cuda(cuda)]);
        let mut report = self.report_of_both(&shared, first, (machine, gpu), policies);
        report.devices = vec![machine.cpu.label(lists[0].len()), gpu.label()];
        report.setup_seconds = begin.elapsed().as_secs_f64() - report.seconds;
        report.predicted_seconds = Some(split.seconds * (report.done - first) as f64);
        report.probes = probed.into_inner().unwrap_or_else(PoisonError::into_inner);
        report.notes.extend(saved.map(|saved| saved.notes).unwrap_or_default());
        report.notes.extend(of_gpu.choice.note);
        report.notes.push(why);
        Ok(report)
    }

    /// Advances `volume` on GPU `number` alone, and says why.
    fn run_without_cores(
        &self,
        (volume, steps): (&mut RawVolume, Steps),
        machine: &Machine,
        number: usize,
        run: &Run<'_>,
        why: &str,
    ) -> Result<Report> {
        let policy = run.policy.filter(|policy| matches!(policy, Policy::Cuda(_)));
        let run = Run { target: Target::Gpu(number), policy, trace: run.trace.clone(), ..*run };
        let mut report = self.run_with(volume, steps, machine, &run)?;
        report.notes.insert(0, format!("only the GPU is used: {why}"));
        Ok(report)
    }

    /// What both did after `first` steps: their planes, their memories' bytes a second, and `policies`, the cores' and
    /// the GPU's.
    fn report_of_both(
        &self,
        Shared { distribution, reports, shares, rounds }: &Shared,
        first: u64,
        (machine, gpu): (&Machine, &Gpu),
        policies: [Policy; 2],
    ) -> Report {
        let (of_cores, disturbed) = of_cores(machine);
        let of_memory = probe(machine).and_then(|probe| probe.gpu(gpu.ordinal)?.bandwidth());
        let bandwidth = of_cores.zip(of_memory).map(|(cores, gpu)| cores + gpu);
        let mut report = self.reported(distribution, reports, first, policies[1], bandwidth, None);
        let gpu_alone = Shares { cpu: 0, gpu: distribution.partition.extents()[0] };
        let last = shares.last().map_or(gpu_alone, |last| last.1);
        report.policy = serde_json::json!({
            "depth": distribution.depth,
            "planes": [last.cpu, last.gpu],
            "resized": shares.len() - 1,
            "cpu": policies[0],
            "gpu": policies[1],
        });
        let planes: Vec<_> =
            shares.iter().map(|(_, share)| format!("{} + {}", share.cpu, share.gpu)).collect();
        report.notes.extend(disturbed);
        report.notes.push(format!(
            "planes of cores and GPU over {rounds} measurements: {}",
            planes.join(", ")
        ));
        report
    }

    /// The cells that a run begins from: those saved, else those of `volume`.
    fn begun_from(&self, volume: &RawVolume, saved: Option<&Opened>) -> Result<RawVolume> {
        let (dims, high) = (volume.rank(), volume.extents());
        match saved.and_then(|saved| saved.from.as_ref()) {
            Some(from) => from.cells(Region { low: Axes::filled(dims, 0), high }.into()),
            None => volume.cut_out(Axes::filled(dims, 0), high),
        }
    }

    /// The fewest planes that a part of two may have where ghost zones serve `depth` steps.
    pub(crate) fn thinnest(&self, depth: usize) -> usize {
        let stages = footprints(&self.stages);
        let [below, above] = Reach::new(self.rank(), &stages, self.cell.len(), depth).deepest()[0];
        // A mirror looks its ghosts up among the cells of one part, the first not among them.
        let radius = self.radius()[0];
        below.max(above).max(radius[0].max(radius[1]) + 1)
    }

    /// Steps between swaps, the shares and the seconds a step of the GPU alone, as predicted by
    /// equation (8) from what tuning or the probe knows of the two.
    fn predicted_split(
        &self,
        extents: Axes<usize>,
        machine: &Machine,
        (gpu, on_gpu): (&Gpu, &OnGpu),
        (cache, run): (&TuningCache, &Run<'_>),
    ) -> (usize, Split, f64) {
        let probe = probe(machine);
        let threads = run.threads.unwrap_or_else(|| machine.cpu.threads());
        let of_cores = key(self, extents, machine, &format!("{threads} threads"));
        let by_memory = |bandwidth: Option<f64>| Some(bandwidth? / self.step_bytes().max(1) as f64);
        let of_gpu = probe.as_ref().and_then(|probe| probe.gpu(gpu.ordinal));
        let of_cores = cache.get(&of_cores).map(|entry| entry.rate);
        let of_cores = of_cores
            .or_else(|| by_memory(probe.as_ref()?.cpu.copy))
            .unwrap_or(CELLS_A_SECOND[0] * threads as f64);
        let untuned =
            by_memory(of_gpu.and_then(|gpu| gpu.bandwidth())).unwrap_or(CELLS_A_SECOND[1]);
        let link = of_gpu.and_then(|gpu| Some(gpu.to_device?.min(gpu.from_device?)));
        let model = |rate: f64, fixed: f64| GhostModel {
            compute: Linear { per_unit: 1.0 / rate, fixed },
            network: Linear::default(),
            host_link: Linear {
                per_unit: link.map_or(SWAP.per_unit, |link| 1.0 / link),
                fixed: SWAP.fixed,
            },
            kernel: Kernel::ShrinkingLaunches,
            staging: Staging::Halos,
            overlap: Overlap::None,
        };
        let launch = of_gpu.and_then(|gpu| gpu.graph_launch).unwrap_or(1e-6);
        let stages = footprints(&self.stages);
        let one: Margin = Reach::new(self.rank(), &stages, self.cell.len(), 1).deepest();
        let written = self.written_fields().into_iter().map(|f| self.cell.size(f));
        let part = Subdomain {
            extents,
            delta: extents.map(|_| [0; 2]),
            cell_bytes: written.sum::<usize>() as f64,
        };
        let cpu = GhostModel { staging: Staging::None, ..model(of_cores, launch) };
        let gpu = model(on_gpu.rate.unwrap_or(untuned), launch);
        let both = Balanced { cpu, gpu, delta: one[0] };
        let fused_steps = fused_steps(&on_gpu.choice.policy);
        let deepest = self.deepest_of_two(extents, fused_steps, run);
        // The GPU advances by whole time blocks.
        let depths = (1..=deepest / fused_steps)
            .map(|blocks| blocks * fused_steps)
            .chain((deepest > 0).then_some(1));
        let alone = match on_gpu.alone {
            Some(rate) => part.cells() / rate,
            None => both.gpu.predict(&part, fused_steps).seconds,
        };
        let splits = depths.map(|depth| (depth, both.split(&part, depth)));
        let best = splits.min_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds));
        let nothing = (1, Split { cpu: 0, gpu: extents[0], seconds: alone });
        let (depth, split) = best.unwrap_or(nothing);
        (depth, split, alone)
    }

    /// The most steps between halo exchanges of two equal subdomains.
    fn deepest_of_two(&self, extents: Axes<usize>, fused_steps: usize, run: &Run<'_>) -> usize {
        let halves = Partition::slabs(extents, 0, &[1.0; 2], &self.boundaries);
        halves.map_or(0, |halves| {
            let every = run.checkpoint.map(|at| at.every);
            let most = self.longest_swap(DEEPEST.max(4 * fused_steps), every);
            let stages = footprints(&self.stages);
            deepest_feasible(&halves, &self.boundaries, &stages, self.cell.len(), most)
        })
    }

    /// The policy of the cores for `planes` planes, and the cores: one is left to drive the GPU.
    fn beside(
        &self,
        mut extents: Axes<usize>,
        planes: usize,
        machine: &Machine,
        run: &Run<'_>,
    ) -> (CpuPolicy, Vec<usize>) {
        let threads = run.threads.unwrap_or_else(|| machine.cpu.threads());
        let spare = usize::from(threads > 1);
        let all = machine.cpu.cores.iter().copied().cycle().take(threads);
        let cores: Vec<usize> = all.skip(spare).collect();
        extents[0] = planes;
        let policy = match run.policy {
            Some(Policy::Cpu(policy)) => policy,
            _ => self.default_on_cores(extents, machine, cores.len()),
        };
        (policy, cores)
    }
}

/// What the model says.
fn words(split: &Split, alone: f64, depth: usize) -> String {
    let micros = |seconds: f64| format!("{:.1} us", 1e6 * seconds);
    match split.cpu {
        0 => {
            format!("the model predicts that the GPU alone is fastest, {} per step", micros(alone))
        }
        cpu => format!(
            "the model has {} a step with {cpu} of {} planes on the cores, a halo exchange every \
             {} and {} on the GPU alone",
            micros(split.seconds),
            cpu + split.gpu,
            counted(depth as u64, "step"),
            micros(alone)
        ),
    }
}

#[cfg(test)]
mod tests;
