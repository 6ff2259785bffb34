//! The memory of a launch for a batch, but for what is recorded (`launch`).

use super::WARPS;
use super::place::Batch;
use crate::cuda::filled::Found;
use crate::cuda::tables::OnDevice;
use crate::cuda::upload::inputs;
use crate::recurrence::bytes_of;
use warpweft_core::cuda::{Buffer, Stream};
use warpweft_core::error::Result;

/// Corners, and cells above and to the west.
pub(super) struct Outside {
    pub borders: Buffer,
    pub top: Buffer,
    pub left: Buffer,
}

impl Outside {
    /// Those of `batch`, as [`Batch::outside`] has them.
    pub fn of(
        [corners, top, left]: [&[u8]; 3],
        batch: &Batch<'_>,
        stream: &Stream,
    ) -> Result<Self> {
        Ok(Self {
            borders: inputs(stream, corners, 2 * batch.problems.len())?,
            top: inputs(stream, top, 0)?,
            left: inputs(stream, left, 0)?,
        })
    }
}

/// Inputs, what is kept, and what passes between the passes of a problem.
pub(super) struct Memory {
    pub rows: Buffer,
    /// `None` where they are the rows.
    pub columns: Option<Buffer>,
    pub problems: Buffer,
    pub elements: Buffer,
    /// What those point to.
    _tables: OnDevice,
    pub next: Buffer,
    pub lines: Buffer,
    pub kept: Buffer,
    pub candidates: Buffer,
    /// How many are compared.
    compared: usize,
}

impl Memory {
    /// That of `batch` in so many `blocks`, each of whose warps has a line of so many cells.
    pub fn of(batch: &Batch<'_>, (blocks, line): (usize, usize), stream: &Stream) -> Result<Self> {
        let (device, cell) = (stream.device(), batch.element.cell);
        // All pairs of a set of series have the same for both.
        let same = batch.rows.is_of(&batch.columns);
        let tables = OnDevice::new(stream, &batch.elements, &batch.tables)?;
        let compares = batch.wanted.keep().extreme().is_some();
        let compared = if compares { batch.results } else { 0 };
        Ok(Self {
            rows: batch.rows.upload(stream)?,
            columns: if same { None } else { Some(batch.columns.upload(stream)?) },
            problems: Buffer::from_slice(stream, bytes_of(&batch.problems))?,
            elements: inputs(stream, &tables.parameters, batch.problems.len())?,
            _tables: tables,
            next: Buffer::zeroed(stream, 4)?,
            lines: Buffer::new(device, blocks * WARPS as usize * line * cell)?,
            kept: Buffer::new(device, batch.kept * cell)?,
            candidates: Buffer::zeroed(stream, 24 * compared)?,
            compared,
        })
    }

    /// What is kept, into `cells`, and what was found.
    pub fn fetch(&self, cells: &mut [u8], stream: &Stream) -> Result<Found> {
        if !cells.is_empty() {
            stream.download(&self.kept, 0, cells)?;
        }
        let mut found = vec![[0u64; 3]; self.compared];
        if !found.is_empty() {
            stream.download(&self.candidates, 0, &mut found)?;
        }
        Ok(found)
    }
}
