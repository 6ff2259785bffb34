//! Running a stencil: spec → predict → policy → plan → run → report.
//!
//! The one place where a stencil meets the choice of a device.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::checkpoint::{self, Checkpoint, Opened, Saver, State};
use super::cpu::CpuSweeps;
use super::cuda::CudaSweeps;
use super::cuda::multi::{Exchange, GpuList, MultiCudaPolicy, MultiCudaSweeps};
use super::distribute::Route;
use super::executor::SweepExecutor;
use super::fingerprint::fingerprint;
use super::gpus::{Chosen, placed, worthwhile};
use super::model::Prediction;
use super::pace::Pace;
use super::plan::{Region, sweeps_of};
use super::policy::{CpuPolicy, CudaPolicy, Policy};
use super::spec::{Spec, Steps};
use super::wisdom::{key, label, on_gpus as tuned_on_gpus};
use crate::cluster::Alone;
use crate::cpu::Pool;
use crate::cuda::{self, Together};
use crate::error::{Error, Result};
use crate::grid::RawVolume;
use crate::machine::{Gpu, Machine, Probe};
use crate::report::{Quantity, Report};
use crate::trace::Trace;
use crate::tune::Wisdom;

/// Cells a second that a core, or a GPU, is taken to do at first.
pub(super) const CELLS_A_SECOND: [f64; 2] = [1e9, 2e11];

/// Where a stencil runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// The first GPU if there is one that can be used, else the cores.
    #[default]
    Auto,
    /// The cores.
    Cpu,
    /// The GPU with this number.
    Gpu(usize),
    /// Several GPUs, which share the volume in slabs.
    Gpus(GpuList),
    /// The GPU with this number and the cores together, if the cores can add to its speed.
    CpuAndGpu(usize),
}

/// How to run, where the defaults will not do.
#[derive(Clone, Default)]
pub struct Run<'a> {
    /// Where.
    pub target: Target,
    /// The tunables; tuned or default ones if `None`.
    pub policy: Option<Policy>,
    /// Threads on the cores; all of them if `None`.
    pub threads: Option<usize>,
    /// Told the steps done, of how many, every now and then.
    pub progress: Option<&'a dyn Fn(u64, u64)>,
    /// Set by whoever wants the run to end after the present sweep; the state is stored then.
    pub interrupt: Option<&'a AtomicBool>,
    /// Where to record what happened when.
    pub trace: Option<Arc<Trace>>,
    /// Where the state is saved every so many steps, to go on from after a failure.
    pub checkpoint: Option<&'a Checkpoint>,
    /// How halos travel between ranks on GPUs; `$WARPWEFT_HALOS`, or the fastest way there is, if `None`.
    pub halos: Option<Route>,
}

