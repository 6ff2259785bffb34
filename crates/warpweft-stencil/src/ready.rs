//! From a choice of device to an executor that is ready to run there, and what is known about it: the
//! one place where a stencil meets that choice.

use std::sync::Arc;

use super::cpu::CpuSweeps;
use super::cuda::CudaSweeps;
use super::executor::SweepExecutor;
use super::policy::{CpuPolicy, CudaPolicy, Policy};
use super::run::{Run, Target};
use super::spec::Spec;
use super::tuning_cache::{key, on_gpus as tuned_on_gpus, usable};
use warpweft_core::cpu::Pool;
use warpweft_core::cuda;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::RawVolume;
use warpweft_core::machine::{CpuProbe, DISTURBED, Gpu, Machine, Probe, known};
use warpweft_core::tune::TuningCache;

/// Cells a second that a core, or a GPU, is taken to do at first.
pub(super) const CELLS_A_SECOND: [f64; 2] = [1e9, 2e11];

/// An executor and what is known about it.
pub(super) struct Ready<const D: usize> {
    pub executor: Box<dyn SweepExecutor<D>>,
    pub devices: Vec<String>,
    pub policy: Policy,
    /// Steps per trip to memory.
    pub depth: u64,
    pub bandwidth: Option<f64>,
    pub known_rate: Option<f64>,
    pub cells_a_second: f64,
    pub notes: Vec<String>,
}

/// The GPU with this number.
pub(super) fn gpu(machine: &Machine, number: usize) -> Result<&Gpu> {
    machine.gpus.iter().find(|gpu| gpu.ordinal == number).ok_or_else(|| Error::Device {
        stage: "choosing a device".into(),
        device: format!("GPU {number}"),
        what: format!("this machine has {} GPUs", machine.gpus.len()),
        hint: "run on the CPU, or see `warpweft info`".into(),
    })
}

/// The machine's measured limits, if it was probed before; a run does not spend seconds on that.
pub(super) fn probe(machine: &Machine) -> Option<Probe> {
    known(machine, cuda::folder().as_deref())
}

/// Bytes a second that the cores' memory moves, if that was measured before, and what to tell of it.
pub(super) fn of_cores(machine: &Machine) -> (Option<f64>, Option<String>) {
    let cpu = probe(machine).map(|probe| probe.cpu);
    let disturbed = cpu.as_ref().is_some_and(CpuProbe::disturbed);
    (cpu.and_then(|cpu| cpu.copy), disturbed.then(|| DISTURBED.into()))
}

impl<const D: usize> Spec<D> {
    /// The executor that `run` asks for, with what the report wants to know of it.
    pub(super) fn prepare(
        &self,
        volume: &RawVolume<D>,
        machine: &Machine,
        run: &Run<'_>,
    ) -> Result<Ready<D>> {
        match (run.target, run.policy) {
            (Target::Cpu, Some(policy @ Policy::Cuda(_)))
            | (Target::Gpu(_) | Target::Gpus(_), Some(policy @ Policy::Cpu(_))) => {
                Err(Error::spec(
                    format!("a policy of {} for a run on {}", policy.whose(), run.target),
                    "give the policy of that device, or none",
                ))
            }
            (Target::Cpu, _) | (Target::Auto, Some(Policy::Cpu(_))) => {
                self.on_cores(volume, machine, run)
            }
            (Target::Gpu(number) | Target::CpuAndGpu(number), _) => {
                self.on_gpu(volume, machine, run, number)
            }
            (Target::Gpus(list), _) => {
                self.on_gpu(volume, machine, run, list.numbers().next().unwrap_or(0))
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
        let cache = TuningCache::user();
        let key = key(self, volume.extents(), machine, &format!("{most} threads"));
        let mut notes = Vec::new();
        let tuned = usable(cache.policy(&key), &mut notes, CpuPolicy::check);
        let (policy, known_rate) = match (run.policy, tuned) {
            (Some(Policy::Cpu(policy)), _) => (policy, None),
            (_, Some(policy)) => (policy, cache.get(&key).map(|entry| entry.rate)),
            _ => (self.default_on_cores(volume.extents(), machine, most), None),
        };
        policy.check()?;
        let pool = Arc::new(Pool::over(&machine.cpu.cores, policy.threads)?);
        let mut executor = CpuSweeps::new(self, volume, policy, pool, machine.cpu.simd)?;
        if let Some(trace) = &run.trace {
            executor.record(trace.clone());
        }
        let (bandwidth, disturbed) = of_cores(machine);
        notes.extend(disturbed);
        Ok(Ready {
            executor: Box::new(executor),
            devices: vec![machine.cpu.label(policy.threads)],
            depth: Policy::Cpu(policy).steps_a_trip::<D>().steps,
            bandwidth,
            known_rate,
            cells_a_second: CELLS_A_SECOND[0] * policy.threads as f64,
            policy: Policy::Cpu(policy),
            notes,
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
        let cache = TuningCache::user();
        let key = key(self, volume.extents(), machine, &gpu.name);
        let mut notes = Vec::new();
        let known = run.policy.is_none().then(|| tuned_on_gpus(&cache, &key, self)).flatten();
        let tuned =
            usable(known, &mut notes, |policy: &CudaPolicy| policy.check(self, volume.extents()));
        let (policy, known_rate) = match (run.policy, tuned) {
            (Some(Policy::Cuda(policy)), _) => (policy, None),
            (_, Some(policy)) => (policy, cache.get(&key).map(|entry| entry.rate)),
            _ => (CudaPolicy::default_for(self, volume.extents(), gpu.capability), None),
        };
        let executor = CudaSweeps::new(self, volume, &policy, &device)?;
        notes.extend_from_slice(executor.notes());
        let probe = probe(machine);
        Ok(Ready {
            executor: Box::new(executor),
            devices: vec![gpu.label()],
            policy: Policy::Cuda(policy),
            depth: Policy::Cuda(policy).steps_a_trip::<D>().steps,
            bandwidth: probe.and_then(|probe| probe.gpu(number)?.bandwidth()),
            known_rate,
            cells_a_second: CELLS_A_SECOND[1],
            notes,
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
