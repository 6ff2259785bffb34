//! Tuning a stencil: the model's shape first, a search around it, conformance before victory, and
//! the result kept as wisdom.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::conformance::agrees;
use super::cpu::CpuSweeps;
use super::cuda::CudaSweeps;
use super::executor::SweepExecutor;
use super::plan::{Region, Sweep};
use super::policy::{CpuPolicy, CudaPolicy, Policy};
use super::run::{Target, cores};
use super::spec::Stencil;
use super::wisdom::key;
use crate::cpu::Pool;
use crate::cuda;
use crate::element::Fields;
use crate::error::{Error, Result};
use crate::grid::Volume;
use crate::machine::{Gpu, Machine};
use crate::tune::{
    Axis, Budget, Entry, Found, Measured, Repeats, Space, Wisdom, climb, exhaustive, measure,
};

/// Seconds that one measured run should last: long beside a time slice, short beside a budget.
const RUN: f64 = 0.03;
/// Cells along each axis of the volume on which a candidate must agree with the reference.
const CHECKED: usize = 24;

/// The winner of a search, and what it won against.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned {
    /// The winner.
    pub policy: Policy,
    /// What the winner took, in seconds a step.
    pub measured: Measured,
    /// Cells a second of the winner.
    pub rate: f64,
    /// Cells a second of the untuned policy.
    pub untuned: f64,
    /// Candidates measured.
    pub tried: usize,
    /// Candidates that were faster than any before but did not agree with the reference, or
    /// could not run; 0 unless something is broken.
    pub refused: usize,
    /// Whether the search came to its own end before the budget did.
    pub complete: bool,
    /// Whether it is kept for later runs; if not, a note says why.
    pub kept: bool,
    /// What could not be kept, or what of the wisdom was damaged.
    pub notes: Vec<String>,
}

/// What to tune for.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// The device; [`Target::Auto`] is the first GPU if there is one, else the cores.
    pub target: Target,
    /// Threads on the cores; all of them if `None`.
    pub threads: Option<usize>,
    /// Time the search may take, about.
    pub budget: Duration,
    /// Where the result is kept; the user's cache folder, where runs look, if `None`.
    pub folder: Option<PathBuf>,
}

impl Default for Tuning {
    /// Ten seconds for the best device.
    fn default() -> Self {
        let budget = Duration::from_secs(10);
        Self { target: Target::Auto, threads: None, budget, folder: None }
    }
}

/// Searches for the fastest policy of `stencil` on volumes like `volume`, which is not changed, and
/// keeps it for later runs.
///
/// # Errors
/// As [`Stencil::run`]. A folder that can't be written is a note.
pub fn tune<S: Fields, const D: usize>(
    stencil: &Stencil<S, D>,
    volume: &Volume<S, D>,
    machine: &Machine,
    tuning: &Tuning,
) -> Result<Tuned> {
    let extents = volume.extents();
    stencil.check(extents)?;
    let gpu = match tuning.target {
        Target::Cpu => None,
        Target::Auto => machine.gpus.first(),
        Target::Gpus(_) => {
            return Err(Error::spec("tuning for several GPUs", "tune for one, e.g. gpu:0"));
        }
        Target::Gpu(number) => {
            let gpu = machine.gpus.iter().find(|gpu| gpu.ordinal == number);
            Some(gpu.ok_or_else(|| Error::Device {
                stage: "choosing a device".into(),
                device: format!("GPU {number}"),
                what: format!("this machine has {} GPUs", machine.gpus.len()),
                remedy: "tune for the CPU, or see `warpweft info`".into(),
            })?)
        }
    };
    let budget = Budget::of(tuning.budget);
    let mut search = Search::new(stencil, volume)?;
    let (device, tuned) = match gpu {
        Some(gpu) => (gpu.name.clone(), search.on_gpu(gpu, budget)?),
        None => {
            let most = tuning.threads.unwrap_or_else(|| machine.cpu.threads());
            (format!("{most} threads"), search.on_cores(machine, most, budget)?)
        }
    };
    let Some((policy, found)) = tuned else {
        return Err(Error::spec(
            "no policy of this stencil ran and agreed with the reference",
            "run `warpweft verify` and report what fails",
        ));
    };
    let per_second = |seconds: f64| volume.len() as f64 / seconds;
    let rate = per_second(found.measured.median);
    let mut tuned = Tuned {
        policy,
        measured: found.measured,
        rate,
        untuned: search.untuned.map_or(rate, per_second),
        tried: found.tried,
        refused: search.refused,
        complete: found.complete,
        kept: false,
        notes: Vec::new(),
    };
    let value = match policy {
        Policy::Cpu(policy) => serde_json::to_value(policy),
        Policy::Cuda(policy) => serde_json::to_value(policy),
        Policy::Gpus(policy) => serde_json::to_value(policy),
    };
    let entry = Entry {
        policy: value.unwrap_or_default(),
        measured: found.measured,
        rate,
        tried: found.tried,
    };
    let mut wisdom = tuning.folder.as_deref().map_or_else(Wisdom::user, Wisdom::open);
    tuned.notes.extend(wisdom.note().map(str::to_owned));
    match wisdom.keep(&key(stencil, extents, machine, &device), entry) {
        Ok(kept) => tuned.kept = kept,
        Err(error) => tuned.notes.push(error.to_string()),
    }
    Ok(tuned)
}

