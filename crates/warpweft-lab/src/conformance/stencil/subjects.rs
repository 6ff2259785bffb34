//! The executors there are, in the ways worth testing.

use std::sync::Arc;

use super::Subject;
use warpweft::cpu::{Pool, Simd};
use warpweft::cuda;
use warpweft::error::Result;
use warpweft::grid::RawVolume;
use warpweft::machine::{Gpu, Machine};
use warpweft::stencil::{
    CpuPolicy, CpuSweeps, CudaKernel, CudaPolicy, CudaSweeps, Exchange, MultiCudaPolicy,
    MultiCudaSweeps, Spec, SweepExecutor,
};

/// The CPU executor: several shapes, with every instruction set the machine has.
pub struct OnCores {
    pools: Vec<Arc<Pool>>,
    ways: Vec<(&'static str, CpuPolicy, Simd)>,
}

impl OnCores {
    /// On the cores of `machine`.
    ///
    /// # Errors
    /// As [`Pool::new`].
    pub fn new(machine: &Machine) -> Result<Self> {
        let shape = |threads, values: [usize; 5]| {
            CpuPolicy::default().with_values(&values).with_threads(threads)
        };
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

    fn executor<const D: usize>(
        &self,
        way: usize,
        stencil: &Spec<D>,
        volume: &RawVolume<D>,
    ) -> Result<Box<dyn SweepExecutor<D>>> {
        let (_, policy, simd) = self.ways[way];
        let pool = self.pools[policy.threads - 1].clone();
        Ok(Box::new(CpuSweeps::new(stencil, volume, policy, pool, simd)?))
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
    CudaKernel::March,
    CudaKernel::Planes,
    CudaKernel::Pipeline,
    CudaKernel::Resident,
];

impl Subject for OnGpu {
    fn ways(&self) -> Vec<String> {
        SKELETONS.iter().map(|kernel| format!("{kernel:?}")).collect()
    }

    fn executor<const D: usize>(
        &self,
        way: usize,
        stencil: &Spec<D>,
        volume: &RawVolume<D>,
    ) -> Result<Box<dyn SweepExecutor<D>>> {
        let candidates = CudaPolicy::candidates(stencil, volume.extents(), self.capability);
        let found = candidates.into_iter().find(|policy| policy.kernel == SKELETONS[way]);
        let Some(policy) = found else {
            return Err(warpweft::Error::spec(
                format!("no {:?} kernel suits this stencil and device", SKELETONS[way]),
                "use another skeleton",
            ));
        };
        let policy = CudaPolicy { contraction: false, ..policy };
        Ok(Box::new(CudaSweeps::new(stencil, volume, &policy, &self.device)?))
    }
}

/// Several GPUs with contraction off: every kind of exchange.
pub struct OnGpus {
    devices: Vec<cuda::Device>,
}

impl OnGpus {
    /// On all of these together.
    ///
    /// # Errors
    /// A device can't be opened.
    pub fn new(gpus: &[Gpu]) -> Result<Self> {
        Ok(Self { devices: gpus.iter().map(Gpu::device).collect::<Result<_>>()? })
    }
}

/// Exchanges, and steps between two.
const EXCHANGES: [(Exchange, u32); 4] =
    [(Exchange::Flags, 1), (Exchange::Words, 1), (Exchange::Words, 2), (Exchange::Copies, 1)];

impl Subject for OnGpus {
    fn ways(&self) -> Vec<String> {
        let way = |(exchange, depth)| format!("{exchange:?} every {depth}");
        EXCHANGES.into_iter().map(way).collect()
    }

    fn executor<const D: usize>(
        &self,
        way: usize,
        stencil: &Spec<D>,
        volume: &RawVolume<D>,
    ) -> Result<Box<dyn SweepExecutor<D>>> {
        let (exchange, depth) = EXCHANGES[way];
        let default = MultiCudaPolicy::default_for(stencil, volume.extents(), &self.devices)?;
        let cuda = CudaPolicy { contraction: false, ..default.cuda };
        let policy = MultiCudaPolicy { cuda, exchange, depth, ..default };
        Ok(Box::new(MultiCudaSweeps::new(stencil, volume, &policy, &self.devices)?))
    }
}
