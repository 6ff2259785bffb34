//! The device of a run with one subdomain: how an executor is made there, and what is known about it.

use std::sync::Arc;

use crate::cpu::CpuSweeps;
use crate::cuda::{CudaSweeps, Kernels, Known};
use crate::drive::subdomain::Build;
use crate::executor::SweepExecutor;
use crate::policy::{CpuPolicy, CudaKernel, CudaPolicy, Policy};
use crate::run::Run;
use crate::spec::Spec;
use crate::tune::tuning_cache::{key, on_gpus as tuned_on_gpus, usable};
use warpweft_core::cpu::Pool;
use warpweft_core::cuda;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, RawVolume};
use warpweft_core::machine::{CpuProbe, DISTURBED, Gpu, Machine, Probe, known};
use warpweft_core::run::Devices;
use warpweft_core::tune::TuningCache;

/// Cells a second that a core, or a GPU, is taken to do at first.
pub(crate) const CELLS_A_SECOND: [f64; 2] = [1e9, 2e11];

/// What makes the executor, and what is known about it.
pub(crate) struct Prepared<'a> {
    pub build: Box<Build<'a>>,
    pub devices: Vec<String>,
    pub policy: Policy,
    /// Steps per pass over memory.
    pub depth: u64,
    pub bandwidth: Option<f64>,
    pub known_rate: Option<f64>,
    pub cells_a_second: f64,
    pub notes: Vec<String>,
}

/// The kernels of a run on one GPU, and what is known of them.
pub(crate) struct GpuKernels {
    pub kernels: Kernels,
    /// Cells a second, if tuning measured them.
    pub known_rate: Option<f64>,
    /// Bytes a second that the GPU's memory moves, if that was measured before.
    pub bandwidth: Option<f64>,
    pub notes: Vec<String>,
}

/// The GPU with this number.
pub(crate) fn gpu(machine: &Machine, number: usize) -> Result<&Gpu> {
    machine.gpus.iter().find(|gpu| gpu.ordinal == number).ok_or_else(|| Error::Device {
        stage: "choosing a device".into(),
        device: format!("GPU {number}"),
        what: format!("this machine has {} GPUs", machine.gpus.len()),
        hint: "run on the CPU, or see `warpweft info`".into(),
    })
}

/// The machine's measured limits, if it was probed before; a run does not spend seconds on that.
pub(crate) fn probe(machine: &Machine) -> Option<Probe> {
    known(machine, cuda::trusted_folder().ok().flatten().as_deref())
}

/// Bytes a second that the cores' memory moves, if that was measured before, and what to tell of it.
pub(crate) fn of_cores(machine: &Machine) -> (Option<f64>, Option<String>) {
    let cpu = probe(machine).map(|probe| probe.cpu);
    let disturbed = cpu.as_ref().is_some_and(CpuProbe::disturbed);
    (cpu.and_then(|cpu| cpu.copy), disturbed.then(|| DISTURBED.into()))
}