impl<const D: usize> Spec<D> {
    /// Advances `volume` by `steps` steps, or fewer when [`super::Stencil::until`] is met, as `run` says.
    ///
    /// # Errors
    /// As [`Spec::check`]; too little memory; a fault of the element function or of the device; a policy
    /// for another device than the target; a GPU that is not there. `volume` is then as it was.
    pub fn run_with(
        &self,
        volume: &mut RawVolume<D>,
        Steps(steps): Steps,
        machine: &Machine,
        run: &Run<'_>,
    ) -> Result<Report> {
        if let Target::CpuAndGpu(number) = run.target {
            return self.run_on_both(volume, Steps(steps), machine, number, run);
        }
        let extents = volume.extents();
        self.check_volume(volume)?;
        let begin = Instant::now();
        let saved = self.open_checkpoint(volume, steps, run)?;
        let whole = Region { low: [0; D], high: extents };
        let mut at = saved.as_ref().map(Opened::first).unwrap_or_default();
        let first = at.step;
        let mut ready = match saved.as_ref().and_then(|saved| saved.from.as_ref()) {
            Some(from) => self.prepare(&from.cells(whole.into())?, machine, run)?,
            None => self.prepare(volume, machine, run)?,
        };
        let saver = saved.as_ref().map(|saved| &saved.saver);
        let save = |executor: &mut dyn SweepExecutor<D>, at: State| match saver {
            None => Ok(()),
            Some(saver) => {
                let mut state = RawVolume::zeroed(self.cell, extents)?;
                executor.store(state.writable())?;
                saver.save(&Alone, at, whole, &mut |field| Ok(state.field_bytes(field).to_vec()))
            }
        };
        let mut kept = first;
        let met = |at: &State| {
            self.until.is_some_and(|until| at.residual.is_some_and(|r| r <= until.tolerance))
        };
        if at.step == 0 {
            // Says at once whether there is room, and makes a run that is stopped soon one to resume.
            save(&mut *ready.executor, at)?;
        }
        trace(run, "set up", begin);
        let start = Instant::now();
        let cells = volume.len();
        let pace = Pace::new(cells as f64 / ready.cells_a_second, ready.depth);
        let mut interrupted = false;
        let saves = saver.map(Saver::every);
        let mut probes = self.points.series();
        let sweeps = sweeps_of(extents, at.step..steps, || pace.steps(), self.until, saves);
        for sweep in sweeps.flat_map(|sweep| self.points.cut(sweep)) {
            if met(&at) {
                break;
            }
            if run.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                interrupted = true;
                break;
            }
            let from = Instant::now();
            ready.executor.sweep(&sweep)?;
            ready.executor.finish()?;
            pace.took(sweep.steps, from.elapsed().as_secs_f64());
            let before = at.step;
            at.step += sweep.steps;
            if let (Some(until), true) = (self.until, sweep.keep_change) {
                at.residual = Some(ready.executor.residual(until.residual)?);
            }
            if self.points.due(at.step) {
                self.points.after(at.step, &mut *ready.executor, &mut probes)?;
            }
            if let Some(trace) = &run.trace {
                trace.add("run", format!("steps {before}..{}", at.step), from);
            }
            if let Some(progress) = run.progress {
                progress(at.step, steps);
            }
            if saves.is_some_and(|every| at.step.is_multiple_of(every)) {
                save(&mut *ready.executor, at)?;
                kept = at.step;
            }
        }
        // The end is kept too: whoever wants more steps goes on from there.
        if at.step > kept {
            save(&mut *ready.executor, at)?;
        }
        let seconds = start.elapsed().as_secs_f64();
        let end = Instant::now();
        ready.executor.store(volume.writable())?;
        trace(run, "store", end);
        let done = at.step - first;
        if self.until.is_some() && at.residual.is_some_and(f64::is_nan) {
            ready
                .notes
                .push("the change of a step is no number, which no tolerance is met by".into());
        }
        let rate = cells as f64 * done as f64 / seconds.max(1e-9);
        let Prediction { bytes, bound, seconds: predicted } =
            self.predict(cells, done, ready.depth, ready.bandwidth, ready.known_rate);
        Ok(Report {
            pattern: "stencil",
            devices: ready.devices,
            seconds,
            setup_seconds: (start - begin).as_secs_f64() + end.elapsed().as_secs_f64(),
            rate: Quantity { value: rate, unit: "cells/s" },
            bytes,
            bound: bound.map(|value| Quantity { value, unit: "cells/s" }),
            fraction: bound.map(|bound| rate / bound),
            predicted_seconds: predicted,
            policy: serde_json::to_value(ready.policy).unwrap_or_default(),
            done: at.step,
            first,
            interrupted,
            residual: at.residual,
            probes,
            notes: saved
                .map(|saved| saved.notes)
                .into_iter()
                .flatten()
                .chain(ready.notes)
                .collect(),
        })
    }

    /// The folder that `run` names, if it does, for a run of one process that starts from `volume`.
    pub(super) fn open_checkpoint(
        &self,
        volume: &RawVolume<D>,
        steps: u64,
        run: &Run<'_>,
    ) -> Result<Option<Opened<D>>> {
        let open = |at: &Checkpoint| {
            let extents = volume.extents();
            let start = fingerprint(volume, [0; D], extents);
            checkpoint::open(at, self, (extents, start, steps), &Alone)
        };
        run.checkpoint.map(open).transpose()
    }

    /// The executor that `run` asks for, with what the report wants to know of it.
    fn prepare(&self, volume: &RawVolume<D>, machine: &Machine, run: &Run<'_>) -> Result<Ready<D>> {
        match (run.target, run.policy) {
            (Target::Cpu, Some(Policy::Cuda(_) | Policy::Gpus(_)))
            | (Target::Gpu(_), Some(Policy::Cpu(_) | Policy::Gpus(_)))
            | (Target::CpuAndGpu(_), Some(Policy::Gpus(_)))
            | (Target::Gpus(_), Some(Policy::Cpu(_))) => Err(Error::spec(
                format!("policy {:?} for target {:?}", run.policy, run.target),
                "give the policy of that device, or none",
            )),
            (Target::Cpu, _) | (Target::Auto, Some(Policy::Cpu(_))) => {
                self.on_cores(volume, machine, run)
            }
            (Target::Gpu(number) | Target::CpuAndGpu(number), _) => {
                self.on_gpu(volume, machine, run, number)
            }
            (Target::Gpus(list), _) => self.on_gpus(volume, machine, run, list),
            (Target::Auto, Some(Policy::Gpus(_))) => {
                let all: Vec<_> = machine.gpus.iter().map(|gpu| gpu.ordinal).collect();
                self.on_gpus(volume, machine, run, GpuList::new(&all)?)
            }
            (Target::Auto, Some(Policy::Cuda(_))) => self.on_gpu(volume, machine, run, 0),
            (Target::Auto, None) if machine.gpus.is_empty() => self.on_cores(volume, machine, run),
            (Target::Auto, None) => match self.on_gpu(volume, machine, run, 0) {
                // A GPU that can't be used, e.g. for want of NVRTC, is as good as none.
                Err(error @ (Error::Device { .. } | Error::Memory { .. })) => {
                    let mut ready = self.on_cores(volume, machine, run)?;
                    ready.notes.push(format!("the GPU is not used: {error}"));
                    Ok(ready)
                }
                ready => ready,
            },
        }
    }

    fn on_cores(
        &self,
        volume: &RawVolume<D>,
        machine: &Machine,
        run: &Run<'_>,
    ) -> Result<Ready<D>> {
        let most = run.threads.unwrap_or_else(|| machine.cpu.threads());
        let wisdom = Wisdom::user();
        let key = key(self, volume.extents(), machine, &format!("{most} threads"));
        let mut notes = Vec::new();
        let tuned = wisdom.policy::<CpuPolicy>(&key).filter(|tuned| match tuned.check() {
            Ok(()) => true,
            Err(error) => {
                notes.push(format!("what tuning is known to have found is not used: {error}"));
                false
            }
        });
        let (policy, known_rate) = match (run.policy, tuned) {
            (Some(Policy::Cpu(policy)), _) => (policy, None),
            (_, Some(policy)) => (policy, wisdom.get(&key).map(|entry| entry.rate)),
            _ => (self.default_on_cores(volume.extents(), machine, most), None),
        };
        policy.check()?;
        let pool = Arc::new(Pool::over(&machine.cpu.cores, policy.threads)?);
        let mut executor = CpuSweeps::new(self, volume, policy, pool, machine.cpu.simd)?;
        if let Some(trace) = &run.trace {
            executor.record(trace.clone());
        }
        let probe = probe(machine);
        let low =
            "the bound was measured while other work had the cores, so it is higher".to_string();
        let disturbed = probe.as_ref().is_some_and(|probe| probe.cpu.disturbed());
        Ok(Ready {
            executor: Box::new(executor),
            _together: None,
            devices: vec![machine.cpu.label(policy.threads)],
            depth: if D == 1 { 1 } else { policy.temporal_depth as u64 },
            bandwidth: probe.and_then(|probe| probe.cpu.copy),
            known_rate,
            cells_a_second: CELLS_A_SECOND[0] * policy.threads as f64,
            policy: Policy::Cpu(policy),
            notes: notes.into_iter().chain(disturbed.then_some(low)).collect(),
        })
    }

    fn on_gpu(
        &self,
        volume: &RawVolume<D>,
        machine: &Machine,
        run: &Run<'_>,
        number: usize,
    ) -> Result<Ready<D>> {
        let gpu = gpu(machine, number)?;
        let device = gpu.device()?;
        let wisdom = Wisdom::user();
        let key = key(self, volume.extents(), machine, &gpu.name);
        let (policy, known_rate) = match (run.policy, tuned_on_gpus(&wisdom, &key, self)) {
            (Some(Policy::Cuda(policy)), _) => (policy, None),
            (_, Some(policy)) => (policy, wisdom.get(&key).map(|entry| entry.rate)),
            _ => (CudaPolicy::default_for(self, volume.extents(), gpu.capability), None),
        };
        let executor = CudaSweeps::new(self, volume, &policy, &device)?;
        let notes = executor.notes().to_vec();
        let probe = probe(machine);
        Ok(Ready {
            executor: Box::new(executor),
            _together: None,
            devices: vec![gpu.label()],
            policy: Policy::Cuda(policy),
            depth: u64::from(policy.temporal_depth),
            bandwidth: probe.and_then(|probe| probe.gpu(number)?.bandwidth()),
            known_rate,
            cells_a_second: CELLS_A_SECOND[1],
            notes,
        })
    }

    fn on_gpus(
        &self,
        volume: &RawVolume<D>,
        machine: &Machine,
        run: &Run<'_>,
        list: GpuList,
    ) -> Result<Ready<D>> {
        let of_list = |list: GpuList| {
            list.numbers().map(|number| gpu(machine, number)).collect::<Result<Vec<_>>>()
        };
        let mut gpus = of_list(list)?;
        let all = gpus.len();
        let wisdom = Wisdom::user();
        let key = key(self, volume.extents(), machine, &label(&gpus));
        let mut tuned = None;
        if run.policy.is_none()
            && let Some(chosen) = tuned_on_gpus::<Chosen, D>(&wisdom, &key, self)
        {
            gpus = of_list(chosen.gpus)?;
            tuned = Some(chosen.policy);
        }
        let probe = probe(machine);
        let mut why = "which was fastest when tuned";
        if run.policy.is_none() && tuned.is_none() {
            let bytes = (self.step_bytes() * volume.len()) as f64;
            let count = worthwhile(list, bytes, 1, probe.as_ref());
            let plane = bytes / volume.extents()[0] as f64;
            if let (true, Some(few)) =
                (count < all, placed(list, count, machine, probe.as_ref(), plane))
            {
                gpus = of_list(few)?;
                why = "as more are predicted to save little; tuning finds out";
            }
        }
        let run = &Run { policy: run.policy.or(tuned), trace: run.trace.clone(), ..*run };
        let known_rate = tuned.and_then(|_| Some(wisdom.get(&key)?.rate));
        if let ([one], None | Some(Policy::Cuda(_))) = (&gpus[..], run.policy) {
            let mut ready = self.on_gpu(volume, machine, run, one.ordinal)?;
            if all > 1 {
                ready.notes.push(format!("one GPU of {all} is used, {why}"));
            }
            return Ok(ready);
        }
        self.check_points_of_parts()?;
        let devices = gpus.iter().map(|gpu| gpu.device()).collect::<Result<Vec<_>>>()?;
        let policy = match run.policy {
            Some(Policy::Gpus(policy)) => policy,
            Some(Policy::Cuda(cuda)) => {
                let flags = MultiCudaPolicy::new(cuda, Exchange::Flags);
                match flags.check_flags(self, volume.extents(), &devices) {
                    Ok(()) => flags,
                    Err(_) => MultiCudaPolicy { exchange: Exchange::Copies, ..flags },
                }
            }
            _ => MultiCudaPolicy::default_for(self, volume.extents(), &devices)?,
        };
        let together = Together::begin();
        let executor = MultiCudaSweeps::new(self, volume, &policy, &devices)?;
        let bandwidths = gpus.iter().map(|gpu| probe.as_ref()?.gpu(gpu.ordinal)?.bandwidth());
        let mut notes = executor.notes().to_vec();
        if gpus.len() < all {
            let used = gpus.len();
            notes.push(format!("{used} GPUs of {all} are used, {why}"));
        }
        Ok(Ready {
            devices: executor.devices(),
            notes,
            executor: Box::new(executor),
            _together: Some(together),
            policy: Policy::Gpus(policy),
            depth: u64::from(policy.steps_a_turn()),
            bandwidth: bandwidths.sum(),
            known_rate,
            cells_a_second: CELLS_A_SECOND[1] * devices.len() as f64,
        })
    }

    /// The untuned shape for the cores of `machine`.
    pub(super) fn default_on_cores(
        &self,
        extents: [usize; D],
        machine: &Machine,
        threads: usize,
    ) -> CpuPolicy {
        let caches = &machine.cpu.caches;
        let shared = caches.l3.unwrap_or(0) * caches.l3_count.max(1) as u64;
        let share = shared / threads.max(1) as u64;
        let cache = share.max(caches.l2.unwrap_or(1 << 20));
        CpuPolicy::default_for(self, extents, threads, cache as usize)
    }
}

