//! Where the rows of a box lie in memory.

use crate::error::{Error, Result};

/// The layout of a box's rows, in bytes. The fastest axis is contiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The first byte of the first row.
    pub offset: usize,
    /// Bytes from a row, a plane and a block of planes to the next.
    pub strides: [usize; 3],
}

/// A box: bytes in a row, rows in a plane, planes in a block, blocks. Unused axes are 1.
pub type Extents = [usize; 4];

impl Rows {
    /// The layout of a dense array of which the box is the whole.
    pub fn dense(extents: Extents) -> Self {
        let [row, rows, planes, _] = extents;
        Self { offset: 0, strides: [row, row * rows, row * rows * planes] }
    }

    /// One past the last byte of the box, `None` when it doesn't fit a `usize`.
    pub(super) fn end(&self, extents: Extents) -> Option<usize> {
        let mut end = self.offset.checked_add(extents[0])?;
        for (stride, extent) in self.strides.iter().zip(&extents[1..]) {
            end = end.checked_add(stride.checked_mul(extent.saturating_sub(1))?)?;
        }
        Some(end)
    }

    pub(super) fn check(&self, extents: Extents, bytes: usize, whose: &str) -> Result<()> {
        let inside = self.end(extents).is_some_and(|end| end <= bytes);
        // The driver copies rows that don't overlap only.
        let apart = extents[1] == 1 || self.strides[0] >= extents[0];
        if inside && apart {
            return Ok(());
        }
        Err(Error::spec(
            format!(
                "a box of extents {extents:?} at {self:?} does not fit into {bytes} bytes of {whose}"
            ),
            "let the box lie inside, with rows that don't overlap",
        ))
    }

    pub(super) fn at(&self, plane: usize, block: usize) -> usize {
        self.offset + self.strides[1] * plane + self.strides[2] * block
    }

    /// Bytes from a row to the next, where there is a next one.
    pub(super) fn pitch(&self, extents: Extents) -> usize {
        self.strides[0].max(extents[0])
    }

    /// Rows from one plane to the next, if the driver can step so: in whole rows.
    pub(super) fn height(&self, extents: Extents) -> Option<usize> {
        let (pitch, plane) = (self.pitch(extents), self.strides[1]);
        (plane.is_multiple_of(pitch) && plane / pitch >= extents[1]).then(|| plane / pitch)
    }
}

/// One end of a copy.
#[derive(Clone, Copy)]
pub(super) enum End {
    Host(*mut u8),
    Device(u64),
}
