//! What the kernels of one slab take of its device.

use super::super::policy::Layers;
use super::{Problem, Slab};
use warpweft_core::error::Result;

impl Slab {
    /// Blocks at cuts, and how many blocks of the kernels the device can hold.
    pub(in super::super) fn residency<const D: usize>(
        &self,
        problem: &Problem<D>,
        part: usize,
    ) -> Result<[usize; 2]> {
        let Layers { all, edge } = Self::layers(problem, part);
        let trip = problem.text.trip.as_ref();
        let [gx, gy, gz] = problem.policy.flagged_grid::<D>(&self.arrays.layout, trip);
        let mut fewest = u32::MAX;
        let stages = problem.text.stages.iter();
        let stages = stages.map(|shape| (&*shape.kernel, problem.text.warps, shape.shared));
        let trips = trip.map(|trip| ("ww_trip", problem.policy.cuda.warps, trip.shared));
        let words = problem.text.words.as_ref();
        let words = words.map(|shape| (&*shape.kernel, problem.text.warps, 0));
        for (name, warps, shared) in stages.chain(trips).chain(words) {
            let kernel = self.module.kernel(name)?;
            if shared > 0 {
                kernel.allow_shared(shared as u32)?;
            }
            fewest = fewest.min(kernel.blocks_per_sm(32 * warps, shared as u32)?);
        }
        let resident = fewest as usize * self.stream.device().sms()? as usize;
        // The ghost planes that words advance may be a layer more a side.
        let more = if problem.text.words.is_some() { 2 } else { 0 };
        Ok([(edge[0] + edge[1] + more) * gx * gy * (gz / all.max(1)).max(1), resident])
    }

    /// Registers and bytes of local memory a thread, the most of all kernels.
    pub(in super::super) fn footprint<const D: usize>(
        &self,
        problem: &Problem<D>,
    ) -> Result<[u32; 2]> {
        let mut most = [0; 2];
        let stages = problem.text.stages.iter().map(|shape| &*shape.kernel);
        let words = problem.text.words.as_ref().map(|shape| &*shape.kernel);
        let tiles = problem.text.resident.map(|_| "ww_resident");
        for name in stages.chain(problem.text.trip.map(|_| "ww_trip")).chain(words).chain(tiles) {
            let attributes = self.module.kernel(name)?.attributes();
            most = [most[0].max(attributes.registers), most[1].max(attributes.local_bytes)];
        }
        Ok(most)
    }
}
