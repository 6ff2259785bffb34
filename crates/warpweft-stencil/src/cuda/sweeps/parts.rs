//! Sweeps of a part of a volume: launches over the boxes that what comes after them depends on.

use std::sync::Arc;

use super::CudaSweeps;
use crate::cuda::fused::Fused;
use crate::cuda::halo::interior_first::{Costs, InteriorFirst, chunk_of};
use crate::cuda::launch::boxes::placed;
use crate::cuda::launches::{First, Launches, Part};
use crate::cuda::memory::arrays::STEP;
use crate::cuda::policy::chunks::chunks_of;
use crate::cuda::temporal::{TemporalShape, TimeBlock};
use crate::cuda::text::FusedShape;
use crate::plan::cone::Cone;
use crate::{CudaPolicy, Region, Sweep};
use warpweft_core::error::Result;

/// Sweeps of parts whose launches are kept; more than searches and sources come to.
const KEPT: usize = 256;
/// Planes that filling a block's stream costs.
const START: usize = 6;
/// Roughly those of an H200, to tell how long the interior must be: the latency of a halo exchange in seconds, the
/// bandwidth of a link in bytes per second, and the cells that a multiprocessor updates per second.
const EXCHANGE: f64 = 1.2e-5;
const LINK: f64 = 3.5e11;
const UPDATES: f64 = 2e10;

impl CudaSweeps {
    /// Whether the first time block of `sweep` may begin while a halo exchange is under way.
    pub(in crate::cuda) fn may_overlap(&self, sweep: &Sweep, cone: &Cone) -> bool {
        let fused = self.fused_of_parts().filter(|fused| sweep.steps >= fused.depth());
        let fits = fused
            .is_some_and(|fused| matches!(fused.shape, FusedShape::Temporal(_)) && !fused.packs());
        let told = self.faces.is_some() || self.place.is_some() || self.fault.is_some();
        let plain = !told && !sweep.keep_change;
        fits && plain && !cone.is_whole()
    }

    /// Queues `sweep`, each launch over what `cone` has of it; the sweeps have yet to wait for the halo exchange if it
    /// is `overlapped`.
    pub(in crate::cuda) fn sweep_part(
        &mut self,
        sweep: &Sweep,
        cone: &Cone,
        overlapped: bool,
    ) -> Result<()> {
        let Sweep { region, steps, following, .. } = *sweep;
        let part = Part { region, steps, following, state: self.state, overlapped };
        let launches = match self.parts.get(&part) {
            Some(launches) => launches.clone(),
            None => {
                if self.parts.len() == KEPT {
                    self.parts.clear();
                }
                let made = Arc::new(self.launches(sweep, cone, overlapped)?);
                self.parts.insert(part, made.clone());
                made
            }
        };
        match &launches.first {
            Some(first) => self.launch_first(first)?,
            None if overlapped => self.settle()?,
            None => {}
        }
        for queued in &launches.queued {
            // SAFETY: the arrays live as long as `self`, and dropping one waits for the device.
            unsafe { queued.launch(&self.stream)? };
        }
        self.state = launches.state;
        self.history.passes += launches.passes;
        Ok(())
    }

    /// Queues the interior, which reads no cell that is received, next to the halo exchange, and the boundary after
    /// that; the sweeps wait for both. Both read the present arrays and write disjoint boxes of the others.
    fn launch_first(&mut self, first: &First) -> Result<()> {
        for queued in &first.interior {
            // SAFETY: as in `sweep_part`.
            unsafe { queued.launch(&self.stream)? };
        }
        self.history.overlapped += 1;
        let Some(halos) = &mut self.halos else { return Ok(()) };
        halos.settle_after(&self.stream, |stream| {
            // SAFETY: as in `sweep_part`.
            first.boundary.iter().try_for_each(|queued| unsafe { queued.launch(stream) })
        })
    }

    /// The kernel of several steps that takes sweeps of parts.
    pub(in crate::cuda) fn fused_of_parts(&self) -> Option<&Fused> {
        self.fused_now().filter(|fused| fused.takes_parts() && self.stencil.rank() > 1)
    }

