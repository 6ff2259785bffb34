//! A volume whose cell type is known only at run time.

use super::{Axes, across, axis_name};
use crate::element::{
    Bits, CellPtr, CellType, Checked, FieldName, Fields, MAX_FIELDS, Near, Scalar,
};
use crate::error::{Error, Result};
use crate::memory::zeroed_words;

/// Cells over extents of one to four axes, slowest axis first. A [`super::Volume`] wraps one.
///
/// Row-major, one contiguous array a field. All code that copies cells works on this type and is compiled
/// once for all types of cells.
#[derive(Clone)]
pub struct RawVolume {
    cell: CellType,
    extents: Axes<usize>,
    // Eight-byte words have the alignment of every scalar.
    fields: Vec<Vec<u64>>,
}

impl RawVolume {
    /// A volume of all-zero cells.
    ///
    /// # Errors
    /// A zero extent, more cells than memory can address, or not enough host memory.
    pub fn zeroed(cell: CellType, extents: impl Into<Axes<usize>>) -> Result<Self> {
        Self::zeroed_of(cell, extents.into())
    }

    fn zeroed_of(cell: CellType, extents: Axes<usize>) -> Result<Self> {
        let cells = check_extents(extents)?;
        let words =
            |size: usize| zeroed_words((cells * size).div_ceil(8), "choose smaller extents");
        let fields = cell.fields().iter().map(|field| words(field.kind.size()));
        Ok(Self { fields: fields.collect::<Result<_>>()?, cell, extents })
    }

    /// The type of a cell.
    pub fn cell_type(&self) -> CellType {
        self.cell
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.extents.rank()
    }

    /// The extents, slowest axis first.
    pub fn extents(&self) -> Axes<usize> {
        self.extents
    }

    /// Number of cells.
    #[expect(clippy::len_without_is_empty, reason = "no volume is empty")]
    pub fn len(&self) -> usize {
        self.extents.iter().product()
    }

    /// A field, `"height"` or its number, as a slice of its scalar, in row-major order; `None` when there is no
    /// such field or it holds another scalar.
    ///
    /// ```
    /// use warpweft::prelude::*;
    /// #[derive(Clone, Copy, Fields)]
    /// struct Water { height: f32, speed: f32 }
    /// let water = Volume::from_fn([3], |[x]| Water { height: x as f32, speed: 0.0 });
    /// assert_eq!(water.field::<f32>("height"), Some(&[0.0, 1.0, 2.0][..]));
    /// assert_eq!(water.field::<f64>("height"), None);
    /// ```
    pub fn field<T: Scalar>(&self, field: impl FieldName) -> Option<&[T]> {
        let field = field.number_in(self.cell.fields())?;
        let info = self.cell.fields().get(field)?;
        // SAFETY: the array was allocated for `len` elements of `kind`, which is the kind of `T`.
        (info.kind == T::KIND).then(|| unsafe {
            std::slice::from_raw_parts(self.fields[field].as_ptr().cast(), self.len())
        })
    }

    /// Like [`RawVolume::field`], mutable.
    pub fn field_mut<T: Scalar>(&mut self, field: impl FieldName) -> Option<&mut [T]> {
        let field = field.number_in(self.cell.fields())?;
        let info = self.cell.fields().get(field)?;
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
        let bytes = self.len() * self.cell.size(field);
        // SAFETY: the array was allocated for that many bytes, and they are initialised.
        unsafe { std::slice::from_raw_parts(self.fields[field].as_ptr().cast(), bytes) }
    }

    /// Like [`RawVolume::field_bytes`], mutable. Write only bytes of another volume with the same cells: a
    /// `bool` has only two valid values.
    ///
    /// # Panics
    /// If there is no such field.
    pub fn field_bytes_mut(&mut self, field: usize) -> &mut [u8] {
        let bytes = self.len() * self.cell.size(field);
        // SAFETY: as in `field_bytes`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.fields[field].as_mut_ptr().cast(), bytes) }
    }

    /// The cell at `at` as bits, or `None` outside the volume.
    pub fn bits(&self, at: impl Into<Axes<usize>>) -> Option<Bits> {
        self.index_of(at.into()).map(|index| self.bits_of(index))
    }

    /// The cell with this index in row-major order.
    fn bits_of(&self, index: usize) -> Bits {
        let mut bits = Bits::default();
        for field in 0..self.fields.len() {
            let size = self.cell.size(field);
            bits.set(field, &self.field_bytes(field)[index * size..(index + 1) * size]);
        }
        bits
    }

    /// Field number `field` of the cell at `at` as `f64`; NaN outside the volume.
    pub fn value(&self, field: usize, at: impl Into<Axes<usize>>) -> f64 {
        let bits = self.bits(at);
        bits.map_or(f64::NAN, |bits| bits.to_f64(self.cell.kind(field), field))
    }

    /// Replaces those fields of the cell at `at` whose bit is set in `fields` by the fields of `cell`.
    /// Returns whether `at` is inside the volume.
    pub fn set_bits(&mut self, at: Axes<usize>, cell: &Bits, fields: u32) -> bool {
        let Some(index) = self.index_of(at) else { return false };
        for field in (0..self.fields.len()).filter(|field| fields >> field & 1 == 1) {
            let size = self.cell.size(field);
            let to = &mut self.field_bytes_mut(field)[index * size..(index + 1) * size];
            to.copy_from_slice(&cell.bytes(field)[..size]);
        }
        true
    }

