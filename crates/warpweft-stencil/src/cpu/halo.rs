//! Boxes of an executor's cells copied out and in between sweeps, for ghost zones of other parts.

use std::sync::Arc;

use super::CpuSweeps;
use super::layout::canonical;
use crate::exchange::{Cells, check_bytes};
use crate::{Region, Span};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::Axes;

/// Where rows begin in an array, and their cells.
pub(super) type Rows = Arc<[(isize, usize)]>;

impl CpuSweeps {
    /// Element index and length of each row of `region`, slowest axis first.
    pub(super) fn box_rows(&self, field: usize, region: Region) -> Result<Vec<(isize, usize)>> {
        let dims = region.rank();
        let inside = region.has_rank(self.extents.rank())
            && (0..dims)
                .all(|d| region.low[d] <= region.high[d] && region.high[d] <= self.extents[d]);
        if !inside || field >= self.cell.len() {
            return Err(Error::spec(
                format!("field {field} of {region:?} in a volume of {:?}", self.extents),
                "this is a fault of Warpweft: report it",
            ));
        }
        let axes = canonical(dims);
        let length = region.high[dims - 1] - region.low[dims - 1];
        let mut starts = Span::from(region);
        starts.high[dims - 1] = starts.low[dims - 1] + isize::from(length > 0);
        let index = |at: Axes<isize>| {
            let mut cell = [0; 4];
            for d in 0..dims {
                cell[axes[d]] = at[d];
            }
            (self.arrays.layout.index(cell), length)
        };
        Ok(starts.iter().map(index).collect())
    }

    /// As [`CpuSweeps::box_rows`], which all fields have alike, kept for the next call: it takes as long as reading them.
    pub(super) fn kept_rows(&mut self, field: usize, region: Region) -> Result<Rows> {
        if let Some((of, rows)) = &self.rows
            && *of == region
        {
            return Ok(Arc::clone(rows));
        }
        let rows: Rows = self.box_rows(field, region)?.into();
        self.rows = Some((region, Arc::clone(&rows)));
        Ok(rows)
    }

    /// Brings the ghost cells that follow cells written from outside up to date.
    pub(super) fn settle(&mut self) {
        if self.stale == 0 {
            return;
        }
        let whole = self.arrays.layout.extents.map(|n| [0, n as isize]);
        // Stages to come may read further than these.
        let deep = self.shape.axes.map(|axis| self.arrays.layout.ghosts[axis][0]);
        for field in (0..self.cell.len()).filter(|field| self.stale >> field & 1 == 1) {
            // SAFETY: `self` is borrowed exclusively, so no worker is running.
            unsafe {
                let array = self.arrays.array(field, self.present);
                self.ghosts.refresh(array, whole);
                // Blocks renew those of the fields that they write alone.
                if self.written.binary_search(&field).is_err() {
                    self.ghosts.fill(array, deep, |_| true);
                }
            }
        }
        self.stale = 0;
    }

    /// Brings the ghost cells of function faces to the present state, which is that after `step` steps.
    pub(super) fn face(&mut self, step: u64) -> Result<()> {
        if self.faced == Some(step) {
            return Ok(());
        }
        let values = [(step, self.faces.times(0).now), (0, 0)];
        let outcome = self.faces.write_all(&self.arrays, self.present, values, &self.pool);
        outcome.map_err(|panic| Error::Element {
            place: "a boundary function".into(),
            what: panic.message,
        })
    }
}

impl CpuSweeps {
    /// [`crate::SweepExecutor::read`].
    pub(super) fn read_boxes(&self, boxes: &[Cells], to: &mut Vec<u8>) -> Result<()> {
        for &(field, region) in boxes {
            let rows = self.box_rows(field, region)?;
            let array = self.arrays.array(field, self.present);
            for (start, length) in rows {
                // SAFETY: `box_rows` checked that the row is inside the volume, hence the array,
                // and `self` is borrowed exclusively.
                let row = unsafe {
                    std::slice::from_raw_parts(array.at(start).cast_const(), length * array.size)
                };
                to.extend_from_slice(row);
            }
        }
        Ok(())
    }

    /// [`crate::SweepExecutor::write`].
    pub(super) fn write_boxes(&mut self, boxes: &[Cells], bytes: &[u8]) -> Result<()> {
        check_bytes(self.cell, boxes, bytes)?;
        self.ahead.forget();
        let mut rest = bytes;
        for &(field, region) in boxes {
            let array = self.arrays.array(field, self.present);
            for (start, length) in self.box_rows(field, region)? {
                let (row, after) = rest.split_at(length * array.size);
                // SAFETY: as in `read`; a row of `bytes` cannot overlap the array.
                unsafe { std::ptr::copy_nonoverlapping(row.as_ptr(), array.at(start), row.len()) };
                rest = after;
            }
            self.stale |= 1 << field;
        }
        Ok(())
    }
}
