//! The last launch before a swap in two parts on a GPU: what a time block is cut into, and both launches.
//! Not: what is sent (`halo`).
//!
//! A time block's boundary is a thin slab along the axis that tiles are streamed along, whose cost is what fills and drains them, and
//! whole tiles along the others, which cost nothing next to what the interior is spared.

use crate::cuda::fused::Fused;
use crate::cuda::launch::boxes::{SECTOR, placed, whole};
use crate::cuda::memory::layout::{Layout, axes};
use crate::cuda::policy::chunks::redundant_planes;
use crate::cuda::sweeps::CudaSweeps;
use crate::cuda::text::{FusedShape, PipelineShape, single};
use crate::exchange::BoundarySplit;
use crate::plan::halo::Margin;
use crate::{CudaKernel, CudaPolicy, Region};
use warpweft_core::cuda::Stream;
use warpweft_core::error::Result;
use warpweft_core::grid::Axes;

/// The two parts of a time block over `own`, of whose cells those up to `sent` deep are sent: none where they would write
/// one another's cells.
pub(crate) fn of_pipeline(
    own: &Region,
    sent: &Margin,
    (layout, size): (&Layout, usize),
    (policy, shape): (&CudaPolicy, &PipelineShape),
) -> Option<BoundarySplit> {
    let dims = own.rank();
    let steps = policy.temporal_depth as usize;
    let all = whole(layout).high;
    let mut interior = *own;
    for axis in 0..dims {
        // Rows begin on sectors of memory: what is computed next to the boundary must not reach into it.
        let (tile, align) = match dims - 1 - axis {
            0 => (shape.inner[0], SECTOR / size),
            1 if dims == 3 => (shape.inner[1], 1),
            _ => (1, 1),
        };
        let (low, high) = (own.low[axis], own.high[axis]);
        let begin = low - low % align;
        if sent[axis][0] > 0 || begin < low {
            interior.low[axis] = begin + (low - begin + sent[axis][0]).next_multiple_of(tile);
        }
        if sent[axis][1] > 0 {
            let deep = (sent[axis][1] + align - 1).next_multiple_of(tile);
            interior.high[axis] = high.checked_sub(deep)?.next_multiple_of(align);
        }
        // A box that ends within the steps of a face is computed up to the face.
        let clear = |end: usize| {
            (end == 0 || end >= steps) && (end == all[axis] || end + steps <= all[axis])
        };
        let ends = [low, interior.low[axis], interior.high[axis], high];
        if interior.low[axis] >= interior.high[axis] || !ends.into_iter().all(clear) {
            return None;
        }
    }
    Some(BoundarySplit::of(*own, interior, steps as u64))
}

/// Whether two parts may be faster than one: not where the boundary is as much work as the whole, so that what is
/// computed twice is as much as the interior, behind which messages hide.
fn may_pay(halves: &BoundarySplit, own: &Region, of: (&CudaPolicy, &PipelineShape, usize)) -> bool {
    let boundary: usize = halves.boundary.iter().map(|region| work(region, of)).sum();
    boundary < work(own, of)
}

/// Planes of tiles that a time block over `region` goes through, redundant ones too, for scalars of `size` bytes.
fn work(region: &Region, (policy, shape, size): (&CudaPolicy, &PipelineShape, usize)) -> usize {
    let dims = region.rank();
    let (low, [_, z, y, x]) = placed(region);
    let across = (x + low[3] % (SECTOR / size)).div_ceil(shape.inner[0]);
    let down = if dims == 2 { 1 } else { y.div_ceil(shape.inner[1]) };
    let chunks = z.div_ceil(policy.chunk.max(1) as usize);
    across * down * (z + chunks * redundant_planes(policy))
}

impl CudaSweeps {
    /// As [`crate::SweepExecutor::split`].
    pub(crate) fn boundary_split(
        &self,
        own: &Region,
        sent: &Margin,
        steps: u64,
    ) -> Option<BoundarySplit> {
        let fused = self.fused_now();
        // Later stages read what earlier ones wrote next to a cell, which may be on its way.
        // Nor are the ghosts of functions brought on by parts of a step, which do not count it either.
        if self.kernels.len() > 1 || self.stencil.has_functions() || self.stencil.knows().step {
            return None;
        }
        match fused.map(|fused| (fused.depth(), fused)) {
            Some((_, Fused { shape: FusedShape::Resident(_), .. })) => None,
            // The last launch is one of fused steps, of whose boundary nobody has measured what it would save.
            Some((depth, Fused { shape: FusedShape::Temporal(_), .. }))
                if steps.is_multiple_of(depth) =>
            {
                None
            }
            // Its single steps are time blocks too, and those of another kernel may round otherwise.
            Some((1, Fused { shape: FusedShape::Pipeline(_), .. })) => None,
            Some((depth, Fused { shape: FusedShape::Pipeline(shape), policy, .. }))
                if steps.is_multiple_of(depth) =>
            {
                let size = self.stencil.cell.size(0);
                let found = of_pipeline(own, sent, (&self.arrays.layout, size), (policy, shape));
                found.filter(|halves| may_pay(halves, own, (policy, shape, size)))
            }
            _ => Some(BoundarySplit::of_step(*own, sent, tile(own.rank(), &self.single))),
        }
    }

