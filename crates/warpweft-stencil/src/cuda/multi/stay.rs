//! Steps over several GPUs by tiles that stay on their multiprocessors.

use super::sweeps::Slabs;
use crate::cuda::resident::Resident;
use warpweft_core::cuda::undisturbed;
use warpweft_core::error::Result;

impl<const D: usize> Slabs<D> {
    /// Queues steps by tiles that stay on the devices' multiprocessors; the state they end in.
    pub(super) fn stay(&mut self, steps: u64) -> Result<usize> {
        let _alone = self.shared.then(undisturbed);
        for steps in Resident::launches(steps) {
            for (part, slab) in self.slabs.iter().enumerate() {
                slab.stay(&self.problem, self.neighbours(part), self.state, steps)?;
            }
            self.state = 1 - self.state;
            for slab in &mut self.slabs {
                slab.resident.iter_mut().for_each(|tiles| tiles.count(steps));
            }
            // What the next launch finds beyond the slab: the ghosts of ghost planes above all.
            self.mark_stages()?;
            self.exchange(&self.slabs[0].used(self.state))?;
            self.meet()?;
        }
        Ok(self.state)
    }
}
