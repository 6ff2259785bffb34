//! Cells in memory that several workers read and overwrite in place.

use std::cell::UnsafeCell;

/// A row that each tile-row reads, then overwrites with its own bottom row; or a whole matrix.
pub(super) struct SharedRow<C>(Vec<UnsafeCell<C>>);

// SAFETY: the worker that reads or writes a range holds it alone, as `read` and `write` demand.
unsafe impl<C: Send> Sync for SharedRow<C> {}

impl<C: Copy> SharedRow<C> {
    /// A row that holds `cells`.
    pub fn new(cells: impl Iterator<Item = C>) -> Self {
        Self(cells.map(UnsafeCell::new).collect())
    }

    /// Copies the cells from `first` on into `to`.
    ///
    /// # Safety
    /// No other worker may write them meanwhile.
    pub unsafe fn read(&self, first: usize, to: &mut [C]) {
        for (to, cell) in to.iter_mut().zip(&self.0[first..]) {
            // SAFETY: passed on to the caller.
            *to = unsafe { *cell.get() };
        }
    }

    /// Replaces the cells from `first` on.
    ///
    /// # Safety
    /// No other worker may read or write them meanwhile.
    pub unsafe fn write(&self, first: usize, from: &[C]) {
        for (cell, from) in self.0[first..].iter().zip(from) {
            // SAFETY: passed on to the caller.
            unsafe { *cell.get() = *from };
        }
    }

    /// Cell `at`.
    ///
    /// # Safety
    /// No other worker may write it meanwhile.
    #[inline(always)]
    pub unsafe fn get(&self, at: usize) -> C {
        // SAFETY: passed on to the caller.
        unsafe { *self.0[at].get() }
    }

    /// Replaces cell `at`.
    ///
    /// # Safety
    /// No other worker may read or write it meanwhile.
    #[inline(always)]
    pub unsafe fn set(&self, at: usize, cell: C) {
        // SAFETY: passed on to the caller.
        unsafe { *self.0[at].get() = cell };
    }

    /// Where `count` cells from `at` on lie.
    #[inline(always)]
    pub fn several(&self, at: usize, count: usize) -> *mut C {
        UnsafeCell::raw_get(self.0[at..at + count].as_ptr())
    }

    /// The cells.
    pub fn into_cells(self) -> Vec<C> {
        self.0.into_iter().map(UnsafeCell::into_inner).collect()
    }
}
