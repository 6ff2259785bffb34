//! Volumes that repeat a smaller one: large initial states at low cost, for measurements.

use super::{Axes, RawVolume, in_parts};
use crate::error::Result;

/// The number of bytes for which another thread is worth its cost.
const SHARE: usize = 1 << 18;

impl RawVolume {
    /// The volume over `extents` that repeats this one along every axis from its first cell on, written
    /// by all cores: as fast as memory, whatever a cell took to compute.
    ///
    /// ```
    /// use warpweft::prelude::*;
    /// let tile = Volume::from_fn([2, 3], |[y, x]| (3 * y + x) as i32);
    /// let wall = tile.repeated([3, 4]).unwrap();
    /// assert_eq!(wall.field::<i32>(0).unwrap(), [0, 1, 2, 0, 3, 4, 5, 3, 0, 1, 2, 0]);
    /// ```
    ///
    /// # Errors
    /// As [`RawVolume::zeroed`].
    pub fn repeated(&self, extents: impl Into<Axes<usize>>) -> Result<Self> {
        self.repeated_over(extents.into())
    }

    fn repeated_over(&self, extents: Axes<usize>) -> Result<Self> {
        let dims = extents.rank();
        let mut wall = Self::zeroed(self.cell_type(), extents)?;
        let (own, row) = (self.extents(), extents[dims - 1]);
        for field in 0..self.cell_type().len() {
            let size = self.cell_type().size(field);
            let (from, period) = (self.field_bytes(field), own[dims - 1] * size);
            // The row of this volume that row `index` of the result repeats.
            let source = |mut index: usize| {
                let (mut start, mut stride) = (0, period);
                for d in (0..dims - 1).rev() {
                    start += index % extents[d] % own[d] * stride;
                    index /= extents[d];
                    stride *= own[d];
                }
                &from[start..start + period]
            };
            let row = row * size;
            in_parts(wall.field_bytes_mut(field), row * SHARE.div_ceil(row), |first, rows| {
                for (n, to) in rows.chunks_mut(row).enumerate() {
                    let from = source(first / row + n);
                    to.chunks_mut(period).for_each(|to| to.copy_from_slice(&from[..to.len()]));
                }
            });
        }
        Ok(wall)
    }
}
