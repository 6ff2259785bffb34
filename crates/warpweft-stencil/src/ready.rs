//! From a choice of device to an executor that is ready to run there, and what is known about it: the
//! one place where a stencil meets that choice.

use std::sync::Arc;

use super::cpu::CpuSweeps;
use super::cuda::CudaSweeps;
use super::cuda::multi::{Exchange, GpuList, MultiCudaPolicy, MultiCudaSweeps};
use super::executor::SweepExecutor;
use super::gpus::{Chosen, placed, worthwhile};
use super::policy::{CpuPolicy, CudaKernel, CudaPolicy, Policy};
use super::run::{Run, Target};
use super::spec::Spec;
use super::tuning_cache::{key, label, on_gpus as tuned_on_gpus, usable};
use warpweft_core::cpu::Pool;
use warpweft_core::cuda::{self, Together};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::RawVolume;
use warpweft_core::machine::{CpuProbe, DISTURBED, Gpu, Machine, Probe, known};
use warpweft_core::tune::TuningCache;

/// Cells a second that a core, or a GPU, is taken to do at first.
pub(super) const CELLS_A_SECOND: [f64; 2] = [1e9, 2e11];

/// An executor and what is known about it.
pub(super) struct Ready<const D: usize> {
    pub executor: Box<dyn SweepExecutor<D>>,
    /// Of kernels that wait for one another: dropped after the executor.
    _together: Option<Together>,
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
            (Target::Cpu, Some(policy @ (Policy::Cuda(_) | Policy::Gpus(_))))
            | (Target::Gpu(_), Some(policy @ (Policy::Cpu(_) | Policy::Gpus(_))))
            | (Target::CpuAndGpu(_), Some(policy @ Policy::Gpus(_)))
            | (Target::Gpus(_), Some(policy @ Policy::Cpu(_))) => Err(Error::spec(
                format!("a policy of {} for a run on {}", policy.whose(), run.target),
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
            _together: None,
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
            _together: None,
            devices: vec![gpu.label()],
            policy: Policy::Cuda(policy),
            depth: Policy::Cuda(policy).steps_a_trip::<D>().steps,
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
        let cache = TuningCache::user();
        let key = key(self, volume.extents(), machine, &label(&gpus));
        let (mut tuned, mut notes) = (None, Vec::new());
        let known = run.policy.is_none().then(|| tuned_on_gpus(&cache, &key, self)).flatten();
        let check = |chosen: &Chosen| match chosen.policy {
            Policy::Gpus(policy) => {
                let gpus = of_list(chosen.gpus)?.into_iter();
                let devices = gpus.map(|gpu| gpu.device()).collect::<Result<Vec<_>>>()?;
                policy.check(self, volume.extents(), &devices)
            }
            Policy::Cuda(policy) => policy.check(self, volume.extents()),
            Policy::Cpu(_) => Err(Error::spec("a policy of the cores for GPUs", "tune anew")),
        };
        if let Some(chosen) = usable(known, &mut notes, check) {
            gpus = of_list(chosen.gpus)?;
            tuned = Some(chosen.policy);
        }
        let probe = probe(machine);
        let mut why = "which was fastest when tuned";
        if run.policy.is_none() && tuned.is_none() {
            let bytes = (self.step_bytes() * volume.len()) as f64;
            let count = worthwhile(list, bytes, 1, probe.as_ref());
            let axis = MultiCudaPolicy::axis_for(self, volume.extents(), count);
            let plane = bytes / volume.extents()[axis] as f64;
            if let (true, Some(few)) =
                (count < all, placed(list, count, machine, probe.as_ref(), plane))
            {
                gpus = of_list(few)?;
                why = "as more are predicted to save little; tuning finds out";
            }
        }
        let run = &Run { policy: run.policy.or(tuned), trace: run.trace.clone(), ..*run };
        let known_rate = tuned.and_then(|_| Some(cache.get(&key)?.rate));
        if let ([one], None | Some(Policy::Cuda(_))) = (&gpus[..], run.policy) {
            let mut ready = self.on_gpu(volume, machine, run, one.ordinal)?;
            ready.notes.append(&mut notes);
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
                let axis = MultiCudaPolicy::axis_for(self, volume.extents(), devices.len());
                let flags = MultiCudaPolicy { axis, ..MultiCudaPolicy::new(cuda, Exchange::Flags) };
                match flags.check_flags(self, volume.extents(), &devices) {
                    Ok(()) => flags,
                    Err(error) if cuda.kernel == CudaKernel::Resident => return Err(error),
                    Err(_) => MultiCudaPolicy { exchange: Exchange::Copies, ..flags },
                }
            }
            _ => MultiCudaPolicy::default_for(self, volume.extents(), &devices)?,
        };
        // Copies wait for nobody, but what they allocate and free would hold up those who do.
        let together = Together::begin();
        let executor = MultiCudaSweeps::new(self, volume, &policy, &devices)?;
        let bandwidths = gpus.iter().map(|gpu| probe.as_ref()?.gpu(gpu.ordinal)?.bandwidth());
        notes.extend_from_slice(executor.notes());
        if gpus.len() < all {
            let used = gpus.len();
            notes.push(format!("{used} GPUs of {all} are used, {why}"));
        }
        notes.extend(policy.told_of_axis(self, volume.extents(), gpus.len()));
        Ok(Ready {
            devices: executor.devices(),
            notes,
            executor: Box::new(executor),
            _together: Some(together),
            policy: Policy::Gpus(policy),
            depth: Policy::Gpus(policy).steps_a_trip::<D>().steps,
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
