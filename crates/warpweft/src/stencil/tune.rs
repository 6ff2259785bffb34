//! Tuning a stencil: the model's shape first, a search around it, conformance before victory, and
//! the result kept as wisdom.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::conformance::agrees;
use super::cpu::CpuSweeps;
use super::cuda::CudaSweeps;
use super::cuda::multi::{GpuList, MultiCudaPolicy, MultiCudaSweeps, compile_check};
use super::executor::SweepExecutor;
use super::gpus::{Chosen, placed};
use super::plan::{Region, Sweep};
use super::policy::{CpuPolicy, CudaPolicy, Policy};
use super::run::Target;
use super::spec::Spec;
use super::wisdom::{key, label};
use crate::cpu::Pool;
use crate::cuda::{self, Together};
use crate::error::{Error, Result};
use crate::grid::RawVolume;
use crate::machine::{Gpu, Machine, Probe};
use crate::tune::{
    Axis, Budget, Entry, Found, Measured, Repeats, Space, Wisdom, climb, exhaustive, measure,
};

/// Seconds that one measured run should last: long beside a time slice, short beside a budget.
const RUN: f64 = 0.03;
/// Steps of a measured run grow by so much at a time at most: what a step takes can only be found out,
/// and on a few cells the hand-over between threads takes thousands of times what the cells do.
const GROWTH: f64 = 32.0;
/// Cells along each axis of the volume on which a candidate must agree with the reference.
const CHECKED: usize = 24;
/// Planes of a slab on which a candidate is checked: one more than the deepest ghost zone.
const DEEPEST: usize = 17;

/// Candidates on several GPUs are compiled ahead by so many threads at most.
const COMPILERS: usize = 16;

/// A candidate that ran.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// How it ran.
    pub policy: Policy,
    /// Devices it ran on.
    pub devices: usize,
    /// Seconds a step: the median of the runs.
    pub seconds: f64,
    /// Steps that its runs did, the first of all included, and seconds that these took.
    pub ran: (u64, f64),
}

/// A candidate that can't run here, or must not: it did not agree with the reference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Refused {
    /// How it was to run.
    pub policy: Policy,
    /// Devices it was to run on.
    pub devices: usize,
    /// Why it didn't.
    pub reason: String,
}

/// What a candidate's runs came to.
struct Ran {
    measured: Measured,
    steps: u64,
    seconds: f64,
}