    /// Addresses of the field arrays, for executors that copy whole fields in and out.
    pub fn base(&self) -> [*const u8; MAX_FIELDS] {
        let mut base = [std::ptr::null(); MAX_FIELDS];
        for (to, field) in base.iter_mut().zip(&self.fields) {
            *to = field.as_ptr().cast();
        }
        base
    }

    /// Like [`RawVolume::base`], mutable.
    pub fn base_mut(&mut self) -> [*mut u8; MAX_FIELDS] {
        let mut base = [std::ptr::null_mut(); MAX_FIELDS];
        for (to, field) in base.iter_mut().zip(&mut self.fields) {
            *to = field.as_mut_ptr().cast();
        }
        base
    }

    /// The cell at `at`.
    ///
    /// # Panics
    /// If `at` is outside the volume or its cells are not of type `S`.
    pub fn cell<S: Fields>(&self, at: impl Into<Axes<usize>>) -> S {
        let index = self.checked_index(CellType::of::<S>(), at.into());
        // SAFETY: the arrays are those of the fields of `S`, and each holds the cell.
        unsafe { S::load(&self.base(), index) }
    }

    /// The neighbourhood of the cell at `at`.
    ///
    /// # Panics
    /// If `at` is outside the volume or its cells are not of type `S`. Indexing the result panics if the
    /// offset leaves the volume.
    pub fn near<S: Fields, const D: usize>(&self, at: [usize; D]) -> Near<'_, S, D> {
        let index = self.checked_index(CellType::of::<S>(), at.into());
        let bounds = Checked {
            below: at.map(|at| at as isize),
            above: std::array::from_fn(|d| (self.extents[d] - 1 - at[d]) as isize),
        };
        let strides = self.strides().array();
        let at = CellPtr { base: self.base(), index, strides, bounds };
        // SAFETY: the arrays are those of the fields of `S` and live as long as the borrow, and `bounds`
        // keeps every offset inside.
        unsafe { S::near(&at) }
    }

    /// Write access for executors.
    pub fn writable(&mut self) -> RawVolumeMut<'_> {
        RawVolumeMut(self)
    }

    fn strides(&self) -> Axes<isize> {
        let dims = self.rank();
        Axes::from_fn(dims, |d| self.extents[d + 1..].iter().product::<usize>() as isize)
    }

    /// The index of the cell at `at` in row-major order, or `None` outside the volume.
    pub(super) fn index_of(&self, at: Axes<usize>) -> Option<usize> {
        if at.rank() != self.rank() {
            return None;
        }
        let mut index = 0;
        for (&at, &n) in at.iter().zip(&self.extents) {
            if at >= n {
                return None;
            }
            index = index * n + at;
        }
        Some(index)
    }

    /// Like [`RawVolume::index_of`], for code that knows the cell type.
    ///
    /// # Panics
    /// If `at` is outside the volume or its cells are not of type `cell`.
    fn checked_index(&self, cell: CellType, at: Axes<usize>) -> isize {
        assert_eq!(self.cell, cell, "the type of a cell");
        let Some(index) = self.index_of(at) else {
            panic!("cell {at:?} is outside the extents {:?}", self.extents)
        };
        index as isize
    }
}

/// Write access to a volume's cells. Unlike `&mut RawVolume`, it does not allow another cell type.
pub struct RawVolumeMut<'a>(&'a mut RawVolume);

impl<'a> RawVolumeMut<'a> {
    /// The volume, if it has cells of this type and these extents.
    ///
    /// # Errors
    /// It has others; the error names them.
    pub fn of(self, cell: CellType, extents: Axes<usize>) -> Result<&'a mut RawVolume> {
        let RawVolume { cell: held, extents: there, .. } = *self.0;
        if (held, there) != (cell, extents) {
            return Err(Error::spec(
                format!(
                    "storing {} of {cell:?} into a volume of {} of {held:?}",
                    across(&extents),
                    across(&there)
                ),
                "store into a volume like the one loaded",
            ));
        }
        Ok(self.0)
    }
}

/// The number of cells of `extents`, if they are valid for a volume.
///
/// # Errors
/// A zero extent, or more cells than memory can address.
pub fn check_extents(extents: Axes<usize>) -> Result<usize> {
    let dims = extents.rank();
    if let Some(axis) = extents.iter().position(|&n| n == 0) {
        return Err(Error::spec(
            format!("extent 0 on axis {} of {}", axis_name(axis, dims), across(&extents)),
            "every extent must be at least 1",
        ));
    }
    extents
        .iter()
        .try_fold(1usize, |n, &e| n.checked_mul(e))
        .filter(|&n| n <= isize::MAX as usize / 8 / MAX_FIELDS)
        .ok_or_else(|| {
            Error::spec(
                format!("{} are more cells than memory can address", across(&extents)),
                "choose smaller extents",
            )
        })
}
