//! Which shapes of resident tiles a tuner should try: those whose tiles a device holds at once, by a small
//! model of their time.

use super::shape::{ResidentShape, resides};
use crate::cuda::memory::layout::axes;
use crate::{CudaKernel, CudaPolicy, Spec};
use warpweft_core::cuda::SharedMemory;
use warpweft_core::grid::Axes;

/// Warps of a block and blocks an SM: 512 threads, which have 128 registers each.
const BLOCKS: [[u32; 2]; 2] = [[16, 1], [8, 2]];
/// Bytes of a thread's cells, which leave registers for the rest.
const REGISTERS: u32 = 4 * 80;
/// Nanoseconds of a post, of a step of a cell of four bytes on an SM in two and three dimensions, and of a
/// cell of a rim: fitted to one H200 (heat of order 2, f32, 4,096 to 41,000 cells an SM: 0.9 to 5.2 µs a step).
const POST: f64 = 1900.0;
const CELL: [f64; 2] = [0.042, 0.075];
const RIM: f64 = 0.1;

/// What shapes are for.
struct Problem<'a> {
    stencil: &'a Spec,
    /// Along z, y and x.
    extents: [usize; 3],
    /// Whether tiles must divide the extents.
    whole: [bool; 3],
    sms: u32,
    shared: SharedMemory,
}

/// Shapes for a volume, or a slab, of `extents` on one device, the most promising first.
pub fn for_volume(
    stencil: &Spec,
    extents: Axes<usize>,
    (capability, sms): ((u32, u32), u32),
) -> Vec<CudaPolicy> {
    let dims = stencil.rank();
    if !resides(stencil) {
        return Vec::new();
    }
    let [_, z, y, x] = axes(dims);
    let around = |axis: Option<usize>| {
        axis.is_some_and(|d| stencil.boundaries.0[d][0] == crate::Boundary::Periodic)
    };
    let problem = Problem {
        stencil,
        extents: [z, y, x].map(|axis| axis.map_or(1, |axis| extents[axis])),
        // Slabs are cut between tiles; around a volume the last must be whole as well.
        whole: [around(z), around(y), around(x)],
        sms,
        shared: SharedMemory::of_capability(capability),
    };
    // Overlap costs little in two dimensions, and much in three.
    let depths: &[u32] = if dims == 2 { &[4, 6, 8] } else { &[1] };
    let mut all: Vec<(f64, CudaPolicy)> = Vec::new();
    for &depth in depths {
        // The best of every number of blocks: one may compute while another waits for its post.
        all.extend(BLOCKS.into_iter().filter_map(|blocks| {
            let rows = if dims == 3 { 16 } else { 1 };
            let shapes = (1..=rows).filter_map(|vy| problem.shape(depth, blocks, vy));
            shapes.min_by(|a, b| a.0.total_cmp(&b.0))
        }));
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all.into_iter().map(|(_, policy)| policy).collect()
}

impl Problem<'_> {
    /// The nanoseconds of a step, about, and the policy, of tiles `vy` cells a thread high and no deeper than it
    /// takes for all of them to be there at once; `None` if they can't.
    fn shape(
        &self,
        depth: u32,
        [warps, min_blocks]: [u32; 2],
        vy: u32,
    ) -> Option<(f64, CudaPolicy)> {
        let dims = self.stencil.rank();
        let size = self.stencil.cell.size(0) as u32;
        let like = CudaPolicy {
            kernel: CudaKernel::Resident,
            cells: [4, vy, 1],
            warps,
            min_blocks,
            chunk: 1,
            prefetch: 0,
            phases: 0,
            temporal_depth: depth,
            contraction: true,
        };
        // As many planes a thread as there are bits and registers for.
        let most = (REGISTERS / size / (4 * vy)).min(20);
        let ceil = |axis: usize, tile: usize| match self.whole[axis] {
            false => Some(self.extents[axis].div_ceil(tile)),
            true => self.extents[axis].is_multiple_of(tile).then(|| self.extents[axis] / tile),
        };
        (1..=most).find_map(|vz| {
            let policy = CudaPolicy { cells: [4, vy, vz], ..like };
            // What a thread's planes leave for the tile, less where tiles must be whole.
            let widest = ResidentShape::widest(self.stencil, &policy)?;
            let planes = (1..=widest.min(self.extents[0]))
                .rev()
                .find(|&planes| ceil(0, planes).is_some())?;
            let policy = CudaPolicy { chunk: planes as u32, ..policy };
            let shape = ResidentShape::of(self.stencil, &policy)?;
            let tiles = ceil(0, shape.tile[0])? * ceil(1, shape.tile[1])? * ceil(2, shape.tile[2])?;
            let each = self.shared.each(min_blocks as usize);
            if shape.room(tiles, (self.sms, min_blocks)).is_err() || shape.shared > each {
                return None;
            }
            let cells = f64::from(32 * warps * min_blocks * 4 * vy * vz * size / 4);
            let post = POST + (shape.messages / shape.size * min_blocks as usize) as f64 * RIM;
            let time = cells * CELL[usize::from(dims == 3)] + post / f64::from(depth);
            Some((time, policy))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[stencil]
    fn flat(u: Near<f32, 2>) -> f32 {
        u[[0, 0]] + 0.1 * (u[[-1, 0]] + u[[1, 0]] + u[[0, -1]] + u[[0, 1]])
    }

    #[stencil]
    fn deep(u: Near<f32, 3>) -> f32 {
        u[[0, 0, 0]] + 0.1 * (u[[-1, 0, 0]] + u[[1, 0, 0]] + u[[0, -1, 0]] + u[[0, 0, 1]])
    }

    const H200: ((u32, u32), u32) = ((9, 0), 132);

    #[test]
    fn small_volumes_have_shapes_and_large_ones_none() {
        let stencil = Stencil::of(flat());
        let found = for_volume(&stencil, [1024, 4096].into(), H200);
        assert!(!found.is_empty(), "{found:?}");
        for policy in &found {
            let shape = ResidentShape::of(&stencil, policy).unwrap();
            let [z, _, x] = shape.tile;
            let tiles = 1024usize.div_ceil(z) * 4096usize.div_ceil(x);
            assert!(tiles <= 132 * policy.min_blocks as usize, "{tiles} of {policy:?}");
        }
        assert_eq!(for_volume(&stencil, [16384, 16384].into(), H200), []);
        let found = for_volume(&Stencil::of(deep()), [64, 256, 256].into(), H200);
        assert!(!found.is_empty(), "{found:?}");
        assert_eq!(for_volume(&Stencil::of(deep()), [512; 3].into(), H200), []);
    }
}
