//! What a stage computes in one call: a box of cells at one time level.

use super::layout::{M, X, Y, Z};
use crate::Place;
use warpweft_core::cpu::Simd;
use warpweft_core::element::MAX_FIELDS;
use warpweft_core::grid::Axes;

/// A box of cells, as addresses and counts. Axes are the canonical four: planes, rows of two
/// kinds, cells along the contiguous axis; a volume of fewer dimensions has counts of 1.
#[derive(Clone, Copy, Debug)]
pub struct Slab {
    /// Per field, the first cell of the box in the array that is read.
    pub source: [*const u8; MAX_FIELDS],
    /// Per field, the same cell in the array that is written; `source` for fields updated in place.
    pub target: [*mut u8; MAX_FIELDS],
    /// Elements from a cell to the next, along each axis of the volume.
    pub strides: Axes<isize>,
    /// Planes, rows, inner rows, cells.
    pub counts: [usize; 4],
    /// Elements from a plane, row or inner row to the next.
    pub steps: [isize; 3],
    /// Index of the first cell in the whole volume, per axis; it may be outside along axes that repeat.
    pub at: Axes<i64>,
    /// The whole volume's extent along axes on which indices wrap, 0 along the others.
    pub period: Axes<i64>,
    /// Steps done before the present one.
    pub step: u64,
    /// Planes computed together in registers: 1, 2 or 4.
    pub unroll_and_jam: usize,
    /// The instruction set to use; this machine must have it.
    pub simd: Simd,
}

impl Slab {
    /// The most cells of a row from `low` to `high`, by their indices in the volume, along an axis of that period.
    /// [`RowPlace::cell`] wraps indices once, so a row that reaches more than a period outside is computed in pieces.
    pub(super) fn along(period: i64, [low, high]: [i64; 2]) -> isize {
        let near = period == 0 || (low >= -period && high <= 2 * period);
        if near { isize::MAX } else { period as isize }
    }

    /// Planes computed together along an axis of that period: so many as can be wrapped once.
    pub(super) fn planes(period: i64, unroll_and_jam: usize) -> usize {
        if (1..3).contains(&period) { 1 } else { unroll_and_jam }
    }
}

/// Where a row's first cell is, and in which step.
pub(super) struct RowPlace<const D: usize> {
    at: [i64; D],
    period: [i64; D],
    step: u64,
}

impl<const D: usize> RowPlace<D> {
    /// Of a row whose place nobody asks for.
    pub const UNKNOWN: Self = Self { at: [0; D], period: [0; D], step: 0 };

    /// Of the row that is so many planes, rows and inner rows from the first of `slab`.
    #[inline(always)]
    pub fn of(slab: &Slab, [z, y, m]: [isize; 3]) -> Self {
        let mut from = [0; 4];
        (from[Z], from[Y], from[M], from[X]) = (z, y, m, 0);
        let (first, period) = (slab.at.array::<D>(), slab.period.array::<D>());
        let at = std::array::from_fn(|d| {
            // As `canonical` has the axes: the last is that of the cells, the others are the first of the four.
            let axis = if d + 1 == D { X } else { d };
            let (index, period) = (first[d] + from[axis] as i64, period[d]);
            let near = period == 0 || (-period..period).contains(&index);
            if near { index } else { index.rem_euclid(period) }
        });
        Self { at, period, step: slab.step }
    }

    /// The cell `x` along the row and `plane` planes up; see [`Slab::along`] and [`Slab::planes`].
    #[inline(always)]
    pub fn cell(&self, x: isize, plane: isize) -> Place<D> {
        let mut at = self.at;
        if D > 1 {
            at[0] += plane as i64;
        }
        at[D - 1] += x as i64;
        let wrapped = |d: usize| {
            let (index, period) = (at[d], self.period[d]);
            let low = if index < 0 { index + period } else { index };
            (if period > 0 && low >= period { low - period } else { low }) as usize
        };
        Place { at: std::array::from_fn(wrapped), step: self.step }
    }
}
