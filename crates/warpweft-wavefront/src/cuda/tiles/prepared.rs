//! A wavefront on the device: launched, perhaps again, and read back.

use std::time::Duration;

use super::buffers::Buffers;
use super::idle::IdleTime;
use crate::cuda::filled::{Found, kept};
use crate::cuda::tables::OnDevice;
use crate::frame::allocate;
use crate::plan::Plan;
use crate::recurrence::{WavefrontElement, bytes_of_mut};
use crate::spec::{Erased, Keep, Kept, Wavefront};
use warpweft_core::cuda::{Args, Event, Global, Kernel, Launch, Stream, Watchdog};
use warpweft_core::element::Unit;
use warpweft_core::error::Result;

/// How long a run may take in all.
const LIMIT: Duration = Duration::from_secs(24 * 3600);

/// A wavefront on the device.
pub struct Prepared<'x> {
    pub(super) plan: Plan,
    pub(super) kernel: Kernel,
    pub(super) fault: Option<Global>,
    pub(super) unit: Unit,
    pub(super) stream: &'x Stream,
    pub(super) watchdog: &'x Watchdog,
    pub(super) buffers: Buffers,
    pub(super) args: Args,
    /// What the arguments point to.
    pub(super) _element: OnDevice,
    pub(super) blocks: u32,
    pub(super) shared: u32,
}

impl Prepared<'_> {
    /// Fronts, tiles and waits.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Blocks of the launch.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Computes all cells; returns the kernel's seconds. Again: old values are what the last launch
    /// left.
    ///
    /// # Errors
    /// A fault of the element function or of the device.
    pub fn launch(&self) -> Result<f64> {
        let device = self.stream.device();
        self.stream.fill(&self.buffers.flags, 0)?;
        self.watchdog.reset();
        let launch = Launch::line(self.blocks, self.plan.policy.threads()).shared(self.shared);
        let (start, end) = (Event::new(device)?, Event::new(device)?);
        self.stream.record(&start)?;
        // SAFETY: the arguments are those of `wavefront_tiles` in order and layout; every buffer
        // holds what the kernel's comment says, padding included, and lives past the wait.
        unsafe { self.stream.launch_cooperative(&self.kernel, launch, &self.args)? };
        self.stream.record(&end)?;
        self.watchdog.wait(self.stream, LIMIT)?;
        self.check_fault()?;
        start.seconds_until(&end)
    }

    fn check_fault(&self) -> Result<()> {
        let Some(fault) = &self.fault else { return Ok(()) };
        let code = fault.read::<u32>(self.stream)?;
        if code == 0 {
            return Ok(());
        }
        fault.write(self.stream, 0u32)?;
        Err(self.unit.fault(code, self.stream.device().label()))
    }

    /// Where the blocks' time went in the last launch; zeros unless it was compiled in.
    ///
    /// # Errors
    /// The driver's.
    pub fn idle(&self) -> Result<IdleTime> {
        let mut blocks = vec![[0u64; 5]; self.blocks as usize];
        self.stream.download(&self.buffers.idle, 0, &mut blocks)?;
        Ok(IdleTime::of(&blocks))
    }

    /// What was to be kept of the last launch.
    ///
    /// # Errors
    /// Too little memory; the driver's.
    pub fn kept<E: WavefrontElement>(&self, wavefront: &Wavefront<'_, E>) -> Result<Kept<E::Cell>> {
        let erased = wavefront.erased();
        let mut cells = allocate(erased.kept_cells())?;
        let found = self.fill(&erased, bytes_of_mut(&mut cells))?;
        Ok(kept(wavefront.keep, &found, cells))
    }

    /// Fills `cells` with what was to be kept of them; what the warps found.
    pub(super) fn fill(&self, wavefront: &Erased<'_>, cells: &mut [u8]) -> Result<Found> {
        let plan = &self.plan;
        match wavefront.keep {
            // No score at all, which is not the lowest.
            Keep::Best | Keep::Least | Keep::Score if wavefront.updates() == 0 => {}
            Keep::Best | Keep::Least | Keep::Score | Keep::Sum => {
                let mut found = vec![[0u64; 3]; self.blocks as usize * plan.layout.height / 32];
                self.stream.download(&self.buffers.candidates, 0, &mut found)?;
                return Ok(found);
            }
            Keep::LastRow | Keep::LastColumn => {
                self.stream.download(&self.buffers.kept, 0, cells)?;
            }
            Keep::Matrix => {
                let cell = wavefront.element.cell;
                let mut stored = allocate(plan.layout.len(plan.stored_tile_rows()) * cell)?;
                self.stream.download(&self.buffers.matrix, plan.padding() * cell, &mut stored)?;
                for (i, row) in cells.chunks_mut((plan.extents[1] * cell).max(1)).enumerate() {
                    let first = plan.layout.index(i, plan.shape.sides[0]);
                    every(cell, &stored[first * cell..], plan.layout.height, row);
                }
            }
        }
        Ok(Found::new())
    }
}

/// Copies every `step`th cell of `from`, of so many bytes each, from the first on.
fn every(cell: usize, from: &[u8], step: usize, to: &mut [u8]) {
    // Moves, not calls, for the usual sizes.
    fn whole<const N: usize>(from: &[u8], step: usize, to: &mut [u8]) {
        let cells = from.as_chunks::<N>().0.iter().step_by(step);
        for (to, from) in to.as_chunks_mut::<N>().0.iter_mut().zip(cells) {
            *to = *from;
        }
    }
    match cell {
        1 => whole::<1>(from, step, to),
        2 => whole::<2>(from, step, to),
        4 => whole::<4>(from, step, to),
        8 => whole::<8>(from, step, to),
        12 => whole::<12>(from, step, to),
        16 => whole::<16>(from, step, to),
        _ => {
            let cells = from.chunks_exact(cell.max(1)).step_by(step);
            for (to, from) in to.chunks_exact_mut(cell.max(1)).zip(cells) {
                to.copy_from_slice(from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::every;

    #[test]
    fn every_third_cell_of_any_size_is_copied() {
        for cell in 1..20 {
            let from: Vec<u8> = (0..10 * cell).map(|at| at as u8).collect();
            let mut to = vec![0; 4 * cell];
            every(cell, &from, 3, &mut to);
            let expect: Vec<_> = (0..4).flat_map(|k| &from[3 * k * cell..][..cell]).collect();
            assert_eq!(to.iter().collect::<Vec<_>>(), expect);
        }
    }
}
