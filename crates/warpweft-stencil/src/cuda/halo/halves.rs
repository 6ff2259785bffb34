//! The last launch before a halo exchange in two parts on a GPU, boundary first: a single step. Not: what is sent (`halo`),
//! nor the first time block after an exchange (`interior_first`).

use crate::cuda::fused::Fused;
use crate::cuda::launch::boxes::placed;
use crate::cuda::memory::layout::axes;
use crate::cuda::sweeps::CudaSweeps;
use crate::cuda::text::{FusedShape, single};
use crate::exchange::BoundarySplit;
use crate::plan::halo::Margin;
use crate::{CudaKernel, CudaPolicy, Region};
use warpweft_core::cuda::Stream;
use warpweft_core::error::Result;
use warpweft_core::grid::Axes;

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
        match fused {
            Some(Fused { shape: FusedShape::Resident(_), .. }) => None,
            // The last launch is one of fused steps, of whose boundary nobody has measured what it would save.
            Some(fused) if steps.is_multiple_of(fused.depth()) => None,
            _ => Some(BoundarySplit::of_step(*own, sent, tile(own.rank(), &self.single))),
        }
    }

    /// Queues a step over `region` alone; ghosts are not renewed.
    pub(crate) fn launch_part(&self, region: &Region, stream: &Stream) -> Result<()> {
        if placed(region).1.contains(&0) {
            return Ok(());
        }
        if let Some(queued) = self.queue().part(&self.kernels[0], self.state, region)? {
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
