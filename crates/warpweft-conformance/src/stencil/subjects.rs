//! The executors there are, in the ways worth testing.

use std::sync::Arc;

use super::Subject;
use warpweft::cpu::{Pool, Simd};
use warpweft::cuda;
use warpweft::error::{Error, Result};
use warpweft::grid::{Axes, RawVolume};
use warpweft::machine::{Gpu, Machine};
use warpweft::stencil::agreement::{Ended, run};
use warpweft::stencil::cuda::{Compile, Kernels};
use warpweft::stencil::drive::Ranks;
use warpweft::stencil::{
    CpuPolicy, CpuSweeps, CudaKernel, CudaPolicy, CudaSweeps, GpuList, Policy, Run, Spec, Steps,
    Target,
};

/// The CPU executor: several shapes, with every instruction set the machine has.
pub struct OnCores {
    pools: Vec<Arc<Pool>>,
    ways: Vec<(&'static str, (usize, CpuPolicy), Simd)>,
}

impl OnCores {
    /// On the cores of `machine`.
    ///
    /// # Errors
    /// As [`Pool::new`].
    pub fn new(machine: &Machine) -> Result<Self> {
        let shape = |threads: usize, values: [usize; 5]| (threads, CpuPolicy::with_values(&values));
        let shapes = [
            ("a step a pass", shape(1, [1, 8, 4, 64, 1])),
            ("blocks of 4 steps", shape(2, [4, 6, 2, 32, 2])),
            ("thin tiles, blocks of 7", shape(3, [7, 1, 1, 5, 1])),
            ("four planes at once", shape(2, [3, 16, 8, 4096, 4])),
        ];
        let sets = Simd::available();
        let ways = shapes
            .iter()
            .flat_map(|&(name, policy)| sets.iter().map(move |&simd| (name, policy, simd)));
        let cores = |count| machine.cpu.cores.iter().copied().cycle().take(count);
        let pools = (1..=3).map(|count| Pool::new(&cores(count).collect::<Vec<_>>()).map(Arc::new));
        Ok(Self { ways: ways.collect(), pools: pools.collect::<Result<_>>()? })
    }
}

impl Subject for OnCores {
    fn ways(&self) -> Vec<String> {
        self.ways.iter().map(|(name, _, simd)| format!("{name}, {simd:?}")).collect()
    }

    fn run(
        &self,
        way: usize,
        stencil: &Spec,
        start: &RawVolume,
        steps: u64,
    ) -> Result<Result<Ended>> {
        let (_, (threads, policy), simd) = self.ways[way];
        let pool = self.pools[threads - 1].clone();
        let mut executor = CpuSweeps::new(stencil, start, policy, pool, simd)?;
        Ok(run(&mut executor, stencil, start, steps))
    }
}

/// The CUDA executor with contraction off: every skeleton.
pub struct OnGpu {
    device: cuda::Device,
    /// Compute capability and multiprocessors.
    capability: ((u32, u32), u32),
}

impl OnGpu {
    /// On one GPU.
    ///
    /// # Errors
    /// The device can't be opened.
    pub fn new(gpu: &Gpu) -> Result<Self> {
        Ok(Self { device: gpu.device()?, capability: (gpu.capability, gpu.sms) })
    }
}

const SKELETONS: [CudaKernel; 5] = [
    CudaKernel::Direct,
    CudaKernel::Planes,
    CudaKernel::Temporal,
    CudaKernel::Resident,
    CudaKernel::Packed,
];

impl OnGpu {
    /// As a run that was not tuned: kernels of several steps in turn, and single steps, from one sweep to the next.
    fn by_turns(&self, stencil: &Spec, start: &RawVolume, steps: u64) -> Result<Result<Ended>> {
        let candidates = CudaPolicy::candidates(stencil, start.extents(), self.capability);
        let exact = |policy| CudaPolicy { contraction: false, ..policy };
        let single = exact(candidates[0]);
        let fused = candidates.into_iter().filter(|policy| policy.kernel == CudaKernel::Temporal);
        let fused: Vec<_> = fused.map(exact).take(2).collect();
        if fused.is_empty() {
            return Err(Error::spec("no steps of this stencil are fused", "take single steps"));
        }
        // Single steps that take no time are tried as well.
        let kernels = Kernels { single, fused, compile: Compile::Meanwhile(2), least: 0.0 };
        let mut executor = CudaSweeps::with(stencil, start, &kernels, &self.device)?;
        executor.await_kernels();
        Ok(run(&mut executor, stencil, start, steps))
    }
}

impl Subject for OnGpu {
    fn ways(&self) -> Vec<String> {
        let kernels = SKELETONS.iter().map(|kernel| format!("{kernel:?}"));
        kernels.chain(["kernels by turns".into()]).collect()
    }

