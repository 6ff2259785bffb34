//! The change of the last step, in the order that [`crate::stencil::Residual`] fixes.

use std::sync::Mutex;

use super::layout::X;
use super::{CpuSweeps, internal};
use crate::element::{Scalar, ScalarKind, bf16, f16};
use crate::error::{Error, Result};
use crate::stencil::residual::{LANES, Residual};

/// The written fields as they were before the last step, row-major and unpadded.
#[derive(Default)]
pub(super) struct Change {
    /// Per written field, in their order.
    before: Vec<Vec<u64>>,
}

impl<const D: usize> CpuSweeps<D> {
    /// Keeps the present values of the written fields.
    pub(super) fn keep_change(&mut self) -> Result<()> {
        let cells: usize = self.extents.iter().product();
        let mut kept = std::mem::take(&mut self.change.before);
        for (i, &f) in self.written.iter().enumerate() {
            if kept.len() == i {
                kept.push(vec![0; (cells * self.cell.size(f)).div_ceil(8)]);
            }
        }
        let kept_at: Vec<_> =
            kept.iter_mut().map(|array| Target(array.as_mut_ptr().cast())).collect();
        let bytes_of_row = |size: usize| self.arrays.layout.extents[X] * size;
        let outcome = self.pool.run(|worker| {
            self.arrays.rows_of(worker, self.present, |cell, index, f, array| {
                let Some(i) = self.written.iter().position(|&w| w == f) else { return };
                // SAFETY: rows are disjoint, and the kept array holds every cell.
                unsafe {
                    let to = kept_at[i].at(cell * array.size);
                    std::ptr::copy_nonoverlapping(array.at(index), to, bytes_of_row(array.size));
                }
            });
            Ok(())
        });
        self.change.before = kept;
        outcome.map_err(internal)
    }

    /// The residual between the kept values and the present ones.
    pub(super) fn measure_change(&mut self, kind: Residual) -> Result<f64> {
        if self.change.before.len() != self.written.len() {
            return Err(Error::spec(
                "a residual was asked for after a sweep that kept no change",
                "sweep one step with `keep_change` before",
            ));
        }
        let row_cells = self.arrays.layout.extents[X];
        let rows = self.extents.iter().product::<usize>() / row_cells;
        let mut total = 0.0;
        for (i, &field) in self.written.iter().enumerate() {
            let totals: Mutex<Vec<f64>> = Mutex::new(vec![0.0; rows]);
            let before = &self.change.before[i];
            let outcome = self.pool.run(|worker| {
                let share = worker.share(rows);
                let mut mine = Vec::with_capacity(share.len());
                self.arrays.rows_of(worker, self.present, |cell, index, f, array| {
                    if f == field {
                        // SAFETY: the row is inside both arrays, which nobody writes now.
                        mine.push(unsafe {
                            let before = before.as_ptr().cast::<u8>().add(cell * array.size);
                            row(self.cell.kind(f), kind, before, array.at(index), row_cells)
                        });
                    }
                });
                if let Ok(mut totals) = totals.lock() {
                    totals[share].copy_from_slice(&mine);
                }
                Ok(())
            });
            outcome.map_err(internal)?;
            let mut values = totals.into_inner().unwrap_or_default();
            for &n in self.extents[..D - 1].iter().rev() {
                values =
                    values.chunks_exact(n).map(|line| kind.total(line.iter().copied())).collect();
            }
            total = kind.combine(total, values.first().copied().unwrap_or(0.0));
        }
        Ok(total)
    }
}

struct Target(*mut u8);

// SAFETY: workers write disjoint rows.
unsafe impl Sync for Target {}

impl Target {
    fn at(&self, byte: usize) -> *mut u8 {
        self.0.wrapping_add(byte)
    }
}

/// The total of one row.
///
/// # Safety
/// Both addresses must hold `cells` scalars of kind `scalar`.
unsafe fn row(
    scalar: ScalarKind,
    kind: Residual,
    before: *const u8,
    after: *const u8,
    cells: usize,
) -> f64 {
    macro_rules! typed {
        ($($name:ident => $t:ty),*) => {
            match scalar {
                $(ScalarKind::$name => {
                    // SAFETY: the caller's contract.
                    let (before, after) = unsafe {
                        (
                            std::slice::from_raw_parts(before.cast::<$t>(), cells),
                            std::slice::from_raw_parts(after.cast::<$t>(), cells),
                        )
                    };
                    line(kind, before, after)
                })*
            }
        };
    }
    typed!(Bool => bool, I8 => i8, I16 => i16, I32 => i32, I64 => i64, U8 => u8, U16 => u16,
        U32 => u32, U64 => u64, Isize => isize, Usize => usize, F32 => f32, F64 => f64, F16 => f16, Bf16 => bf16)
}

fn line<T: Scalar>(kind: Residual, before: &[T], after: &[T]) -> f64 {
    // One loop for each kind, so that the kind is a constant in it.
    match kind {
        Residual::Max => total(Residual::Max, before, after),
        Residual::Sum => total(Residual::Sum, before, after),
        Residual::SumOfSquares => total(Residual::SumOfSquares, before, after),
    }
}

/// [`Residual::total`] of a line's changes, 32 lanes at a time.
#[inline(always)]
fn total<T: Scalar>(kind: Residual, before: &[T], after: &[T]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (before, before_rest) = before.as_chunks::<LANES>();
    let (after, after_rest) = after.as_chunks::<LANES>();
    let change = |b: &T, a: &T| kind.of_change(Scalar::to_f64(*b), Scalar::to_f64(*a));
    for (before, after) in before.iter().zip(after) {
        for l in 0..LANES {
            lanes[l] = kind.combine(lanes[l], change(&before[l], &after[l]));
        }
    }
    for (lane, (b, a)) in lanes.iter_mut().zip(before_rest.iter().zip(after_rest)) {
        *lane = kind.combine(*lane, change(b, a));
    }
    kind.fold(lanes)
}
