//! What a tuner should try on several GPUs, the most promising first.

use super::policy::{Exchange, MultiCudaPolicy};
use crate::cuda::Device;
use crate::error::Result;
use crate::stencil::cuda::text::TripShape;
use crate::stencil::{CudaKernel, CudaPolicy, Spec};

/// Bytes of a field's slab above which a step takes so long that the exchange hides behind it, and
/// words, which are twice as many bytes, have nothing to gain.
const SMALL: usize = 64 << 20;
/// Planes that a chunk costs beside those that it computes: filling and draining the pipeline.
const START: usize = 6;

impl MultiCudaPolicy {
    /// What a tuner should try; the default is the first of all. Every one can run on `devices`.
    ///
    /// # Errors
    /// As [`MultiCudaPolicy::default_for`].
    pub fn candidates<const D: usize>(
        stencil: &Spec<D>,
        extents: [usize; D],
        devices: &[Device],
    ) -> Result<Vec<Self>> {
        let start = Self::default_for(stencil, extents, devices)?;
        let mut slab = extents;
        slab[0] = extents[0].div_ceil(devices.len().max(1));
        let (mut capability, mut sms) = ((u32::MAX, 0), u32::MAX);
        for device in devices {
            capability = capability.min(device.capability()?);
            sms = sms.min(device.sms()?);
        }
        let of_slab = CudaPolicy::candidates(stencil, slab, capability);
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
        for cuda in of_slab.iter().filter(|cuda| cuda.kernel == CudaKernel::Pipeline) {
            for cuda in depths::<D>(cuda) {
                let Some(trip) = TripShape::of(&cuda, D, size) else { continue };
                let tiles = tiles(slab, &cuda, trip.inner);
                let vain = 2 * cuda.temporal_depth as usize + START;
                for chunk in chunks_of(slab[0], tiles, slots(sms, &cuda), vain) {
                    add(Self::new(CudaPolicy { chunk, ..cuda }, Exchange::Flags));
                }
            }
        }
        if let (CudaPolicy { kernel: CudaKernel::Planes, .. }, 3) = (start.cuda, D) {
            let [vx, vy, _] = start.cuda.cells.map(|cells| cells as usize);
            let tile = [32 * vx, start.cuda.warps as usize * vy];
            let tiles = tiles(slab, &start.cuda, tile);
            let [below, above] = stencil.radius()[0];
            for chunk in chunks_of(slab[0], tiles, slots(sms, &start.cuda), below + above + START) {
                add(Self::new(CudaPolicy { chunk, ..start.cuda }, Exchange::Flags));
            }
        }
        if small {
            for depth in [1, 3, 2, 4] {
                for cuda in word_blocks(&start.cuda) {
                    add(Self { depth, ..Self::new(cuda, Exchange::Words) });
                }
            }
        }
        let mut flagged = false;
        for cuda in register_blocks(&start.cuda).into_iter().chain(of_slab) {
            if cuda.kernel != CudaKernel::Pipeline {
                flagged |= add(Self::new(cuda, Exchange::Flags));
            }
        }
        if !flagged {
            let of_slab = CudaPolicy::candidates(stencil, slab, capability);
            all.extend(of_slab.into_iter().map(|cuda| Self::new(cuda, Exchange::Copies)));
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
    [([1, 4], 8, 3), ([1, 2], 8, 4), ([1, 4], 4, 6), ([2, 1], 8, 4), ([1, 1], 4, 8), ([2, 2], 8, 3)]
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

/// Tiles of so many cells along x and y across a plane, in blocks.
fn tiles<const D: usize>(slab: [usize; D], cuda: &CudaPolicy, [x, y]: [usize; 2]) -> usize {
    let across = slab[D - 1].div_ceil(x);
    match D {
        2 => across.div_ceil(cuda.warps as usize),
        _ => across * slab[D - 2].div_ceil(y),
    }
}

/// Blocks that are resident at once.
fn slots(sms: u32, cuda: &CudaPolicy) -> usize {
    (sms * cuda.min_blocks) as usize
}

/// The chunks for which `planes` planes of `tiles` tiles take least time on `slots` blocks, which take
/// as many turns as it takes, each of a chunk and `vain` planes that it computes or brings in vain: the
/// best three, of different numbers of turns.
fn chunks_of(planes: usize, tiles: usize, slots: usize, vain: usize) -> Vec<u32> {
    let turns = |chunk: usize| (tiles * planes.div_ceil(chunk)).div_ceil(slots.max(1));
    let cost = |&chunk: &usize| turns(chunk) * (chunk + vain);
    let chunks = (1..=planes.div_ceil(4)).map(|count| planes.div_ceil(count).max(1));
    let mut found: Vec<usize> = Vec::new();
    while found.len() < 3 {
        let known = |chunk: &usize| found.iter().any(|&other| turns(other) == turns(*chunk));
        let Some(best) = chunks.clone().filter(|chunk| !known(chunk)).min_by_key(cost) else {
            break;
        };
        found.push(best);
    }
    found.into_iter().map(|chunk| chunk as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vain(temporal_depth: usize) -> usize {
        2 * temporal_depth + START
    }

    #[test]
    fn chunks_fill_the_multiprocessors_and_leave_little_in_vain() {
        // 90 tiles on 132 blocks: four chunks of 32 take three turns of 44 planes, two of 64 two of
        // 76, one takes one turn of 140, and five of 26 four turns of 38.
        assert_eq!(chunks_of(128, 90, 132, vain(3)), [32, 128, 64]);
        // As many tiles as blocks: one chunk.
        assert_eq!(chunks_of(256, 132, 132, vain(3))[0], 256);
        assert_eq!(chunks_of(64, 27, 132, vain(3))[0], 16);
        assert_eq!(chunks_of(1, 5, 132, vain(8)), [1]);
        let cost =
            |chunk: usize| (10 * 1024usize.div_ceil(chunk)).div_ceil(396) * (chunk + 16 + START);
        let best = chunks_of(1024, 10, 396, vain(8))[0] as usize;
        assert!((16..=1024).all(|chunk| cost(chunk) >= cost(best)), "{best}");
    }
}