struct Search<'a, S: Fields, const D: usize> {
    stencil: &'a Stencil<S, D>,
    volume: &'a Volume<S, D>,
    /// The same stencil on a corner of the volume, for checks.
    corner: Volume<S, D>,
    /// Seconds a step of the first candidate.
    untuned: Option<f64>,
    refused: usize,
}

impl<'a, S: Fields, const D: usize> Search<'a, S, D> {
    fn new(stencil: &'a Stencil<S, D>, volume: &'a Volume<S, D>) -> Result<Self> {
        let radius = stencil.radius();
        let extents = std::array::from_fn(|d| {
            let least = radius[d][0].max(radius[d][1]) + 1;
            // Odd, so that tiles and vectors have remainders.
            (CHECKED + 2 * d + 1).max(least).min(volume.extents()[d])
        });
        let corner = Volume::try_from_fn(extents, |at| volume.get(at).unwrap_or(S::splat(0.0)))?;
        Ok(Self { stencil, volume, corner, untuned: None, refused: 0 })
    }

    fn on_cores(
        &mut self,
        machine: &Machine,
        most: usize,
        budget: Budget,
    ) -> Result<Option<(Policy, Found)>> {
        let (stencil, extents) = (self.stencil, self.volume.extents());
        let start = stencil.default_on_cores(extents, machine, most);
        start.check()?;
        let pool = Arc::new(Pool::new(&cores(machine, start.threads))?);
        let simd = machine.cpu.simd;
        let make = |policy: CpuPolicy, volume: &Volume<S, D>| {
            CpuSweeps::new(stencil, volume, policy, pool.clone(), simd)
        };
        let space = start.space(stencil, extents);
        let found = climb(&space, &start.values(), budget, &mut |values, best| {
            let policy = start.with_values(values);
            let depth = policy.temporal_depth as u64;
            let rate = start.threads as f64 * 1e9;
            self.trial(depth, rate, best, |volume, _| make(policy, volume))
        })?;
        Ok(found.map(|found| (Policy::Cpu(start.with_values(&found.values)), found)))
    }

    fn on_gpu(&mut self, gpu: &Gpu, budget: Budget) -> Result<Option<(Policy, Found)>> {
        let stencil = self.stencil;
        let device: cuda::Device = gpu.device()?;
        let candidates = CudaPolicy::candidates(stencil, self.volume.extents(), gpu.capability);
        let axis = Axis { name: "candidate", values: (0..candidates.len()).collect() };
        let space = Space::new(vec![axis], |_| true);
        let found = exhaustive(&space, budget, &mut |values, best| {
            let policy = candidates[values[0]];
            let depth = u64::from(policy.temporal_depth);
            self.trial(depth, 1e11, best, |volume, checked| {
                // Contraction changes bits by design, so the check is of the same shape without.
                let contraction = policy.contraction && !checked;
                CudaSweeps::new(stencil, volume, &CudaPolicy { contraction, ..policy }, &device)
            })
        })?;
        Ok(found.map(|found| (Policy::Cuda(candidates[found.values[0]]), found)))
    }

    /// Measures a candidate in seconds a step; checks it before it may beat `best`. `rate` is about
    /// how many cells a second the device does.
    fn trial<X: SweepExecutor<S, D>>(
        &mut self,
        depth: u64,
        rate: f64,
        best: f64,
        make: impl Fn(&Volume<S, D>, bool) -> Result<X>,
    ) -> Result<Option<Measured>> {
        let mut executor = match make(self.volume, false) {
            Ok(executor) => executor,
            // Too much shared memory or too many ghost cells: not a candidate after all.
            Err(Error::Spec { .. } | Error::Memory { .. } | Error::Compile { .. }) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let cells = self.volume.len() as f64;
        let checked = self.stencil.until.is_some_and(|until| until.every == 1);
        let steps = if checked { 1 } else { (RUN * rate / cells) as u64 };
        let steps = steps.max(1).next_multiple_of(if checked { 1 } else { depth });
        let region = Region { low: [0; D], high: self.volume.extents() };
        let sweep = Sweep { first_step: 0, steps, region, keep_change: checked };
        let mut run = || {
            let start = Instant::now();
            executor.sweep(&sweep)?;
            if let (Some(until), true) = (self.stencil.until, checked) {
                executor.residual(until.residual)?;
            }
            executor.finish()?;
            Ok(start.elapsed().as_secs_f64() / steps as f64)
        };
        // The first touches everything.
        run()?;
        let measured = measure(Repeats::default(), best, run)?;
        drop(executor);
        self.untuned.get_or_insert(measured.median);
        if measured.median < best {
            let mut on_corner = make(&self.corner, true)?;
            let plain = Stencil { until: None, ..self.stencil.clone() };
            if !agrees(&mut on_corner, &plain, &self.corner, 2 * depth.min(16) + 1)? {
                self.refused += 1;
                return Ok(None);
            }
        }
        Ok(Some(measured))
    }
}