impl Spec {
    /// The executor on the first of these devices, with what the report wants to know of it.
    pub(crate) fn prepare<'a>(
        &self,
        extents: Axes<usize>,
        machine: &'a Machine,
        run: &Run<'_>,
        (devices, steps): (&Devices<'a>, u64),
    ) -> Result<Prepared<'a>> {
        match devices.gpus.first() {
            Some(gpu) => self.on_gpu((extents, steps), machine, run, gpu),
            None => self.on_cores(extents, machine, run),
        }
    }

    fn on_cores<'a>(
        &self,
        extents: Axes<usize>,
        machine: &'a Machine,
        run: &Run<'_>,
    ) -> Result<Prepared<'a>> {
        let most = run.threads.unwrap_or_else(|| machine.cpu.threads());
        let cache = TuningCache::user();
        let key = key(self, extents, machine, &format!("{most} threads"));
        let mut notes = Vec::new();
        let tuned = usable(cache.policy(&key), &mut notes, CpuPolicy::check);
        let (policy, known_rate) = match (run.policy, tuned) {
            (Some(Policy::Cpu(policy)), _) => (policy, None),
            (_, Some(policy)) => (policy, cache.get(&key).map(|entry| entry.rate)),
            _ => (self.default_on_cores(extents, machine, most), None),
        };
        policy.check()?;
        let threads = match (run.policy, run.threads) {
            (Some(_), Some(threads)) => threads,
            _ => CpuPolicy::workers(extents, most),
        };
        let trace = run.trace.clone();
        let build = move |stencil: &Spec, volume: &RawVolume, _| {
            let pool = Arc::new(Pool::joined(&machine.cpu.cores, threads)?);
            let mut sweeps = CpuSweeps::new(stencil, volume, policy, pool, machine.cpu.simd)?;
            if let Some(trace) = &trace {
                sweeps.record(trace.clone());
            }
            Ok(Box::new(sweeps) as Box<dyn SweepExecutor>)
        };
        let (bandwidth, disturbed) = of_cores(machine);
        notes.extend(disturbed);
        Ok(Prepared {
            build: Box::new(build),
            devices: vec![machine.cpu.label(threads)],
            depth: Policy::Cpu(policy).fused_steps(self.rank()).steps,
            bandwidth,
            known_rate,
            cells_a_second: CELLS_A_SECOND[0] * threads as f64,
            policy: Policy::Cpu(policy),
            notes,
        })
    }

    fn on_gpu<'a>(
        &self,
        (extents, steps): (Axes<usize>, u64),
        machine: &'a Machine,
        run: &Run<'_>,
        gpu: &Gpu,
    ) -> Result<Prepared<'a>> {
        let device = gpu.device()?;
        let GpuKernels { kernels, known_rate, bandwidth, notes } =
            self.kernels_on((extents, steps), machine, run, gpu);
        let policy = Policy::Cuda(kernels.foremost());
        let build = move |stencil: &Spec, volume: &RawVolume, _| {
            let sweeps = CudaSweeps::with(stencil, volume, &kernels, &device)?;
            Ok(Box::new(sweeps) as Box<dyn SweepExecutor>)
        };
        Ok(Prepared {
            build: Box::new(build),
            devices: vec![gpu.label()],
            policy,
            depth: policy.fused_steps(self.rank()).steps,
            bandwidth,
            known_rate,
            cells_a_second: CELLS_A_SECOND[1],
            notes,
        })
    }

    /// The kernels of a run of so many steps on `gpu`.
    pub(crate) fn kernels_on(
        &self,
        (extents, steps): (Axes<usize>, u64),
        machine: &Machine,
        run: &Run<'_>,
        gpu: &Gpu,
    ) -> GpuKernels {
        let cache = TuningCache::user();
        let key = key(self, extents, machine, &gpu.name);
        let mut notes = Vec::new();
        let known = run.policy.is_none().then(|| tuned_on_gpus(&cache, &key)).flatten();
        // A session may write any cells.
        let known = known
            .filter(|policy: &CudaPolicy| steps < u64::MAX || policy.kernel != CudaKernel::Packed);
        let tuned = usable(known, &mut notes, |policy: &CudaPolicy| policy.check(self, extents));
        let probe = probe(machine);
        let bandwidth = probe.and_then(|probe| probe.gpu(gpu.ordinal)?.bandwidth());
        let of_run = Known {
            device: (gpu.capability, gpu.sms),
            copy: bandwidth,
            cores: machine.cpu.threads(),
            steps,
            free: u64::MAX,
            whole: true,
        };
        let (kernels, known_rate) = match (run.policy, tuned) {
            (Some(Policy::Cuda(policy)), _) => (Kernels::of(&policy), None),
            (_, Some(policy)) => {
                let kernels = Kernels::known(self, extents, policy, &of_run);
                (kernels, cache.get(&key).map(|entry| entry.rate))
            }
            _ => (Kernels::modelled(self, extents, &of_run), None),
        };
        GpuKernels { kernels, known_rate, bandwidth, notes }
    }

    /// The untuned shape for the cores of `machine`.
    pub(crate) fn default_on_cores(
        &self,
        extents: Axes<usize>,
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
