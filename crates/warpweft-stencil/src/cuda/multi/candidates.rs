//! What a tuner should try on several GPUs, the most promising first.

use super::policy::{Exchange, MultiCudaPolicy};
use crate::cuda::chunks::{chunks_of_planes, chunks_of_trips};
use crate::cuda::policy::ring_fits;
use crate::turn::Turn;
use crate::{CudaKernel, CudaPolicy, Spec};
use warpweft_core::cuda::Device;
use warpweft_core::error::Result;

/// Bytes of a field's slab above which a step takes so long that the exchange hides behind it, and
/// words, which are twice as many bytes, have nothing to gain.
const SMALL: usize = 64 << 20;

/// So many candidates are tried across an axis that is not the default's.
const ASIDE: usize = 6;

impl MultiCudaPolicy {
    /// What a tuner should try; the default is the first of all. Every one can run on `devices`. Where slabs
    /// across another axis would read less of one another, a few are across that.
    ///
    /// # Errors
    /// As [`MultiCudaPolicy::default_for`].
    pub fn candidates<const D: usize>(
        stencil: &Spec<D>,
        extents: [usize; D],
        devices: &[Device],
    ) -> Result<Vec<Self>> {
        let axes = Self::axes_tried(stencil, extents, devices.len());
        let mut all = Vec::new();
        for (n, &axis) in axes.iter().enumerate() {
            let turn = Turn::across(axis)?;
            let found = Self::candidates_of(&turn.spec(stencil)?, turn.turned(extents), devices)?;
            let most = if n == 0 { found.len() } else { ASIDE };
            all.extend(found.into_iter().take(most).map(|policy| Self { axis, ..policy }));
        }
        Ok(all)
    }

    /// The same across the slowest axis alone.
    fn candidates_of<const D: usize>(
        stencil: &Spec<D>,
        extents: [usize; D],
        devices: &[Device],
    ) -> Result<Vec<Self>> {
        let start = Self::default_across(0, stencil, extents, devices)?;
        let mut slab = extents;
        slab[0] = extents[0].div_ceil(devices.len().max(1));
        let (mut capability, mut sms) = ((u32::MAX, 0), u32::MAX);
        for device in devices {
            capability = capability.min(device.capability()?);
            sms = sms.min(device.sms()?);
        }
        let of_slab = CudaPolicy::candidates(stencil, slab, (capability, sms));
        let mut all = vec![start];
        let mut add = |policy: Self| {
            let possible = policy.check_flags(stencil, extents, devices).is_ok();
            if possible && !all.contains(&policy) {
                all.push(policy);
            }
            possible
        };
        let size = stencil.cell.fields().iter().map(|field| field.kind.size()).max().unwrap_or(4);
        let small = slab.iter().product::<usize>() * size <= SMALL;
        let mut pipelines: Vec<CudaPolicy> = Vec::new();
        for cuda in of_slab.iter().filter(|cuda| cuda.kernel == CudaKernel::Pipeline) {
            for cuda in depths::<D>(&CudaPolicy { chunk: 0, ..*cuda }) {
                if !pipelines.contains(&cuda) {
                    pipelines.push(cuda);
                }
            }
        }
        let chunks = |cuda: &CudaPolicy| chunks_of_trips(slab, cuda, size, sms);
        let pipelines: Vec<_> = pipelines.iter().map(|cuda| (cuda, chunks(cuda))).collect();
        // The best chunk of every shape first: others need no other kernel.
        let of_chunk = |n: usize| {
            let of_shape = move |(cuda, chunks): &(&CudaPolicy, Vec<u32>)| {
                chunks.get(n).map(|&chunk| CudaPolicy { chunk, ..**cuda })
            };
            pipelines.iter().filter_map(of_shape).collect::<Vec<_>>()
        };
        for cuda in of_slab.iter().filter(|cuda| cuda.kernel == CudaKernel::Resident) {
            add(Self::new(*cuda, Exchange::Flags));
        }
        for cuda in of_chunk(0) {
            add(Self::new(cuda, Exchange::Flags));
        }
        if small {
            for cuda in word_blocks(&start.cuda) {
                for depth in [1, 3, 2, 4] {
                    add(Self { depth, ..Self::new(cuda, Exchange::Words) });
                }
            }
        }
        for cuda in (1..3).flat_map(of_chunk) {
            add(Self::new(cuda, Exchange::Flags));
        }
        // Chunks of slabs are short, and a plane more in flight is 2 % of a step (256 × 1024² on an H200).
        if let (3, Some(cuda)) = (D, of_chunk(0).first()) {
            let cuda = CudaPolicy { prefetch: cuda.prefetch + 1, ..*cuda };
            if ring_fits(stencil, &cuda, capability) {
                add(Self::new(cuda, Exchange::Flags));
            }
        }
        if let (CudaPolicy { kernel: CudaKernel::Planes, .. }, 3) = (start.cuda, D) {
            for chunk in chunks_of_planes(stencil, slab, &start.cuda, sms) {
                add(Self::new(CudaPolicy { chunk, ..start.cuda }, Exchange::Flags));
            }
        }
        let mut flagged = false;
        for cuda in register_blocks(&start.cuda).into_iter().chain(of_slab) {
            if cuda.kernel != CudaKernel::Pipeline {
                flagged |= add(Self::new(cuda, Exchange::Flags));
            }
        }
        if !flagged {
            let of_slab = CudaPolicy::candidates(stencil, slab, (capability, sms));
            let copied = of_slab.into_iter().filter(|cuda| cuda.kernel != CudaKernel::Resident);
            all.extend(copied.map(|cuda| Self::new(cuda, Exchange::Copies)));
        }
        Ok(all)
    }
}

/// Cells along y and z, warps and blocks of a shape of Direct.
type Shape = ([u32; 2], u32, u32);

fn direct(like: &CudaPolicy, ([vy, vz], warps, min_blocks): Shape) -> CudaPolicy {
    CudaPolicy {
        kernel: CudaKernel::Direct,
        cells: [like.cells[0].min(4), vy, vz],
        warps,
        min_blocks,
        chunk: 0,
        prefetch: 0,
        phases: 0,
        temporal_depth: 1,
        ..*like
    }
}

/// Shapes of Direct from large to small, for as many cells along x as `like` has.
fn register_blocks(like: &CudaPolicy) -> [CudaPolicy; 5] {
    [([2, 4], 8, 2), ([2, 2], 8, 3), ([2, 1], 8, 4), ([1, 2], 8, 4), ([1, 1], 4, 8)]
        .map(|shape| direct(like, shape))
}

/// Shapes for words: small, as slabs are then. Tiles of as many planes as a zone has read each word
/// once, those of one plane as often as a step reaches.
fn word_blocks(like: &CudaPolicy) -> [CudaPolicy; 6] {
    [([1, 2], 8, 4), ([1, 4], 8, 3), ([2, 2], 8, 3), ([1, 4], 4, 6), ([2, 1], 8, 4), ([1, 1], 4, 8)]
        .map(|shape| direct(like, shape))
}

/// A pipeline and shallower ones of its shape: a slab is short, and chunks have ends of as many
/// planes as a trip has steps.
fn depths<const D: usize>(cuda: &CudaPolicy) -> Vec<CudaPolicy> {
    let depth = cuda.temporal_depth;
    let mut all = vec![*cuda];
    if D == 2 && depth > 4 {
        all.push(CudaPolicy { temporal_depth: depth * 3 / 4, ..*cuda });
    }
    all
}
