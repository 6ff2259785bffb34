//! A dense block of cells in up to four dimensions, with one array a field.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Index, IndexMut};

use super::{Axes, RawVolume, RawVolumeMut, over_parts};
use crate::element::{CellType, FieldName, Fields, MAX_FIELDS, Near, Scalar};
use crate::error::Result;

/// Cells of `S` over extents `[usize; D]`, slowest axis first, `D` from 1 to 4.
///
/// Row-major, one contiguous array a field. Executors copy it into layouts of their own, so what
/// a user sees has neither ghost cells nor padding.
#[derive(Clone)]
pub struct Volume<S: Fields, const D: usize> {
    raw: RawVolume,
    cell: PhantomData<S>,
}

/// Cells that a thread makes at a time: some 50 µs of work.
const SHARE: usize = 1 << 14;

/// Addresses of field arrays that threads write parts of.
struct Base([*mut u8; MAX_FIELDS]);

// SAFETY: the threads that share it write different cells.
unsafe impl Sync for Base {}

impl<S: Fields, const D: usize> Deref for Volume<S, D> {
    type Target = RawVolume;
    fn deref(&self) -> &RawVolume {
        &self.raw
    }
}

impl<S: Fields, const D: usize> Volume<S, D> {
    /// A volume whose cell at `[.., z, y, x]` is `cell([.., z, y, x])`. Takes O(cells) time.
    ///
    /// # Panics
    /// If [`Volume::try_from_fn`] returns an error.
    pub fn from_fn(extents: [usize; D], cell: impl FnMut([usize; D]) -> S) -> Self {
        match Self::try_from_fn(extents, cell) {
            Ok(volume) => volume,
            Err(error) => panic!("{error}"),
        }
    }

    /// A volume whose cell at `[.., z, y, x]` is `cell([.., z, y, x])`. Takes O(cells) time.
    ///
    /// # Errors
    /// A zero extent, more cells than memory can address, or not enough host memory without swapping.
    pub fn try_from_fn(extents: [usize; D], mut cell: impl FnMut([usize; D]) -> S) -> Result<Self> {
        let mut volume = Self::zeroed(extents)?;
        let mut at = [0; D];
        let base = volume.raw.base_mut();
        for index in 0..volume.len() as isize {
            // SAFETY: `index` is the index of a cell, and every field array was allocated for all cells.
            unsafe { cell(at).store(&base, index, u32::MAX) };
            for d in (0..D).rev() {
                at[d] += 1;
                if at[d] < extents[d] {
                    break;
                }
                at[d] = 0;
            }
        }
        Ok(volume)
    }

    /// As [`Volume::from_fn`], with all cores of the machine: for functions that depend on nothing but the index.
    ///
    /// ```
    /// use warpweft::prelude::*;
    /// let line = Volume::par_from_fn([1000], |[x]| x as f64);
    /// assert_eq!(line.as_slice(), Volume::from_fn([1000], |[x]| x as f64).as_slice());
    /// ```
    ///
    /// # Panics
    /// If [`Volume::try_par_from_fn`] returns an error.
    pub fn par_from_fn(extents: [usize; D], cell: impl Fn([usize; D]) -> S + Sync) -> Self {
        match Self::try_par_from_fn(extents, cell) {
            Ok(volume) => volume,
            Err(error) => panic!("{error}"),
        }
    }

    /// As [`Volume::try_from_fn`], with all cores of the machine.
    ///
    /// # Errors
    /// As [`Volume::try_from_fn`].
    pub fn try_par_from_fn(
        extents: [usize; D],
        cell: impl Fn([usize; D]) -> S + Sync,
    ) -> Result<Self> {
        let mut volume = Self::zeroed(extents)?;
        let cells = volume.len();
        let base = Base(volume.raw.base_mut());
        over_parts(cells, SHARE, |part| {
            let base = &base;
            let mut at = [0; D];
            let mut rest = part.start;
            for d in (0..D).rev() {
                (at[d], rest) = (rest % extents[d], rest / extents[d]);
            }
            for index in part {
                // SAFETY: `index` is the index of a cell of this part only, and every field array holds all cells.
                unsafe { cell(at).store(&base.0, index as isize, u32::MAX) };
                for d in (0..D).rev() {
                    at[d] += 1;
                    if at[d] < extents[d] {
                        break;
                    }
                    at[d] = 0;
                }
            }
        });
        Ok(volume)
    }

    /// A volume of all-zero cells.
    ///
    /// # Errors
    /// See [`Volume::try_from_fn`].
    pub fn zeroed(extents: [usize; D]) -> Result<Self> {
        Ok(Self { raw: RawVolume::zeroed(CellType::of::<S>(), extents)?, cell: PhantomData })
    }