    /// Fused steps as long as so many are left, then single steps.
    fn launches(&self, sweep: &Sweep, cone: &Cone, overlapped: bool) -> Result<Launches> {
        let queue = self.queue();
        let steps = sweep.steps as usize;
        let (mut queued, mut state, mut done) = (Vec::new(), self.state, 0);
        let (mut first, mut passes) = (None, 0);
        if let Some(fused) = self.fused_of_parts() {
            let (depth, (kernel, policy, shape, values)) = (fused.depth() as usize, fused.by());
            while done + depth <= steps {
                done += depth;
                let last = cone.of_step(done - 1, self.kernels.len());
                if overlapped && passes == 0 {
                    first = self.first(sweep, &last)?;
                }
                let policy = self.chunked(policy, shape, &last)?;
                let all = queue.fused((kernel, &policy, shape, values), state, &last)?;
                // The first of them is the time block.
                queued.extend(all.into_iter().skip(usize::from(first.is_some() && passes == 0)));
                state ^= fused.shape.change();
                passes += 1;
            }
        }
        if (1..steps).contains(&done) {
            queued.extend(queue.faces_now(state));
        }
        for step in done..steps {
            queued.extend(queue.step(&self.kernels, state, |stage| cone.at(step, stage))?);
            state ^= STEP;
            passes += 1;
        }
        Ok(Launches { first, queued, state, passes })
    }

    /// The time block over `last` with which `sweep` begins in the present state, interior first, if that pays.
    fn first(&self, sweep: &Sweep, last: &Region) -> Result<Option<First>> {
        let Some((kernel, policy, of_fused, values)) = self.fused_now().map(Fused::by) else {
            return Ok(None);
        };
        let FusedShape::Temporal(shape) = of_fused else { return Ok(None) };
        let costs = Costs {
            exchange: self.exchange_in_planes(sweep, shape, policy),
            ..self.costs(policy, shape, last)?
        };
        let deep = shape.reach[0].map(|reach| reach * shape.depth);
        let found = InteriorFirst::of((&sweep.region, last), &self.extents(), deep, &costs);
        let Some(InteriorFirst { interior, boundary }) = found else { return Ok(None) };
        let queue = self.queue();
        let launch = |(region, chunk): &(Region, usize)| {
            let policy = CudaPolicy { chunk: *chunk as u32, ..*policy };
            queue.fused_part((kernel, &policy, of_fused, values), self.state, region)
        };
        let mut after: Vec<_> = self.renewal(&self.whole())?.into_iter().collect();
        for slab in &boundary {
            after.extend(launch(slab)?);
        }
        Ok(Some(First { interior: launch(&interior)?, boundary: after }))
    }

    /// What the time of a time block over `region` depends on, but for halo exchanges.
    fn costs(&self, policy: &CudaPolicy, shape: &TemporalShape, region: &Region) -> Result<Costs> {
        let [across, down, _] = TimeBlock::new(&self.arrays.layout, shape, policy, region).blocks;
        Ok(Costs {
            tiles: (across * down) as usize,
            redundant: shape.overhead() + START,
            slots: (self.stream.device().sms()? * policy.min_blocks.max(1)) as usize,
            exchange: 0,
            chunk: policy.chunk.max(1) as usize,
        })
    }

    /// `policy` with the chunk that suits the planes of `region`.
    fn chunked(
        &self,
        policy: &CudaPolicy,
        shape: &FusedShape,
        region: &Region,
    ) -> Result<CudaPolicy> {
        let FusedShape::Temporal(shape) = shape else { return Ok(*policy) };
        let costs = self.costs(policy, shape, region)?;
        let planes = region.high[0] - region.low[0];
        let others = chunks_of(planes, costs.tiles, costs.slots, costs.redundant);
        Ok(CudaPolicy { chunk: chunk_of(planes, &others, &costs) as u32, ..*policy })
    }

    /// About what the halo exchange before `sweep` takes, in planes of a block.
    fn exchange_in_planes(
        &self,
        sweep: &Sweep,
        shape: &TemporalShape,
        policy: &CudaPolicy,
    ) -> usize {
        let of_sm = policy.min_blocks.max(1) as usize;
        let steps = (sweep.steps + sweep.following) as usize;
        let [_, _, rows, cells] = placed(&sweep.region).1;
        let sizes = shape.writes.iter().map(|&f| self.stencil.cell.size(f));
        let deep = shape.reach[0].iter().max().map_or(0, |reach| reach * steps);
        let bytes = deep * rows * cells * sizes.sum::<usize>();
        let seconds = EXCHANGE + bytes as f64 / LINK;
        let plane = (shape.columns * shape.rows * shape.depth * of_sm) as f64 / UPDATES;
        (seconds / plane).ceil() as usize
    }
}
