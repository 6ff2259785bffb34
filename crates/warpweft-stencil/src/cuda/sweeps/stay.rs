//! Steps on one GPU by tiles that stay on its multiprocessors.

use super::CudaSweeps;
use crate::cuda::fused::Whole;
use crate::cuda::memory::arrays::STEP;
use crate::cuda::resident::Resident;
use warpweft_core::error::Result;

impl CudaSweeps {
    /// Queues `steps` steps by the tiles of kernel number `at`, which stay on the chip.
    pub(in crate::cuda) fn stay(&mut self, at: usize, steps: u64) -> Result<()> {
        for steps in Resident::launches(steps) {
            let Some(home) = self.fused[at].resident() else { return Ok(()) };
            let all = self.arrays.layout.extents[1];
            let alone = ([None; 2], [0, all]);
            for queued in self.queue().resident(home, alone, self.state, steps)? {
                // SAFETY: the arrays and the messages live as long as `self`, and dropping one waits for the device.
                unsafe { queued.launch(&self.stream)? };
            }
            self.state ^= STEP;
            self.history.passes += 1;
            if let Whole::Stays(home) = &mut self.fused[at].whole {
                home.count(steps);
            }
        }
        Ok(())
    }
}
