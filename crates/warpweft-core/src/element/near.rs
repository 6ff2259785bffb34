//! A cell and its neighbourhood, which a stencil's element function indexes.
//!
//! There is one accessor with two kinds of bounds. User code and the reference use [`Checked`] accessors,
//! which panic outside the volume. The loops over cells use [`Unchecked`] ones in the copy of the function
//! that the macro specialised, where every offset is a constant inside the declared footprint.

use std::marker::PhantomData;
use std::ops::Index;

use super::Scalar;

/// The largest number of fields of one cell.
pub const MAX_FIELDS: usize = 32;

/// What an accessor knows about the volume around it.
pub trait Bounds<const D: usize>: Copy {
    /// The shift added to every offset before strides apply.
    fn shift(&self) -> [isize; D];
    /// Panics unless the cell at `offset` is inside.
    fn check(&self, offset: [isize; D]);
}

/// Indexing panics outside the volume (ghost cells included).
#[derive(Clone, Copy, Debug)]
pub struct Checked<const D: usize> {
    /// How far an offset may go towards lower indices, per axis.
    pub below: [isize; D],
    /// How far an offset may go towards higher indices, per axis.
    pub above: [isize; D],
}

impl<const D: usize> Bounds<D> for Checked<D> {
    #[inline(always)]
    fn shift(&self) -> [isize; D] {
        [0; D]
    }
    #[inline(always)]
    fn check(&self, offset: [isize; D]) {
        for d in 0..D {
            assert!(
                -self.below[d] <= offset[d] && offset[d] <= self.above[d],
                "offset {offset:?} leaves the volume: axis {d} allows {}..={}",
                -self.below[d],
                self.above[d],
            );
        }
    }
}

/// Indexing without checks. Only generated code with proven offsets uses this.
///
/// The shift selects one of several cells that a loop computes together. It is added to the offset *before*
/// the strides apply, so that loads of the same neighbour by two cells have the same address expression and
/// the compiler merges them.
#[derive(Clone, Copy, Debug)]
pub struct Unchecked<const D: usize> {
    /// Constant after inlining.
    pub shift: [isize; D],
}

impl<const D: usize> Bounds<D> for Unchecked<D> {
    #[inline(always)]
    fn shift(&self) -> [isize; D] {
        self.shift
    }
    #[inline(always)]
    fn check(&self, _: [isize; D]) {}
}

/// The position of one cell in every field of a volume: base pointers, index and strides in elements.
#[derive(Clone, Copy, Debug)]
pub struct CellPtr<B, const D: usize> {
    /// For each field, the address of the element with index 0.
    pub base: [*const u8; MAX_FIELDS],
    /// Index of the cell, in elements from `base`, the same in every field.
    pub index: isize,
    /// Elements from a cell to its next along each axis; the last axis has stride 1 and its entry
    /// is not read.
    pub strides: [isize; D],
    /// What is known about the volume around the cell.
    pub bounds: B,
}

/// The neighbourhood of a cell in one scalar field.
#[derive(Clone, Copy, Debug)]
pub struct ScalarNear<'a, T, B, const D: usize> {
    cell: *const T,
    strides: [isize; D],
    bounds: B,
    volume: PhantomData<&'a T>,
}

impl<'a, T: Scalar, B: Bounds<D>, const D: usize> ScalarNear<'a, T, B, D> {
    /// The neighbourhood of `at` in field number `field`.
    ///
    /// # Safety
    /// `at.base[field]` must point to a field of `T` that is live and not written during `'a`. Every offset
    /// that passes `at.bounds.check` (or, unchecked, every offset indexed) must be inside it.
    #[inline(always)]
    pub unsafe fn new(at: &CellPtr<B, D>, field: usize) -> Self {
        // SAFETY: the caller guarantees that the cell itself is inside the field.
        let cell = unsafe { at.base[field].cast::<T>().offset(at.index) };
        Self { cell, strides: at.strides, bounds: at.bounds, volume: PhantomData }
    }
}

impl<T: Scalar, B: Bounds<D>, const D: usize> Index<[isize; D]> for ScalarNear<'_, T, B, D> {
    type Output = T;

    /// # Panics
    /// A checked accessor panics when the offset leaves the volume.
    #[inline(always)]
    fn index(&self, offset: [isize; D]) -> &T {
        self.bounds.check(offset);
        let shift = self.bounds.shift();
        let mut index = offset[D - 1] + shift[D - 1];
        for d in 0..D - 1 {
            index += (offset[d] + shift[d]) * self.strides[d];
        }
        // SAFETY: `check` passed, or the offset is in the footprint that the creator guaranteed.
        unsafe { &*self.cell.offset(index) }
    }
}
