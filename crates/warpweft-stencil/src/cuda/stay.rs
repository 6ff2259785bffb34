//! Steps on one GPU by tiles that stay on its multiprocessors.

use super::memory::arrays::STEP;
use super::resident::Resident;
use super::sweeps::CudaSweeps;
use warpweft_core::error::Result;

impl CudaSweeps {
    /// Queues `steps` steps by tiles that stay on the chip.
    pub(super) fn stay(&mut self, steps: u64) -> Result<()> {
        for steps in Resident::launches(steps) {
            let Some(home) = &self.resident else { return Ok(()) };
            let all = self.arrays.layout.extents[1];
            let alone = ([None; 2], [0, all]);
            for queued in self.queue().resident(home, alone, self.state, steps)? {
                // SAFETY: the arrays and the messages live as long as `self`, and dropping one waits for the device.
                unsafe { queued.launch(&self.stream)? };
            }
            self.state ^= STEP;
            if let Some(home) = &mut self.resident {
                home.count(steps);
            }
        }
        Ok(())
    }
}