    fn run(
        &self,
        way: usize,
        stencil: &Spec,
        start: &RawVolume,
        steps: u64,
    ) -> Result<Result<Ended>> {
        if way == SKELETONS.len() {
            return self.by_turns(stencil, start, steps);
        }
        let candidates = CudaPolicy::candidates(stencil, start.extents(), self.capability);
        let found = candidates.into_iter().find(|policy| policy.kernel == SKELETONS[way]);
        let Some(policy) = found else {
            return Err(Error::spec(
                format!("no {:?} kernel suits this stencil and device", SKELETONS[way]),
                "use another skeleton",
            ));
        };
        let policy = CudaPolicy { contraction: false, ..policy };
        let mut executor = CudaSweeps::new(stencil, start, &policy, &self.device)?;
        Ok(run(&mut executor, stencil, start, steps))
    }
}

/// The driver over two and three subdomains, a rank of this process each: on the cores, or on GPUs with
/// contraction off, of which one alone has all subdomains.
pub struct OnSubdomains<'a> {
    machine: &'a Machine,
    target: Target,
}

impl<'a> OnSubdomains<'a> {
    /// On the cores of `machine`.
    pub fn on_cores(machine: &'a Machine) -> Self {
        Self { machine, target: Target::Cpu }
    }

    /// On all GPUs of `machine`.
    ///
    /// # Errors
    /// There are none, or too many.
    pub fn on_gpus(machine: &'a Machine) -> Result<Self> {
        let all: Vec<_> = machine.gpus.iter().map(|gpu| gpu.ordinal).collect();
        Ok(Self { machine, target: Target::Gpus(GpuList::new(&all)?) })
    }
}

/// Subdomains, the axis that is cut (0 is the slowest) or none where the driver says, and steps between
/// halo exchanges.
const PARTITIONS: [(usize, Option<usize>, Option<usize>); 5] = [
    (2, Some(0), Some(1)),
    (3, Some(0), Some(2)),
    (2, Some(1), Some(1)),
    (2, Some(2), Some(2)),
    (3, None, None),
];

impl Subject for OnSubdomains<'_> {
    fn ways(&self) -> Vec<String> {
        let way = |(count, axis, depth): (usize, Option<usize>, Option<usize>)| {
            let across = axis.map_or_else(String::new, |axis| format!(" across axis {axis}"));
            let every = depth.map_or("searched".into(), |depth| depth.to_string());
            format!("{count} subdomains{across}, depth {every}")
        };
        PARTITIONS.into_iter().map(way).collect()
    }

    fn run(
        &self,
        way: usize,
        stencil: &Spec,
        start: &RawVolume,
        steps: u64,
    ) -> Result<Result<Ended>> {
        let (count, axis, depth) = PARTITIONS[way];
        let mut grid = Axes::filled(stencil.rank(), 1);
        if let Some(axis) = axis {
            let cut = grid.get_mut(axis);
            *cut.ok_or_else(|| Error::spec("no such axis", "cut another"))? = count;
        }
        let policy = self.machine.gpus.first().filter(|_| self.target != Target::Cpu).map(|gpu| {
            let policy = CudaPolicy::default_for(stencil, start.extents(), gpu.capability);
            Policy::Cuda(CudaPolicy { contraction: false, ..policy })
        });
        let ranks = Ranks { count, grid: axis.map(|_| grid), depth };
        let run = Run { target: self.target, policy, threads: Some(count), ..Run::default() };
        let mut volume = start.clone();
        match stencil.run_with(
            &mut volume,
            Steps(steps),
            self.machine,
            &Run { settings: run.settings.over(ranks), ..run.clone() },
        ) {
            Err(error @ Error::Spec { .. }) => Err(error),
            Err(error) => Ok(Err(error)),
            Ok(report) => Ok(Ok(Ended { volume, done: report.done, series: report.probes })),
        }
    }
}
