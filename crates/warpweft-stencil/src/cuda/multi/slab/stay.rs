//! A slab whose cells stay on its device's multiprocessors.

use super::{Problem, Slab};
use crate::cuda::resident::Resident;
use warpweft_core::error::Result;

impl Slab {
    /// Makes the tiles that stay on the device, if the policy has such, beside those of as many slabs in all.
    pub fn settle_tiles<const D: usize>(
        &mut self,
        problem: &Problem<D>,
        beside: usize,
    ) -> Result<()> {
        let Some(shape) = &problem.text.resident else { return Ok(()) };
        let kernel = (shape, self.module.kernel("ww_resident")?);
        let layout = &self.arrays.layout;
        self.resident =
            Some(Resident::new(&problem.policy.cuda, kernel, layout, &self.stream, beside)?);
        Ok(())
    }

    /// Queues a launch of `steps` steps from `state` by resident tiles, and the renewal of ghosts after it.
    pub(in super::super) fn stay<const D: usize>(
        &self,
        problem: &Problem<D>,
        neighbours: [Option<&Slab>; 2],
        state: usize,
        steps: u64,
    ) -> Result<()> {
        let Some(home) = &self.resident else { return Ok(()) };
        let beyond = neighbours.map(|slab| slab.and_then(|slab| slab.resident.as_ref()));
        let planes = [self.planes.start, problem.extents[0]];
        let queued = self.queue(problem).resident(home, (beyond, planes), state, steps)?;
        queued.iter().try_for_each(|queued| self.launch(queued))
    }
}