    /// Queues the kernel of `steps` steps over `region` alone; ghosts are not renewed.
    pub(crate) fn launch_part(&self, region: &Region, steps: u64, stream: &Stream) -> Result<()> {
        if placed(region).1.contains(&0) {
            return Ok(());
        }
        let queued = match self.fused_now() {
            Some(fused) if steps > 1 => self.queue().fused_part(fused.by(), self.state, region)?,
            _ => self.queue().part(&self.kernels[0], self.state, region)?.into_iter().collect(),
        };
        for queued in queued {
            // SAFETY: the arrays live as long as `self`, and dropping one waits for the device.
            unsafe { queued.launch(stream)? };
        }
        Ok(())
    }
}

/// Cells along each axis of a tile that single steps of `policy` compute at full speed.
fn tile(dims: usize, policy: &CudaPolicy) -> Axes<usize> {
    let policy = single(policy);
    let [x, y, z] = policy.cells.map(|cells| cells.max(1) as usize);
    let deep = if policy.kernel == CudaKernel::Direct { z } else { 1 };
    let of_axis = [1, deep, y, x];
    let mut tile = Axes::filled(dims, 1);
    for (axis, cells) in axes(dims).into_iter().zip(of_axis) {
        if let Some(axis) = axis {
            tile[axis] = cells;
        }
    }
    tile
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::launch::boxes::{PipelineBox, hold};
    use crate::cuda::text::layout_of;
    use crate::prelude::{Near, stencil};
    use crate::{Boundary, Face, Span, Spec, Stencil};

    #[stencil]
    fn plane(u: Near<f64, 2>) -> f64 {
        u[[-1, 0]] + u[[0, 1]] - u[[0, 0]]
    }

    #[stencil]
    fn volume(u: Near<f32, 3>) -> f32 {
        u[[-1, 0, 0]] + u[[0, 1, 0]] - u[[0, 0, 1]] - u[[0, 0, 0]]
    }

    /// As tuned for 1024³ cells of `f32` on an H200: tiles of 112 by 30 cells.
    const TUNED: CudaPolicy = CudaPolicy {
        kernel: CudaKernel::Pipeline,
        cells: [4, 3, 1],
        warps: 12,
        min_blocks: 1,
        chunk: 194,
        prefetch: 2,
        temporal_depth: 3,
        phases: 0,
        contraction: true,
    };

    /// The halves of a time block by a part that holds `ghosts` around `own` cells and sends `sent`, and that they are
    /// disjoint, all of the part, and write nothing of one another.
    fn halves(
        stencil: &Spec,
        policy: &CudaPolicy,
        (own, ghosts, sent): (Axes<usize>, Margin, Margin),
    ) -> Option<(Region, BoundarySplit, usize)> {
        let dims = stencil.rank();
        let policy = policy.shaped(dims).unwrap();
        let size = stencil.cell.size(0);
        let extents = Axes::from_fn(dims, |d| ghosts[d][0] + own[d] + ghosts[d][1]);
        let layout = layout_of(stencil, extents, &policy).unwrap();
        let shape = PipelineShape::of(&policy, dims, size).unwrap();
        let low = ghosts.map(|[below, _]| below);
        let own = Region { low, high: Axes::from_fn(dims, |d| low[d] + own[d]) };
        let found = of_pipeline(&own, &sent, (&layout, size), (&policy, &shape))?;
        let boxes: Vec<_> = found.boundary.iter().chain([&found.interior]).map(placed).collect();
        let cells: usize = boxes.iter().map(|(_, n)| n.iter().product::<usize>()).sum();
        assert_eq!(cells, Span::from(own).cells(), "{found:?}");
        for (n, region) in found.boundary.iter().chain([&found.interior]).enumerate() {
            let held = hold(stencil, &layout);
            let written = PipelineBox::new((&layout, size), (&policy, &shape), region, held);
            let end = |d: usize| match d {
                0 => written.begin[0] + 1,
                d => written.begin[d] + written.numbers[0][d - 1] as usize,
            };
            for (m, (low, n_of)) in boxes.iter().enumerate() {
                let apart =
                    (0..4).any(|d| end(d) <= low[d] || low[d] + n_of[d] <= written.begin[d]);
                assert!(apart || n == m, "{region:?} writes {m} of {found:?}");
            }
            // What is unpacked next to the interior is none of its cells.
            let (low, size) = boxes[n];
            let exact = written.begin == low && (1..4).all(|d| end(d) == low[d] + size[d]);
            assert!(exact || *region != found.interior, "{region:?} writes {written:?}");
        }
        for at in 0..dims {
            let Region { low, high } = found.interior;
            assert!(low[at] >= own.low[at] + sent[at][0] && high[at] + sent[at][1] <= own.high[at]);
        }
        let of = (&policy, &shape, size);
        if !may_pay(&found, &own, of) {
            return None;
        }
        let work = |region: &Region| work(region, of);
        let all: usize = found.boundary.iter().chain([&found.interior]).map(work).sum();
        Some((own, found, 1000 * (all - work(&own).min(all)) / work(&own)))
    }

    #[test]
    fn a_slab_costs_what_fills_its_tiles_and_other_cuts_cost_whole_tiles() {
        let stencil = Stencil::of(volume()).boundary(Boundary::Periodic);
        let cut = |at: [usize; 3], cells: usize| at.map(|cut| [cut * cells; 2]);
        let of = |at: [usize; 3], depth: usize| {
            let held = Boundary::Dirichlet(0.0);
            // Cut axes repeat for other ranks, which an executor is not told.
            let mut own = stencil.clone();
            for (axis, cut) in at.into_iter().enumerate() {
                if cut == 1 {
                    own = own.face(axis, Face::Low, held).face(axis, Face::High, held);
                }
            }
            halves(&own, &TUNED, ([1024; 3].into(), cut(at, 6).into(), cut(at, depth).into()))
                .unwrap()
        };
        // Thousandths of a time block: two slabs of 3 planes, each with 12 redundant, next to 1018.
        let (own, slabs, more) = of([1, 0, 0], 3);
        assert_eq!((slabs.boundary.len(), slabs.interior.low[0] - own.low[0], more), (2, 3, 21));
        assert_eq!(own.high[0] - slabs.interior.high[0], 3);
        assert_eq!(of([1, 0, 0], 12).2, 21, "deeper slabs fill their tiles no more often");
        let (own, rows, more) = of([0, 1, 0], 3);
        assert_eq!((rows.interior.low[1] - own.low[1], more), (30, 0));
        let (own, columns, more) = of([0, 0, 1], 3);
        // Rows begin on sectors of eight cells, the seventh of the zone's own cells with one.
        assert_eq!((own.low[2], columns.interior.low[2], more), (6, 112, 0));
        assert!(columns.interior.high[2] % 8 == 0 && own.high[2] - columns.interior.high[2] <= 112);
        assert_eq!(of([1, 1, 1], 3).1.boundary.len(), 6);
        assert!(of([1, 1, 1], 3).2 < 40);
    }

    #[test]
    fn halves_of_any_part_write_nothing_of_one_another() {
        let held = Boundary::Dirichlet(0.0);
        let flat = Stencil::of(plane()).boundary(held);
        let piped = CudaPolicy { cells: [2, 1, 1], warps: 2, temporal_depth: 4, chunk: 9, ..TUNED };
        let mut count = [0; 2];
        for n in 0..4000 {
            // All sides are cut or not, in all combinations, with parts of many sizes.
            let at = |shift: usize, most: usize| ((n * 2_654_435_761) >> shift) % most;
            let side = |bit: usize, cells: usize| if n >> bit & 1 == 1 { cells } else { 0 };
            let (room, deep) = (4 + at(9, 5), 1 + at(13, 4));
            let ghosts = [[side(0, room), side(1, room)], [side(2, room), side(3, room)]];
            let sent = [[side(0, deep), side(1, deep)], [side(2, deep), side(3, deep)]];
            let own = [1 + at(17, 60), 1 + at(21, 300)];
            let found = halves(&flat, &piped, (own.into(), ghosts.into(), sent.into()));
            count[usize::from(found.is_some())] += 1;
        }
        assert!(count.iter().all(|&n| n > 400), "{count:?}");
    }

    #[test]
    fn a_part_that_is_all_rim_is_not_cut() {
        let stencil = Stencil::of(volume()).boundary(Boundary::Dirichlet(0.0));
        let slab = [[3, 3], [0, 0], [0, 0]];
        let of = |planes: usize| {
            halves(&stencil, &TUNED, ([planes, 512, 512].into(), slab.into(), slab.into()))
        };
        // Two rims of 3 and 12 planes are as much as 18 and 12.
        assert!(of(7).is_none() && of(18).is_none() && of(40).is_some());
        let columns = [[0, 0], [0, 0], [3, 3]];
        let of = |cells: usize| {
            halves(&stencil, &TUNED, ([64, 64, cells].into(), columns.into(), columns.into()))
        };
        assert!(of(220).is_none() && of(1000).is_some());
    }
}