    /// The extents, slowest axis first.
    pub fn extents(&self) -> [usize; D] {
        self.raw.extents().array()
    }

    /// The cell at `at`, or `None` outside the volume.
    pub fn get(&self, at: [usize; D]) -> Option<S> {
        let index = self.index_of(Axes::of(at))?;
        // SAFETY: `index_of` returns indices of cells, and every field array holds all cells.
        Some(unsafe { S::load(&self.base(), index as isize) })
    }

    /// Replaces the cell at `at`. Returns whether `at` is inside the volume.
    pub fn set(&mut self, at: [usize; D], cell: S) -> bool {
        let Some(index) = self.index_of(Axes::of(at)) else { return false };
        let base = self.raw.base_mut();
        // SAFETY: as in `get`, and `self` is borrowed exclusively.
        unsafe { cell.store(&base, index as isize, u32::MAX) };
        true
    }

    /// Like [`RawVolume::field`], mutable.
    pub fn field_mut<T: Scalar>(&mut self, field: impl FieldName) -> Option<&mut [T]> {
        self.raw.field_mut(field)
    }

    /// Write access to the volume without its cell type.
    pub fn writable(&mut self) -> RawVolumeMut<'_> {
        self.raw.writable()
    }

    /// Mutable cells without their type.
    #[doc(hidden)]
    pub fn raw_mut(&mut self) -> &mut RawVolume {
        &mut self.raw
    }

    /// The cells without their type.
    #[doc(hidden)]
    pub fn into_raw(self) -> RawVolume {
        self.raw
    }

    /// A typed volume with the cells of `raw`.
    ///
    /// # Panics
    /// If its cells are of another type, or it has not `D` axes.
    pub fn from_raw(raw: RawVolume) -> Self {
        assert_eq!(raw.rank(), D, "the number of axes");
        assert_eq!(raw.cell_type(), CellType::of::<S>(), "the type of a cell");
        Self { raw, cell: PhantomData }
    }

    /// The neighbourhood of the cell at `at`, to call an element function by hand.
    ///
    /// ```
    /// use warpweft::prelude::*;
    /// let line = Volume::from_fn([4], |[x]| x as f32);
    /// let near = line.near([2]);
    /// assert_eq!(near[[-1]] + near[[1]], 4.0);
    /// ```
    ///
    /// # Panics
    /// When `at` is outside the volume; indexing the result panics when the offset leaves it.
    pub fn near(&self, at: [usize; D]) -> Near<'_, S, D> {
        self.raw.near::<S, D>(at)
    }
}

impl<T: Scalar, const D: usize> Volume<T, D> {
    /// The cells in row-major order.
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: a scalar volume has one field of `len` elements of `T`.
        unsafe { std::slice::from_raw_parts(self.raw.base()[0].cast(), self.len()) }
    }

    /// The cells in row-major order, mutable.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        let len = self.len();
        // SAFETY: as in `as_slice`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.raw.base_mut()[0].cast(), len) }
    }
}

impl<T: Scalar, const D: usize> Index<[usize; D]> for Volume<T, D> {
    type Output = T;
    fn index(&self, at: [usize; D]) -> &T {
        match self.index_of(Axes::of(at)) {
            Some(index) => &self.as_slice()[index],
            None => panic!("cell {at:?} is outside the extents {:?}", self.extents()),
        }
    }
}

impl<T: Scalar, const D: usize> IndexMut<[usize; D]> for Volume<T, D> {
    fn index_mut(&mut self, at: [usize; D]) -> &mut T {
        match self.index_of(Axes::of(at)) {
            Some(index) => &mut self.as_mut_slice()[index],
            None => panic!("cell {at:?} is outside the extents {:?}", self.extents()),
        }
    }
}

impl<S: Fields, const D: usize> fmt::Debug for Volume<S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Volume<{}, {D}>{:?}", std::any::type_name::<S>(), self.extents())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_or_overflowing_extent_is_refused_with_its_value() {
        let zero = Volume::<f32, 2>::zeroed([3, 0]).unwrap_err().to_string();
        assert!(zero.contains("extent 0 on axis x of 3 x 0"), "{zero}");
        let huge = Volume::<f32, 2>::zeroed([usize::MAX, 2]).unwrap_err().to_string();
        assert!(huge.contains("more cells than memory"), "{huge}");
    }

    #[test]
    fn cells_lie_in_row_major_order() {
        let volume = Volume::from_fn([2, 3], |[y, x]| (10 * y + x) as i32);
        assert_eq!(volume.as_slice(), [0, 1, 2, 10, 11, 12]);
        assert_eq!(volume[[1, 2]], 12);
        assert_eq!(volume.get([2, 0]), None);
    }
}
