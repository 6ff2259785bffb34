//! A dense block of cells in up to four dimensions, stored field by field.

use std::fmt;
use std::ops::{Index, IndexMut};

use crate::element::{CellPtr, Checked, Fields, MAX_FIELDS, Near, Scalar};
use crate::error::{Error, Result};
use crate::machine::available_memory;

/// Cells of `S` over extents `[usize; D]`, slowest axis first, `D` from 1 to 4.
///
/// Row-major, one contiguous array a field. Executors copy it into layouts of their own, so what
/// a user sees has neither ghost cells nor padding.
#[derive(Clone)]
pub struct Volume<S: Fields, const D: usize> {
    extents: [usize; D],
    // Eight-byte words: the alignment of every scalar.
    fields: Vec<Vec<u64>>,
    cell: std::marker::PhantomData<S>,
}

impl<S: Fields, const D: usize> Volume<S, D> {
    /// A volume whose cell at `[.., z, y, x]` is `cell([.., z, y, x])`.
    ///
    /// # Panics
    /// On extents that [`Volume::try_from_fn`] refuses.
    pub fn from_fn(extents: [usize; D], cell: impl FnMut([usize; D]) -> S) -> Self {
        match Self::try_from_fn(extents, cell) {
            Ok(volume) => volume,
            Err(error) => panic!("{error}"),
        }
    }

