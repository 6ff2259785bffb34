//! The row of cells that tile-rows hand on to one another in place.

use std::cell::UnsafeCell;

/// One cell a column; each tile-row reads a cell, then overwrites it with its own bottom row's.
pub(super) struct SharedRow<C>(Vec<UnsafeCell<C>>);

// SAFETY: whoever reads or writes a range holds it alone, as `read` and `write` demand.
unsafe impl<C: Send> Sync for SharedRow<C> {}

impl<C: Copy> SharedRow<C> {
    /// A row that holds `cells`.
    pub fn new(cells: impl Iterator<Item = C>) -> Self {
        Self(cells.map(UnsafeCell::new).collect())
    }

    /// Copies the cells from `first` on into `to`.
    ///
    /// # Safety
    /// Nobody may write them meanwhile.
    pub unsafe fn read(&self, first: usize, to: &mut [C]) {
        for (to, cell) in to.iter_mut().zip(&self.0[first..]) {
            // SAFETY: passed on to the caller.
            *to = unsafe { *cell.get() };
        }
    }

    /// Replaces the cells from `first` on.
    ///
    /// # Safety
    /// Nobody else may read or write them meanwhile.
    pub unsafe fn write(&self, first: usize, from: &[C]) {
        for (cell, from) in self.0[first..].iter().zip(from) {
            // SAFETY: passed on to the caller.
            unsafe { *cell.get() = *from };
        }
    }

    /// The cells.
    pub fn into_cells(self) -> Vec<C> {
        self.0.into_iter().map(UnsafeCell::into_inner).collect()
    }
}
