//! The change of the last step, as [`crate::Residual`] defines it.

use std::sync::{Mutex, PoisonError};

use crate::Region;
use crate::cpu::ghosts::Array;
use crate::cpu::{CpuSweeps, internal};
use crate::spec::residual::Residual;
use crate::spec::total::{Total, WINDOW};
use warpweft_core::cpu::Buffer;
use warpweft_core::element::{Scalar, ScalarKind, bf16, f16};
use warpweft_core::error::{Error, Result};

/// What is left of the state before the last step.
#[derive(Default)]
pub(in crate::cpu) struct Change {
    /// Whether the last sweep was of one step that is to be measured.
    pub measurable: bool,
    /// Per written field, in their order, its array as it was, where a step leaves it in neither.
    before: Vec<Option<Buffer>>,
}

impl Change {
    /// Forgets what was kept, for other stages.
    pub fn forget(&mut self) {
        self.measurable = false;
        self.before.clear();
    }
}

impl CpuSweeps {
    /// Whether a step leaves the state before it in the other array of field `f`.
    fn survives(&self, f: usize) -> bool {
        let mut writers = self.stages.iter().zip(&self.shape.flips);
        let mut written = writers.by_ref().filter(|(stage, _)| stage.writes().contains(&f));
        let once = written.next().is_some_and(|(_, flips)| flips >> f & 1 == 1);
        once && written.next().is_none()
    }

    /// Keeps the present values of the written fields.
    pub(in crate::cpu) fn keep_change(&mut self) -> Result<()> {
        self.change.before.resize_with(self.written.len(), || None);
        for (i, &f) in self.written.iter().enumerate() {
            if self.survives(f) {
                continue;
            }
            let bytes = self.arrays.layout.len * self.cell.size(f);
            if self.change.before[i].is_none() {
                self.change.before[i] = Some(Buffer::zeroed(bytes, &self.pool)?);
            }
            let Some(kept) = &self.change.before[i] else { continue };
            let outcome = self.pool.run(|worker| {
                let share = worker.share(bytes);
                let from = self.arrays.array(f, self.present).base;
                // SAFETY: shares are disjoint, both arrays hold so many bytes, and nobody writes the first.
                unsafe {
                    let to = kept.as_ptr().add(share.start);
                    std::ptr::copy_nonoverlapping(from.add(share.start), to, share.len());
                }
                Ok(())
            });
            outcome.map_err(internal)?;
        }
        Ok(())
    }

    /// What the last step changed in the cells of `region`.
    pub(in crate::cpu) fn measure_change(
        &mut self,
        kind: Residual,
        region: Region,
    ) -> Result<Total> {
        if !self.change.measurable {
            return Err(Error::spec(
                "a residual was asked for after a sweep that kept no change",
                "sweep one step with `keep_change` before",
            ));
        }
        let total = Mutex::new(Total::default());
        let rows = self.kept_rows(0, region)?;
        for (i, &f) in self.written.iter().enumerate() {
            let outcome = self.pool.run(|worker| {
                let after = self.arrays.array(f, self.present);
                let before = match &self.change.before[i] {
                    Some(kept) => Array { base: kept.as_ptr(), ..after },
                    None => self.arrays.array(f, !self.present),
                };
                let mut mine = Total::default();
                for &(start, cells) in &rows[worker.share(rows.len())] {
                    // SAFETY: the row is inside both arrays, which nobody writes now.
                    unsafe {
                        let states = [before.at(start), after.at(start)];
                        add_row(self.cell.kind(f), kind, states, cells, &mut mine);
                    }
                }
                total.lock().unwrap_or_else(PoisonError::into_inner).merge(&mine);
                Ok(())
            });
            outcome.map_err(internal)?;
        }
        Ok(total.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Adds what one row changed.
///
/// # Safety
/// Both addresses must hold `cells` scalars of kind `scalar`.
unsafe fn add_row(
    scalar: ScalarKind,
    kind: Residual,
    [before, after]: [*mut u8; 2],
    cells: usize,
    total: &mut Total,
) {
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
                    add(kind, before, after, total)
                })*
            }
        };
    }
    typed!(Bool => bool, I8 => i8, I16 => i16, I32 => i32, I64 => i64, U8 => u8, U16 => u16,
        U32 => u32, U64 => u64, Isize => isize, Usize => usize, F32 => f32, F64 => f64, F16 => f16, Bf16 => bf16)
}

/// The largest change, in lanes that the compiler makes vectors of; NaN if any is.
#[inline(always)]
fn largest<T: Scalar>(before: &[T], after: &[T]) -> f64 {
    const LANES: usize = 8;
    let (mut most, mut nan) = ([0.0f64; LANES], [false; LANES]);
    let (before, before_rest) = before.as_chunks::<LANES>();
    let (after, after_rest) = after.as_chunks::<LANES>();
    let change = |b: T, a: T| Residual::Max.of_change(Scalar::to_f64(b), Scalar::to_f64(a)).abs();
    for (before, after) in before.iter().zip(after) {
        for lane in 0..LANES {
            let change = change(before[lane], after[lane]);
            most[lane] = if change > most[lane] { change } else { most[lane] };
            nan[lane] |= change.is_nan();
        }
    }
    for (lane, (&before, &after)) in before_rest.iter().zip(after_rest).enumerate() {
        let change = change(before, after);
        most[lane] = if change > most[lane] { change } else { most[lane] };
        nan[lane] |= change.is_nan();
    }
    if nan.contains(&true) { f64::NAN } else { most.into_iter().fold(0.0, f64::max) }
}

fn add<T: Scalar>(kind: Residual, before: &[T], after: &[T], total: &mut Total) {
    if kind == Residual::Max {
        return total.raise([largest(before, after)].into_iter());
    }
    for (before, after) in before.chunks(WINDOW).zip(after.chunks(WINDOW)) {
        let changes = |kind: Residual| {
            let pairs = before.iter().zip(after);
            pairs.map(move |(b, a)| kind.of_change(Scalar::to_f64(*b), Scalar::to_f64(*a)))
        };
        // One loop for each kind, so that the kind is a constant in it.
        match kind {
            Residual::Max | Residual::Sum => total.add(changes(Residual::Sum)),
            Residual::SumOfSquares => total.add(changes(Residual::SumOfSquares)),
        }
    }
}