    /// A volume whose cell at `[.., z, y, x]` is `cell([.., z, y, x])`.
    ///
    /// # Errors
    /// A zero extent, more cells than memory can address, or not enough host memory.
    pub fn try_from_fn(extents: [usize; D], mut cell: impl FnMut([usize; D]) -> S) -> Result<Self> {
        let mut volume = Self::zeroed(extents)?;
        let mut at = [0; D];
        let base = volume.base_mut();
        for index in 0..volume.len() as isize {
            // SAFETY: `index` runs over the cells that every field array was sized for.
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

    /// A volume of all-zero cells.
    ///
    /// # Errors
    /// As [`Volume::try_from_fn`].
    pub fn zeroed(extents: [usize; D]) -> Result<Self> {
        const { assert!(D >= 1 && D <= 4, "a volume has 1 to 4 dimensions") };
        let cells = check_extents(extents)?;
        let mut fields = Vec::with_capacity(S::FIELDS.len());
        for field in S::FIELDS {
            let words = (cells * field.kind.size()).div_ceil(8);
            fields.push(zeroed_words(words)?);
        }
        Ok(Self { extents, fields, cell: std::marker::PhantomData })
    }

    /// The extents, slowest axis first.
    pub fn extents(&self) -> [usize; D] {
        self.extents
    }

    /// Number of cells.
    #[expect(clippy::len_without_is_empty, reason = "no volume is empty")]
    pub fn len(&self) -> usize {
        self.extents.iter().product()
    }

    /// The cell at `at`, or `None` outside the volume.
    pub fn get(&self, at: [usize; D]) -> Option<S> {
        let index = self.index_of(at)?;
        // SAFETY: `index_of` returns indices of cells, which every field array holds.
        Some(unsafe { S::load(&self.base(), index as isize) })
    }

    /// Replaces the cell at `at`; returns whether `at` was inside the volume.
    pub fn set(&mut self, at: [usize; D], cell: S) -> bool {
        let Some(index) = self.index_of(at) else { return false };
        let base = self.base_mut();
        // SAFETY: as in `get`, and `self` is borrowed exclusively.
        unsafe { cell.store(&base, index as isize, u32::MAX) };
        true
    }

    /// Replaces the fields of the cell at `at` whose bit is set in `fields`, if it is inside.
    pub(crate) fn set_fields(&mut self, at: [usize; D], cell: S, fields: u32) {
        let Some(index) = self.index_of(at) else { return };
        let base = self.base_mut();
        // SAFETY: as in `set`.
        unsafe { cell.store(&base, index as isize, fields) };
    }

    /// Field number `field` as a slice of its scalar, in row-major order; `None` when there is no
    /// such field or it holds another scalar.
    pub fn field<T: Scalar>(&self, field: usize) -> Option<&[T]> {
        let info = S::FIELDS.get(field)?;
        // SAFETY: the array was sized for `len` elements of `kind`, which is `T`'s.
        (info.kind == T::KIND).then(|| unsafe {
            std::slice::from_raw_parts(self.fields[field].as_ptr().cast(), self.len())
        })
    }

    /// As [`Volume::field`], to write to.
    pub fn field_mut<T: Scalar>(&mut self, field: usize) -> Option<&mut [T]> {
        let info = S::FIELDS.get(field)?;
        let len = self.len();
        // SAFETY: as in `field`, and `self` is borrowed exclusively.
        (info.kind == T::KIND).then(|| unsafe {
            std::slice::from_raw_parts_mut(self.fields[field].as_mut_ptr().cast(), len)
        })
    }

    /// The bytes of field number `field`, in row-major order.
    ///
    /// # Panics
    /// When there is no such field.
    pub fn field_bytes(&self, field: usize) -> &[u8] {
        let bytes = self.len() * S::FIELDS[field].kind.size();
        // SAFETY: the array was sized for that many bytes, and they are initialised.
        unsafe { std::slice::from_raw_parts(self.fields[field].as_ptr().cast(), bytes) }
    }

    /// As [`Volume::field_bytes`], to write to. Only bytes of another volume of the same cells may
    /// be written: a `bool` has but two valid values.
    ///
    /// # Panics
    /// When there is no such field.
    pub(crate) fn field_bytes_mut(&mut self, field: usize) -> &mut [u8] {
        let bytes = self.len() * S::FIELDS[field].kind.size();
        // SAFETY: as in `field_bytes`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.fields[field].as_mut_ptr().cast(), bytes) }
    }

    /// Addresses of the field arrays, for executors that copy whole fields in and out.
    pub(crate) fn base(&self) -> [*const u8; MAX_FIELDS] {
        let mut base = [std::ptr::null(); MAX_FIELDS];
        for (to, field) in base.iter_mut().zip(&self.fields) {
            *to = field.as_ptr().cast();
        }
        base
    }

    /// As [`Volume::base`], to write to.
    pub(crate) fn base_mut(&mut self) -> [*mut u8; MAX_FIELDS] {
        let mut base = [std::ptr::null_mut(); MAX_FIELDS];
        for (to, field) in base.iter_mut().zip(&mut self.fields) {
            *to = field.as_mut_ptr().cast();
        }
        base
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
        let Some(index) = self.index_of(at) else {
            panic!("cell {at:?} is outside the extents {:?}", self.extents)
        };
        let strides = self.strides();
        let bounds = Checked {
            below: std::array::from_fn(|d| at[d] as isize),
            above: std::array::from_fn(|d| (self.extents[d] - 1 - at[d]) as isize),
        };
        let at = CellPtr { base: self.base(), index: index as isize, strides, bounds };
        // SAFETY: the arrays live as long as the borrow, and `bounds` keeps every offset inside.
        unsafe { S::near(&at) }
    }

    fn strides(&self) -> [isize; D] {
        std::array::from_fn(|d| self.extents[d + 1..].iter().product::<usize>() as isize)
    }

    fn index_of(&self, at: [usize; D]) -> Option<usize> {
        let mut index = 0;
        for d in 0..D {
            if at[d] >= self.extents[d] {
                return None;
            }
            index = index * self.extents[d] + at[d];
        }
        Some(index)
    }
}

/// The number of cells of `extents`, if a volume can have them.
///
/// # Errors
/// A zero extent, or more cells than memory can address.
pub fn check_extents<const D: usize>(extents: [usize; D]) -> Result<usize> {
    if let Some(axis) = extents.iter().position(|&n| n == 0) {
        return Err(Error::spec(
            format!("extent 0 on axis {axis} of {extents:?}"),
            "every extent must be at least 1",
        ));
    }
    extents
        .iter()
        .try_fold(1usize, |n, &e| n.checked_mul(e))
        .filter(|&n| n <= isize::MAX as usize / 8 / MAX_FIELDS)
        .ok_or_else(|| {
            Error::spec(
                format!("extents {extents:?} have more cells than memory can address"),
                "choose smaller extents",
            )
        })
}

fn zeroed_words(words: usize) -> Result<Vec<u64>> {
    let mut array = Vec::new();
    // `vec![0; n]` would get zero pages from the system untouched, but aborts when there are none.
    array.try_reserve_exact(words).map_err(|_| Error::Memory {
        whose: "host".into(),
        needed: words as u64 * 8,
        available: available_memory().unwrap_or(0),
        remedy: "choose smaller extents".into(),
    })?;
    array.resize(words, 0);
    Ok(array)
}

impl<T: Scalar, const D: usize> Volume<T, D> {
    /// The cells in row-major order.
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: a scalar volume has one field of `len` elements of `T`.
        unsafe { std::slice::from_raw_parts(self.fields[0].as_ptr().cast(), self.len()) }
    }

    /// The cells in row-major order, to write to.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        let len = self.len();
        // SAFETY: as in `as_slice`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.fields[0].as_mut_ptr().cast(), len) }
    }
}

impl<T: Scalar, const D: usize> Index<[usize; D]> for Volume<T, D> {
    type Output = T;
    fn index(&self, at: [usize; D]) -> &T {
        match self.index_of(at) {
            Some(index) => &self.as_slice()[index],
            None => panic!("cell {at:?} is outside the extents {:?}", self.extents),
        }
    }
}

impl<T: Scalar, const D: usize> IndexMut<[usize; D]> for Volume<T, D> {
    fn index_mut(&mut self, at: [usize; D]) -> &mut T {
        match self.index_of(at) {
            Some(index) => &mut self.as_mut_slice()[index],
            None => panic!("cell {at:?} is outside the extents {:?}", self.extents),
        }
    }
}

impl<S: Fields, const D: usize> fmt::Debug for Volume<S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Volume<{}, {D}>{:?}", std::any::type_name::<S>(), self.extents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_or_overflowing_extent_is_refused_with_its_value() {
        let zero = Volume::<f32, 2>::zeroed([3, 0]).unwrap_err().to_string();
        assert!(zero.contains("extent 0 on axis 1 of [3, 0]"), "{zero}");
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
