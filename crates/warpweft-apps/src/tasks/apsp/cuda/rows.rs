//! Rows of distances on their way to the sink: in page-locked memory of a lane, copied while the next rows are computed.

use std::cell::Cell;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};

use warpweft::cuda::{Buffer, Event, Pinned};
use warpweft::error::{Error, Result};
use warpweft::farm::GpuLane;

use super::super::paths::Shape;
use super::WAIT;

/// Bytes of a packed output before its distances: how far the source reaches, and how many distances there are.
const HEAD: usize = 24;
/// Bytes that are copied at once, if more than one row fits.
const GROUP: usize = 64 << 20;
/// Groups of a lane on the host: one is being copied, the sink reads one. Page-locked memory takes 0.6 ms a MB to get.
const GROUPS: usize = 2;
/// Bytes that are computed at once. Words of a vertex share sectors: 256 rows at once read memory once, single words
/// eight times.
const STAGE: usize = 5 << 28;

/// Bytes of a packed output of so many distances of `bytes` bytes.
pub(super) fn row_bytes(vertices: u32, bytes: u32) -> usize {
    HEAD + vertices as usize * bytes as usize
}

/// How many rows are computed at once, out of a batch of a shape, and how many are copied at once: powers of two, so that
/// they have whole words or are part of one.
pub(super) fn at_once(vertices: u32, bytes: u32, shape: Shape) -> [usize; 2] {
    [STAGE, GROUP].map(|most| {
        let most = (most / row_bytes(vertices, bytes)).clamp(1, 1024 * shape.words as usize);
        1 << most.ilog2()
    })
}

/// A lane's memory for groups of rows.
pub(super) struct Home {
    /// Rows on the device.
    pub stage: Buffer,
    /// How many those are, and how many a group has.
    pub at_once: [usize; 2],
    /// Bytes of a row.
    row: usize,
    /// Host memory of groups that is not used, and by what it comes back.
    unused: Receiver<Pinned<u8>>,
    back: Sender<Pinned<u8>>,
    /// How many there are.
    made: Cell<usize>,
}

impl Home {
    /// For rows of `row` bytes, as [`at_once`] has them.
    ///
    /// # Errors
    /// Too little memory.
    pub fn on(lane: &GpuLane, at_once: [usize; 2], row: usize) -> Result<Self> {
        let (back, unused) = channel();
        let stage = Buffer::new(lane.device(), at_once[0] * row)?;
        Ok(Self { stage, at_once, row, unused, back, made: Cell::new(0) })
    }

    /// Takes the host memory of all groups. That takes long, so it is best done while the device works.
    ///
    /// # Errors
    /// Too little memory.
    pub fn prepare(&self, lane: &GpuLane) -> Result<()> {
        while self.made.get() < GROUPS {
            let memory = Pinned::new(lane.device(), self.at_once[1] * self.row)?;
            self.made.set(self.made.get() + 1);
            // The other end is here.
            let _ = self.back.send(memory);
        }
        Ok(())
    }

    /// Queues the copy of the rows of `tasks`, of which `stage` begins with that of `first`.
    ///
    /// # Errors
    /// Too little memory; the driver's.
    pub fn copy<'a>(
        &self,
        lane: &'a GpuLane,
        first: usize,
        tasks: Range<usize>,
    ) -> Result<InFlight<'a>> {
        let offset = (tasks.start - first) * self.row;
        let bytes = tasks.len() * self.row;
        self.prepare(lane)?;
        // If the sink is behind, this waits for what it gives back.
        let mut memory = self.unused.recv().map_err(|_| Error::spec("no rows", "report this"))?;
        // SAFETY: nobody has access to the memory before `InFlight` has waited for the copy.
        let queued =
            unsafe { lane.stream().download_async(&self.stage, offset, &mut memory, 0..bytes) };
        let lent = Lent { memory: Some(memory), bytes, back: self.back.clone() };
        let mut flight = InFlight { lane, tasks, lent: Some(lent), end: None };
        queued?;
        flight.end = Some(lane.mark()?);
        Ok(flight)
    }
}

/// Rows that are being copied from the device.
pub(super) struct InFlight<'a> {
    lane: &'a GpuLane,
    /// Whose they are.
    tasks: Range<usize>,
    lent: Option<Lent>,
    /// Of the copy.
    end: Option<Event>,
}

impl InFlight<'_> {
    /// Whose rows, and the rows, once they are here.
    ///
    /// # Errors
    /// As [`GpuLane::wait`].
    pub fn landed(mut self) -> Result<(Range<usize>, Lent)> {
        match self.end.take() {
            Some(end) => self.lane.wait_for(end, WAIT)?,
            None => self.lane.wait(WAIT)?,
        }
        let lent = self.lent.take().ok_or_else(|| Error::spec("no rows", "report this"))?;
        Ok((self.tasks.clone(), lent))
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if let Some(lent) = self.lent.take()
            && self.lane.wait(WAIT).is_err()
        {
            // The device may still write.
            std::mem::forget(lent);
        }
    }
}

/// Packed outputs in page-locked memory, which goes back to its lane when it is dropped.
pub(super) struct Lent {
    memory: Option<Pinned<u8>>,
    bytes: usize,
    back: Sender<Pinned<u8>>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        self.memory.as_ref().map_or(&[], |memory| &memory[..self.bytes])
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // Without a lane it is freed.
        self.memory.take().map(|memory| self.back.send(memory));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_rows_are_as_large_as_copies_need() {
        let wide = Shape { words: 2, blocks: 4, reads: 8 };
        assert_eq!(row_bytes(1_049_088, 4), 24 + 4 * 1_049_088);
        let of = |vertices, bytes| at_once(vertices, bytes, wide);
        assert_eq!((of(1_049_088, 4), of(1_049_088, 2)), ([256, 8], [512, 16]));
        assert_eq!((of(10, 4), of(u32::MAX - 1, 4)), ([2048; 2], [1; 2]));
    }
}
