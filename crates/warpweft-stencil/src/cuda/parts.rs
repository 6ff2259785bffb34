//! Sweeps of a part of a volume: launches over the boxes that what comes after them depends on.

use std::collections::HashMap;

use super::launch::queue::Queued;
use super::memory::arrays::STEP;
use super::sweeps::CudaSweeps;
use crate::plan::cone::Cone;
use crate::{Region, Sweep};
use warpweft_core::error::Result;

/// Sweeps of parts whose launches are kept; more than searches and sources come to.
const KEPT: usize = 256;

/// The launches of sweeps of parts.
pub(super) type Parts = HashMap<Part, Launches>;

/// Which cells a sweep is of, how many steps it has and how many follow, and in what state it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Part {
    region: Region,
    steps: u64,
    following: u64,
    state: usize,
}

/// What is queued, and in what state that ends.
pub(super) struct Launches {
    queued: Vec<Queued>,
    state: usize,
    /// Passes over memory.
    passes: u64,
}

impl CudaSweeps {
    /// Queues `sweep`, each launch over what `cone` has of it.
    pub(super) fn sweep_part(&mut self, sweep: &Sweep, cone: &Cone) -> Result<()> {
        let Sweep { region, steps, following, .. } = *sweep;
        let part = Part { region, steps, following, state: self.state };
        if !self.parts.contains_key(&part) {
            if self.parts.len() == KEPT {
                self.parts.clear();
            }
            self.parts.insert(part, self.launches(steps as usize, cone)?);
        }
        if let Some(launches) = self.parts.get(&part) {
            for queued in &launches.queued {
                // SAFETY: the arrays live as long as `self`, and dropping one waits for the device.
                unsafe { queued.launch(&self.stream)? };
            }
            self.state = launches.state;
            self.history.passes += launches.passes;
        }
        Ok(())
    }

    /// Fused steps as long as so many are left, then single steps.
    fn launches(&self, steps: usize, cone: &Cone) -> Result<Launches> {
        let queue = self.queue();
        let (mut queued, mut state, mut done) = (Vec::new(), self.state, 0);
        let mut passes = 0;
        // Tiles that stay on the chip take no part of a volume.
        let fused = self.fused_now().filter(|fused| fused.resident().is_none());
        if let Some(fused) = fused {
            let (depth, by) = (fused.depth() as usize, fused.by());
            while done + depth <= steps {
                done += depth;
                let last = cone.of_step(done - 1, self.kernels.len());
                queued.extend(queue.fused(by, state, &last)?);
                state ^= fused.shape.change();
                passes += 1;
            }
        }
        for step in done..steps {
            queued.extend(queue.step(&self.kernels, state, |stage| cone.at(step, stage))?);
            state ^= STEP;
            passes += 1;
        }
        Ok(Launches { queued, state, passes })
    }
}
