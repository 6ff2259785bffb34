//! Volumes that repeat a smaller one: large states in no time, for measurements.

use super::RawVolume;
use crate::error::Result;

impl<const D: usize> RawVolume<D> {
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
    pub fn repeated(&self, extents: [usize; D]) -> Result<Self> {
        let mut wall = Self::zeroed(self.cell_type(), extents)?;
        let (own, row) = (self.extents(), extents[D - 1]);
        let rows = wall.len() / row;
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        let share = rows.div_ceil(threads);
        for field in 0..self.cell_type().len() {
            let size = self.cell_type().size(field);
            let (from, period) = (self.field_bytes(field), own[D - 1] * size);
            // The row of this volume that row number `index` of the other repeats.
            let source = |mut index: usize| {
                let (mut start, mut stride) = (0, period);
                for d in (0..D - 1).rev() {
                    start += index % extents[d] % own[d] * stride;
                    index /= extents[d];
                    stride *= own[d];
                }
                &from[start..start + period]
            };
            std::thread::scope(|scope| {
                let parts = wall.field_bytes_mut(field).chunks_mut(share * row * size);
                for (part, rows) in parts.enumerate() {
                    let source = &source;
                    scope.spawn(move || {
                        for (n, to) in rows.chunks_mut(row * size).enumerate() {
                            let from = source(part * share + n);
                            to.chunks_mut(period)
                                .for_each(|to| to.copy_from_slice(&from[..to.len()]));
                        }
                    });
                }
            });
        }
        Ok(wall)
    }
}
