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
        }
        Ok(())
    }

    /// Fused steps as long as so many are left, then single steps.
    fn launches(&self, steps: usize, cone: &Cone) -> Result<Launches> {
        let queue = self.queue();
        let (mut queued, mut state, mut done) = (Vec::new(), self.state, 0);
        if let Some(kernel) = &self.fused_kernel {
            let depth = self.policy().temporal_depth as usize;
            while done + depth <= steps {
                done += depth;
                queued.extend(queue.fused(
                    kernel,
                    state,
                    &cone.of_step(done - 1, self.kernels.len()),
                )?);
                state ^= queue.fused_change();
            }
        }
        for step in done..steps {
            queued.extend(queue.step(&self.kernels, state, |stage| cone.at(step, stage))?);
            state ^= STEP;
        }
        Ok(Launches { queued, state })
    }
}