/// An executor and what is known about it.
struct Ready<const D: usize> {
    executor: Box<dyn SweepExecutor<D>>,
    /// Of kernels that wait for one another: dropped after the executor.
    _together: Option<Together>,
    devices: Vec<String>,
    policy: Policy,
    /// Steps per trip to memory.
    depth: u64,
    bandwidth: Option<f64>,
    known_rate: Option<f64>,
    cells_a_second: f64,
    notes: Vec<String>,
}

/// The GPU with this number.
pub(super) fn gpu(machine: &Machine, number: usize) -> Result<&Gpu> {
    machine.gpus.iter().find(|gpu| gpu.ordinal == number).ok_or_else(|| Error::Device {
        stage: "choosing a device".into(),
        device: format!("GPU {number}"),
        what: format!("this machine has {} GPUs", machine.gpus.len()),
        remedy: "run on the CPU, or see `warpweft info`".into(),
    })
}

/// The machine's measured limits, if it was probed before; a run does not spend seconds on that.
pub(super) fn probe(machine: &Machine) -> Option<Probe> {
    Probe::load(machine, &cuda::folder()?, &mut Vec::new())
}

fn trace(run: &Run<'_>, name: &str, from: Instant) {
    if let Some(trace) = &run.trace {
        trace.add("run", name, from);
    }
}
