//! The last fronts of a strip.

use super::geometry::BLOCK;

/// Fronts in a ring: a row of cells each.
pub(super) struct Ring<C> {
    pub cells: Vec<C>,
    depth: usize,
    width: usize,
    /// Where the present front is.
    slot: usize,
}

impl<C: Copy + Default> Ring<C> {
    /// So many fronts of so many cells.
    pub fn new(depth: usize, width: usize) -> Self {
        // An odd number of cache lines: the cells of one lane on the fronts of a block don't compete for places in a cache.
        let bytes = ((width * size_of::<C>()).div_ceil(64) | 1) * 64;
        let width = bytes.div_ceil(size_of::<C>().max(1)).max(width);
        Self { cells: vec![C::default(); depth * width], depth, width, slot: 0 }
    }

    /// Goes on to the next front, in place of the oldest.
    pub fn next(&mut self) {
        self.slot = if self.slot + 1 == self.depth { 0 } else { self.slot + 1 };
    }

    /// The present front.
    pub fn front(&mut self) -> &mut [C] {
        &mut self.cells[self.slot * self.width..][..self.width]
    }

    /// Where each of the next fronts begins, the present one first; there are as many in the ring at least.
    pub fn ahead(&self) -> [usize; BLOCK] {
        std::array::from_fn(|k| (self.slot + k) % self.depth * self.width)
    }

    /// Where the front so many before the present one begins.
    #[inline(always)]
    pub fn before(&self, fronts: usize) -> usize {
        let slot = match self.slot >= fronts {
            true => self.slot - fronts,
            false => self.slot + self.depth - fronts,
        };
        slot * self.width
    }
}