/// A candidate's runs, or why it is refused.
type Tried = Result<Ran, String>;

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
    /// Candidates that could not run, for want of shared memory or planes, say, or were faster than any
    /// before but did not agree with the reference, which none should.
    pub refused: Vec<Refused>,
    /// Whether the search came to its own end before the budget did.
    pub complete: bool,
    /// The GPUs that the winner runs on, in the order of their slabs; none on the cores.
    pub gpus: Vec<usize>,
    /// All candidates that ran on GPUs, as they were tried.
    pub trials: Vec<Trial>,
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
/// As [`Spec::run_with`]. A folder that can't be written is a note.
pub fn tune<const D: usize>(
    stencil: &Spec<D>,
    volume: &RawVolume<D>,
    machine: &Machine,
    tuning: &Tuning,
) -> Result<Tuned> {
    let extents = volume.extents();
    stencil.check(extents)?;
    let known = |number: usize| {
        machine.gpus.iter().find(|gpu| gpu.ordinal == number).ok_or_else(|| Error::Device {
            stage: "choosing a device".into(),
            device: format!("GPU {number}"),
            what: format!("this machine has {} GPUs", machine.gpus.len()),
            remedy: "tune for the CPU, or see `warpweft info`".into(),
        })
    };
    let list: Vec<&Gpu> = match tuning.target {
        Target::Cpu => Vec::new(),
        Target::CpuAndGpu(_) => {
            return Err(Error::spec(
                "tuning the cores and a GPU together",
                "tune each by itself: a run on both takes what either's tuning found",
            ));
        }
        Target::Auto => machine.gpus.first().into_iter().collect(),
        Target::Gpu(number) => vec![known(number)?],
        Target::Gpus(list) => list.numbers().map(known).collect::<Result<_>>()?,
    };
    let budget = tuning.budget;
    let (mut gpus, mut several) = (Vec::new(), false);
    let (device, mut search, tuned) = match (&list[..], tuning.target) {
        ([], _) => {
            let mut search = Search::new(stencil, volume, CHECKED)?;
            let most = tuning.threads.unwrap_or_else(|| machine.cpu.threads());
            let tuned = search.on_cores(machine, most, Budget::of(budget))?;
            (format!("{most} threads"), search, tuned)
        }
        ([gpu], _) => {
            let mut search = Search::new(stencil, volume, CHECKED)?;
            gpus.push(gpu.ordinal);
            let tuned = search.on_gpu(gpu, budget, 1)?;
            (gpu.name.clone(), search, tuned)
        }
        (all, Target::Gpus(list)) => {
            // Slabs of so many planes hold the ghost zones of any candidate.
            let mut search = Search::new(stencil, volume, CHECKED.max(all.len() * DEEPEST))?;
            let found = search.on_gpus(machine, list, budget)?;
            several = true;
            let tuned = found.map(|(chosen, found)| {
                gpus.extend(chosen.gpus.numbers());
                (chosen.policy, found)
            });
            (label(all), search, tuned)
        }
        (all, target) => {
            let what = format!("{} GPUs for target {target:?}", all.len());
            return Err(Error::spec(what, "report this as a defect"));
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
        refused: std::mem::take(&mut search.refused),
        complete: found.complete,
        kept: false,
        trials: std::mem::take(&mut search.trials),
        gpus,
        notes: Vec::new(),
    };
    let value = match policy {
        policy if several => {
            let gpus = GpuList::new(&tuned.gpus)?;
            serde_json::to_value(Chosen { gpus, policy })
        }
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
    let key = key(stencil, extents, machine, &device);
    if let Some(known) = wisdom.get(&key).filter(|known| known.outdoes(&entry)) {
        tuned.notes.push(format!(
            "an earlier search that tried {} policies found a faster one ({:.3e} cells/s): that is kept",
            known.tried, known.rate
        ));
        return Ok(tuned);
    }
    match wisdom.keep(&key, entry) {
        Ok(kept) => tuned.kept = kept,
        Err(error) => tuned.notes.push(error.to_string()),
    }
    Ok(tuned)
}

struct Search<'a, const D: usize> {
    stencil: &'a Spec<D>,
    volume: &'a RawVolume<D>,
    /// The same stencil on a corner of the volume, for checks.
    corner: RawVolume<D>,
    /// Seconds a step of the first candidate.
    untuned: Option<f64>,
    refused: Vec<Refused>,
    trials: Vec<Trial>,
}

impl<'a, const D: usize> Search<'a, D> {
    /// Candidates are checked on volumes of `planes` planes or so.
    fn new(stencil: &'a Spec<D>, volume: &'a RawVolume<D>, planes: usize) -> Result<Self> {
        let radius = stencil.radius();
        let extents = std::array::from_fn(|d| {
            let least = radius[d][0].max(radius[d][1]) + 1;
            // Odd, so that tiles and vectors have remainders.
            let cells = if d == 0 { planes } else { CHECKED };
            (cells + 2 * d + 1).max(least).min(volume.extents()[d])
        });
        let corner = volume.cut_out([0; D], extents)?;
        Ok(Self { stencil, volume, corner, untuned: None, refused: Vec::new(), trials: Vec::new() })
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
        let pool = Arc::new(Pool::over(&machine.cpu.cores, start.threads)?);
        let simd = machine.cpu.simd;
        let make = |policy: CpuPolicy, volume: &RawVolume<D>| {
            CpuSweeps::new(stencil, volume, policy, pool.clone(), simd)
        };
        let space = start.space(stencil, extents);
        let found = climb(&space, &start.values(), budget, &mut |values, best| {
            let policy = start.with_values(values);
            let depth = policy.temporal_depth as u64;
            let ran = self.trial(depth, best, budget, |volume, _| make(policy, volume))?;
            Ok(self.ran(Policy::Cpu(policy), 1, ran).map(|ran| ran.measured))
        })?;
        Ok(found.map(|found| (Policy::Cpu(start.with_values(&found.values)), found)))
    }

    /// The best policy on one GPU, whose candidates so many threads compile ahead; one compiles
    /// them as they are tried, within the budget.
    fn on_gpu(
        &mut self,
        gpu: &Gpu,
        budget: Duration,
        threads: usize,
    ) -> Result<Option<(Policy, Found)>> {
        let stencil = self.stencil;
        let device: cuda::Device = gpu.device()?;
        let extents = self.volume.extents();
        let candidates = CudaPolicy::candidates(stencil, extents, (gpu.capability, gpu.sms));
        let mut begin = Budget::of(budget);
        if threads > 1 {
            let arch = device.arch()?;
            compile_ahead(candidates.len(), threads, begin, |n, checked| {
                let mut policy = candidates[n];
                policy.contraction &= !checked;
                let _ = super::cuda::compile_check(stencil, extents, &policy, &arch);
            });
            begin = Budget::of(budget);
        }
        let axis = Axis { name: "candidate", values: (0..candidates.len()).collect() };
        let space = Space::new(vec![axis], |_| true);
        let found = exhaustive(&space, begin, &mut |values, best| {
            let policy = candidates[values[0]];
            let depth = u64::from(policy.temporal_depth);
            let ran = self.trial(depth, best, begin, |volume, checked| {
                // Contraction changes bits by design, so the check is of the same shape without.
                let contraction = policy.contraction && !checked;
                CudaSweeps::new(stencil, volume, &CudaPolicy { contraction, ..policy }, &device)
            })?;
            Ok(self.note(Policy::Cuda(policy), 1, ran))
        })?;
        Ok(found.map(|found| (Policy::Cuda(candidates[found.values[0]]), found)))
    }

    /// What a candidate's runs came to; else keeps why there were none.
    fn ran(&mut self, policy: Policy, devices: usize, ran: Tried) -> Option<Ran> {
        ran.map_err(|reason| self.refused.push(Refused { policy, devices, reason })).ok()
    }

    /// Keeps a trial, whether it ran or not; what it measured.
    fn note(&mut self, policy: Policy, devices: usize, ran: Tried) -> Option<Measured> {
        let Ran { measured, steps, seconds } = self.ran(policy, devices, ran)?;
        let ran = (steps, seconds);
        self.trials.push(Trial { policy, devices, seconds: measured.median, ran });
        Some(measured)
    }

    /// The best of all numbers of GPUs of `list`, each number with its share of the budget; one GPU
    /// among them, so that several are never taken for being slower. As many as fewer by less than
    /// a hundredth are not taken either: idle ones are free for others.
    fn on_gpus(
        &mut self,
        machine: &Machine,
        list: GpuList,
        budget: Duration,
    ) -> Result<Option<(Chosen, Found)>> {
        let probe = cuda::folder().and_then(|at| Probe::load(machine, &at, &mut Vec::new()));
        let extents = self.volume.extents();
        let plane = self.volume.len() / extents[0].max(1);
        let bytes =
            self.stencil.cell.fields().iter().map(|field| field.kind.size()).sum::<usize>() * plane;
        let all = list.numbers().count();
        let counts: Vec<usize> = (1..=all).filter(|&n| n == all || n.is_power_of_two()).collect();
        let mut best: Option<(Chosen, Found)> = None;
        let mut tried = 0;
        let mut complete = true;
        for &count in &counts {
            let share = budget / counts.len() as u32;
            let placed = placed(list, count, machine, probe.as_ref(), bytes as f64);
            let Some(gpus) = placed else { continue };
            let found = match count {
                1 => {
                    let number = gpus.numbers().next().unwrap_or(0);
                    let gpu = machine.gpus.iter().find(|gpu| gpu.ordinal == number);
                    let threads = machine.cpu.threads();
                    gpu.map(|gpu| self.on_gpu(gpu, share, threads)).transpose()?.flatten()
                }
                _ => self.on_so_many(machine, gpus, share)?,
            };
            let Some((policy, found)) = found else { continue };
            tried += found.tried;
            complete &= found.complete;
            let beaten = best.as_ref().map_or(f64::INFINITY, |(_, best)| best.measured.median);
            if found.measured.median < 0.99 * beaten {
                best = Some((Chosen { gpus, policy }, found));
            }
        }
        Ok(best.map(|(chosen, found)| (chosen, Found { tried, complete, ..found })))
    }

    /// The best policy on just these GPUs.
    fn on_so_many(
        &mut self,
        machine: &Machine,
        gpus: GpuList,
        budget: Duration,
    ) -> Result<Option<(Policy, Found)>> {
        let (stencil, extents) = (self.stencil, self.volume.extents());
        let of_list = |number| machine.gpus.iter().find(|gpu| gpu.ordinal == number);
        let devices = gpus.numbers().filter_map(of_list);
        let devices = devices.map(|gpu| gpu.device()).collect::<Result<Vec<_>>>()?;
        let candidates = match MultiCudaPolicy::candidates(stencil, extents, &devices) {
            // Fewer planes than so many slabs need.
            Err(Error::Spec { .. }) => return Ok(None),
            candidates => candidates?,
        };
        if let Some(Ok(arch)) = devices.first().map(|device| device.arch()) {
            let (threads, begin) = (machine.cpu.threads(), Budget::of(budget));
            compile_ahead(candidates.len(), threads, begin, |n, checked| {
                let mut policy = candidates[n];
                policy.cuda.contraction &= !checked;
                let _ = compile_check(stencil, &policy, &arch);
            });
        }
        let axis = Axis { name: "candidate", values: (0..candidates.len()).collect() };
        let space = Space::new(vec![axis], |_| true);
        let begin = Budget::of(budget);
        let _together = Together::begin();
        let found = exhaustive(&space, begin, &mut |values, best| {
            let policy = candidates[values[0]];
            let depth = u64::from(policy.steps_a_turn());
            let ran = self.trial(depth, best, begin, |volume, checked| {
                let mut policy = policy;
                policy.cuda.contraction &= !checked;
                MultiCudaSweeps::new(stencil, volume, &policy, &devices)
            })?;
            Ok(self.note(Policy::Gpus(policy), devices.len(), ran))
        })?;
        Ok(found.map(|found| (Policy::Gpus(candidates[found.values[0]]), found)))
    }

    /// Measures a candidate in seconds a step; checks it before it may beat `best`.
    fn trial<X: SweepExecutor<D>>(
        &mut self,
        depth: u64,
        best: f64,
        budget: Budget,
        make: impl Fn(&RawVolume<D>, bool) -> Result<X>,
    ) -> Result<Tried> {
        let mut executor = match make(self.volume, false) {
            Ok(executor) => executor,
            // Too much shared memory or too many ghost cells: not a candidate after all.
            Err(error @ (Error::Spec { .. } | Error::Memory { .. } | Error::Compile { .. })) => {
                return Ok(Err(error.to_string()));
            }
            Err(error) => return Err(error),
        };
        let checked = self.stencil.until.is_some_and(|until| until.every == 1);
        let whole = if checked { 1 } else { depth.max(1) };
        let region = Region { low: [0; D], high: self.volume.extents() };
        let (mut all_steps, mut all_seconds) = (0, 0.0);
        let mut run = |steps: u64| {
            let sweep = Sweep { first_step: 0, steps, region, keep_change: checked };
            let start = Instant::now();
            executor.sweep(&sweep)?;
            if let (Some(until), true) = (self.stencil.until, checked) {
                executor.residual(until.residual)?;
            }
            executor.finish()?;
            let seconds = start.elapsed().as_secs_f64();
            all_steps += steps;
            all_seconds += seconds;
            Ok(seconds / steps as f64)
        };
        // The first touches everything, and says little of what further ones take.
        run(whole)?;
        let mut steps = whole;
        while !checked && !budget.spent() {
            let more = RUN / (run(steps)? * steps as f64).max(1e-9);
            if more < 2.0 {
                break;
            }
            steps = ((steps as f64 * more.min(GROWTH)) as u64).next_multiple_of(whole);
        }
        let measured = measure(Repeats::default(), best, budget, || run(steps))?;
        drop(executor);
        self.untuned.get_or_insert(measured.median);
        if measured.median < best {
            let mut on_corner = make(&self.corner, true)?;
            let plain = Spec { until: None, ..self.stencil.clone() };
            if !agrees(&mut on_corner, &plain, &self.corner, 2 * depth.min(16) + 1)? {
                return Ok(Err("it does not agree with the reference".into()));
            }
        }
        Ok(Ok(Ran { measured, steps: all_steps, seconds: all_seconds }))
    }
}

/// Compiles `count` candidates into the cache, several at once, each as it runs and as it is checked.
/// One that fails will do so again when tried, one that the budget did not reach is compiled then.
fn compile_ahead(
    count: usize,
    threads: usize,
    budget: Budget,
    compile: impl Fn(usize, bool) + Sync,
) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, COMPILERS) {
            // A thread that is refused leaves its share to the others, or to the trials.
            let _ = std::thread::Builder::new().name("compiler".into()).spawn_scoped(scope, || {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= 2 * count || budget.spent() {
                        break;
                    }
                    compile(n / 2, n % 2 == 1);
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{RawVolumeMut, Volume};
    use crate::prelude::{Near, stencil};
    use crate::stencil::{Residual, Stencil};

    #[stencil]
    fn smooth(u: Near<f32, 2>) -> f32 {
        0.5 * u[[0, 0]] + 0.25 * (u[[0, -1]] + u[[0, 1]])
    }

    /// An executor that is fast, for it does nothing.
    struct Idle;

    impl SweepExecutor<2> for Idle {
        fn sweep(&mut self, _: &Sweep<2>) -> Result<()> {
            Ok(())
        }
        fn residual(&mut self, _: Residual) -> Result<f64> {
            Ok(0.0)
        }
        fn finish(&mut self) -> Result<()> {
            Ok(())
        }
        fn store(&mut self, _: RawVolumeMut<'_, 2>) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_does_not_run_or_agree_is_told_with_its_reason() {
        let stencil = Stencil::of(smooth());
        let volume = Volume::from_fn([32, 32], |[y, x]| (x * y) as f32);
        let mut search = Search::new(&stencil, &volume, CHECKED).unwrap();
        let mut told = |threads: usize, made: fn() -> Result<Idle>| {
            let policy = Policy::Cpu(CpuPolicy::default().with_threads(threads));
            let budget = Budget::of(Duration::ZERO);
            let ran = search.trial(1, f64::INFINITY, budget, |_, _| made()).unwrap();
            assert_eq!(search.note(policy, threads, ran), None);
            search.refused.last().cloned().unwrap()
        };
        let wrong = told(2, || Ok(Idle));
        assert!(wrong.reason.contains("does not agree with the reference"), "{wrong:?}");
        let large = told(3, || Err(Error::spec("a tile of 1 GB", "lower `tile`")));
        assert!(large.reason.contains("a tile of 1 GB"), "{large:?}");
        assert_eq!([&wrong, &large].map(|refused| refused.devices), [2, 3]);
        assert_ne!(wrong.policy, large.policy);
        assert_eq!((search.refused, search.trials), (vec![wrong, large], vec![]));
    }
}
