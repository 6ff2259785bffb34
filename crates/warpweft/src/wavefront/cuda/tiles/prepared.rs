//! A wavefront on the device: launched, perhaps again, and read back.

use std::time::Duration;

use super::super::bytes::bytes_of_mut;
use super::super::winner::{total, winner};
use super::buffers::Buffers;
use super::idle::IdleTime;
use super::plan::Plan;
use crate::cuda::{Args, Event, Global, Kernel, Launch, Stream, Watchdog};
use crate::element::Unit;
use crate::error::{Error, Result};
use crate::wavefront::frame::allocate;
use crate::wavefront::spec::{Keep, Kept, Wavefront};
use crate::wavefront::{Extreme, WavefrontElement};

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
        let [rows, columns] = self.plan.extents;
        let found = || {
            let warps = self.blocks as usize * self.plan.layout.height / 32;
            let mut found = vec![[0u64; 3]; warps];
            self.stream.download(&self.buffers.candidates, 0, &mut found)?;
            Ok::<_, Error>(found)
        };
        let best = |extreme| {
            if wavefront.updates() == 0 {
                // No score at all, which is not the lowest.
                return Ok(None);
            }
            Ok::<_, Error>(winner(&found()?, extreme))
        };
        let line = |count| {
            let mut cells: Vec<E::Cell> = allocate(count)?;
            self.stream.download(&self.buffers.kept, 0, bytes_of_mut(&mut cells))?;
            Ok::<_, Error>(cells)
        };
        Ok(match wavefront.keep {
            Keep::Best => Kept::Best(best(Extreme::Greatest)?),
            Keep::Least => Kept::Best(best(Extreme::Least)?),
            Keep::Score => Kept::Score(best(Extreme::Greatest)?.map(|best| best.score)),
            Keep::Sum => Kept::Sum(total(&found()?)),
            Keep::LastRow => Kept::LastRow(line(columns)?),
            Keep::LastColumn => Kept::LastColumn(line(rows)?),
            Keep::Matrix => {
                let plan = &self.plan;
                let mut stored: Vec<E::Cell> = allocate(plan.layout.len(plan.stored_tile_rows()))?;
                let skipped = plan.padding() * size_of::<E::Cell>();
                self.stream.download(&self.buffers.matrix, skipped, bytes_of_mut(&mut stored))?;
                let mut matrix: Vec<E::Cell> = allocate(rows * columns)?;
                for (i, row) in matrix.chunks_mut(columns).enumerate() {
                    let first = plan.layout.index(i, plan.shape.sides[0]);
                    let cells = stored[first..].iter().step_by(plan.layout.height);
                    for (to, from) in row.iter_mut().zip(cells) {
                        *to = *from;
                    }
                }
                Kept::Matrix(matrix)
            }
        })
    }
}
