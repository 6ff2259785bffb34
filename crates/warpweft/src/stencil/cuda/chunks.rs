//! How long chunks of marching kernels should be, by a small model of their time (docs/models.md).

use crate::stencil::CudaPolicy;

/// Planes that a chunk costs beside those that it computes: filling and draining the pipeline.
pub const START: usize = 6;

/// Blocks side by side across a plane, for tiles of `x` by `y` cells.
pub fn tiles<const D: usize>(extents: [usize; D], cuda: &CudaPolicy, [x, y]: [usize; 2]) -> usize {
    let across = extents[D - 1].div_ceil(x);
    match D {
        2 => across.div_ceil(cuda.warps as usize),
        _ => across * extents[D - 2].div_ceil(y),
    }
}

/// Blocks that are resident at once.
pub fn slots(sms: u32, cuda: &CudaPolicy) -> usize {
    (sms * cuda.min_blocks) as usize
}

/// The chunks for which `planes` planes of `tiles` tiles take least time on `slots` blocks, which take
/// as many turns as it takes, each of a chunk and `vain` planes that it computes or brings in vain: the
/// best three, of different numbers of turns.
pub fn chunks_of(planes: usize, tiles: usize, slots: usize, vain: usize) -> Vec<u32> {
    let turns = |chunk: usize| (tiles * planes.div_ceil(chunk)).div_ceil(slots.max(1));
    let cost = |&chunk: &usize| turns(chunk) * (chunk + vain);
    // More chunks than this many turns of all blocks would only be short ones.
    let most = planes.div_ceil(4).min(1 << 16);
    let chunks = (1..=most).map(|count| planes.div_ceil(count).max(1));
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
    use crate::prelude::*;
    use crate::stencil::CudaKernel;
    use crate::stencil::cuda::text::step_text;

    #[stencil]
    fn heat(u: Near<f32, 2>, rate: f32) -> f32 {
        u[[0, 0]] + rate * (u[[-1, 0]] + u[[1, 0]] + u[[0, -1]] + u[[0, 1]])
    }

    #[test]
    fn chunks_of_a_pipeline_share_its_kernel() {
        let stencil = Stencil::of(heat(0.1));
        let candidates = CudaPolicy::candidates(&stencil, [4096, 4096], ((9, 0), 132));
        let pipelines = candidates.iter().filter(|cuda| cuda.kernel == CudaKernel::Pipeline);
        let first = candidates.iter().find(|cuda| cuda.kernel == CudaKernel::Pipeline).unwrap();
        let same: Vec<_> = pipelines
            .filter(|cuda| CudaPolicy { chunk: first.chunk, ..**cuda } == *first)
            .collect();
        assert!(same.len() > 2, "{same:?}");
        let texts = same.iter().map(|cuda| step_text(&stencil, cuda, false).source);
        assert!(texts.into_iter().all(|text| text == step_text(&stencil, first, false).source));
    }

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
