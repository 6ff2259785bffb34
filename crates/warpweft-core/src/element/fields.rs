//! What a cell holds: one scalar, or a struct of scalars. Each field is stored in an array of its own.

use super::{
    Bounds, CellPtr, Checked, DeviceType, MAX_FIELDS, Scalar, ScalarKind, ScalarNear, Unit,
};

/// One field of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldInfo {
    /// Its name; the empty string for the one field of a scalar.
    pub name: &'static str,
    /// Its scalar.
    pub kind: ScalarKind,
}

/// A way to name a field of a cell: by its name, `"height"`, or by its number from 0 in the order of the
/// struct.
pub trait FieldName: std::fmt::Debug {
    /// The number of this field in `fields`, or `None` if there is no such field.
    fn number_in(&self, fields: &[FieldInfo]) -> Option<usize>;
}

impl FieldName for usize {
    fn number_in(&self, fields: &[FieldInfo]) -> Option<usize> {
        (*self < fields.len()).then_some(*self)
    }
}

impl FieldName for &str {
    fn number_in(&self, fields: &[FieldInfo]) -> Option<usize> {
        fields.iter().position(|field| field.name == *self)
    }
}

/// The neighbourhood of one cell of a volume of `S`, in `D` dimensions, slowest axis first.
///
/// For a scalar `S` it is indexed by an offset, `u[[-1, 0, 0]]`; for a struct of fields it has one
/// member a field, `now.vx[[-1, 0, 0]]`.
pub type Near<'a, S, const D: usize> = <S as Fields>::Near<'a, Checked<D>, D>;

/// What one cell of a volume holds. Scalars implement it; `#[derive(Fields)]` does for structs.
///
/// Volumes store it as a struct of arrays: one array a field, all with the same extents.
///
/// # Safety
/// `FIELDS` must list the members in order, and `near`, `load` and `store` must touch exactly the
/// member they name, with its own type.
pub unsafe trait Fields: DeviceType + Send + Sync {
    /// The fields in order, at least one and at most [`MAX_FIELDS`].
    const FIELDS: &'static [FieldInfo];

    /// A cell with `value` in every field, converted as `as` does.
    fn splat(value: f64) -> Self;

    /// The neighbourhood of a cell: one [`ScalarNear`] a field.
    type Near<'a, B: Bounds<D>, const D: usize>: Copy;

    /// The neighbourhood of the cell at `at`.
    ///
    /// # Safety
    /// As for [`ScalarNear::new`], for every field.
    unsafe fn near<'a, B: Bounds<D>, const D: usize>(at: &CellPtr<B, D>) -> Self::Near<'a, B, D>;

    /// The cell at `offset` from the cell whose neighbourhood is `near`.
    fn at<B: Bounds<D>, const D: usize>(near: &Self::Near<'_, B, D>, offset: [isize; D]) -> Self;

    /// The cell at element `index` of the field arrays.
    ///
    /// # Safety
    /// `base[f]` must point to a live array of field `f`'s scalar that holds element `index`.
    unsafe fn load(base: &[*const u8; MAX_FIELDS], index: isize) -> Self;

    /// Writes the fields whose bit is set in `mask` to element `index` of the field arrays.
    ///
    /// # Safety
    /// As for [`Fields::load`], and no other thread may read or write those elements.
    unsafe fn store(self, base: &[*mut u8; MAX_FIELDS], index: isize, mask: u32);

    /// Field number `field` as `f64`, as `as` converts; 0 when there is no such field.
    fn to_f64(&self, field: usize) -> f64;

    /// C++ that reads the cell at `offset` from the neighbourhood `now`; definitions that this needs are added to `unit`
    /// on first use.
    #[doc(hidden)]
    fn cuda_load(_unit: &mut Unit, offset: &str) -> String {
        format!("now.template at<0, {offset}>()")
    }

    /// The C++ text before and after a cell expression that makes it the new cell of a stencil. Definitions
    /// that it needs are added to `unit` on first use.
    #[doc(hidden)]
    fn cuda_store(_unit: &mut Unit) -> [String; 2] {
        ["next.template ref<0>() = ".into(), ";".into()]
    }
}

/// The numbers of all fields of `S`. An element function that returns a cell writes all of them.
#[doc(hidden)]
pub const fn all_fields<S: Fields>() -> &'static [usize] {
    const ALL: [usize; MAX_FIELDS] = {
        let mut all = [0; MAX_FIELDS];
        let mut field = 0;
        while field < MAX_FIELDS {
            all[field] = field;
            field += 1;
        }
        all
    };
    ALL.split_at(S::FIELDS.len()).0
}

/// The number of element `index` of a field that is an array: the number of its first element, and its length.
///
/// # Panics
/// Where the array has no such element: while the program is compiled.
#[doc(hidden)]
pub const fn element_of((first, length): (usize, usize), index: i128) -> usize {
    assert!(0 <= index && index < length as i128, "the field's array has no element of this index");
    first + index as usize
}

/// `fields` in ascending order.
#[doc(hidden)]
pub const fn ascending<const N: usize>(mut fields: [usize; N]) -> [usize; N] {
    let mut i = 1;
    while i < N {
        let mut j = i;
        while j > 0 && fields[j] < fields[j - 1] {
            fields.swap(j, j - 1);
            j -= 1;
        }
        i += 1;
    }
    fields
}

// SAFETY: one field, which is the scalar itself.
unsafe impl<T: Scalar> Fields for T {
    const FIELDS: &'static [FieldInfo] = &[FieldInfo { name: "", kind: T::KIND }];

    fn splat(value: f64) -> Self {
        T::from_f64(value)
    }

    type Near<'a, B: Bounds<D>, const D: usize> = ScalarNear<'a, T, B, D>;

    #[inline(always)]
    unsafe fn near<'a, B: Bounds<D>, const D: usize>(at: &CellPtr<B, D>) -> Self::Near<'a, B, D> {
        // SAFETY: passed on to the caller.
        unsafe { ScalarNear::new(at, 0) }
    }

    #[inline(always)]
    fn at<B: Bounds<D>, const D: usize>(near: &Self::Near<'_, B, D>, offset: [isize; D]) -> Self {
        near[offset]
    }

    #[inline(always)]
    unsafe fn load(base: &[*const u8; MAX_FIELDS], index: isize) -> Self {
        // SAFETY: passed on to the caller.
        unsafe { *base[0].cast::<T>().offset(index) }
    }

    #[inline(always)]
    unsafe fn store(self, base: &[*mut u8; MAX_FIELDS], index: isize, mask: u32) {
        if mask & 1 != 0 {
            // SAFETY: passed on to the caller.
            unsafe { *base[0].cast::<T>().offset(index) = self };
        }
    }

    fn to_f64(&self, field: usize) -> f64 {
        if field == 0 { Scalar::to_f64(*self) } else { 0.0 }
    }
}
