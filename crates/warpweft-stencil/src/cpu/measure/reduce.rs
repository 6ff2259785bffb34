//! Sums, dot products and extremes of fields, on all workers.

use std::sync::{Mutex, PoisonError};

use crate::Region;
use crate::cpu::ghosts::Array;
use crate::cpu::{CpuSweeps, internal};
use crate::spec::reduction::ahead::Asked;
use crate::spec::reduction::{Chunk, Reduce, Reduction};
use warpweft_core::cpu::Simd;
use warpweft_core::element::ScalarKind;
use warpweft_core::error::Result;

impl CpuSweeps {
    /// [`crate::SweepExecutor::reduce`].
    pub(in crate::cpu) fn reduced(
        &mut self,
        what: Reduce,
        fields: [usize; 2],
        region: Region,
    ) -> Result<Reduction> {
        let asked = Asked::new(what, fields, region);
        if let Some(ready) = self.ahead.take(&asked) {
            return Ok(ready);
        }
        // All fields have one layout.
        let rows = self.kept_rows(fields[0].max(fields[1]), region)?;
        let kinds = fields.map(|field| self.cell.kind(field));
        let all = Mutex::new(Reduction::default());
        let outcome = self.pool.run(|worker| {
            let arrays = fields.map(|field| self.arrays.array(field, self.present));
            let (mut mine, mut chunk) = (Reduction::default(), Chunk::default());
            let mine_of = rows[worker.share(rows.len())].iter().copied();
            // SAFETY: the rows are inside both arrays, which nobody writes now, and `simd` is a set the machine has.
            unsafe { take(self.simd, (&mut mine, &mut chunk), (what, kinds), &arrays, mine_of) };
            mine.take_rest(what, &mut chunk);
            all.lock().unwrap_or_else(PoisonError::into_inner).merge(&mine);
            Ok(())
        });
        outcome.map_err(internal)?;
        Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Takes in rows, each given by its first cell and its cells. What does not fill the chunk stays there.
///
/// # Safety
/// The rows must be inside both arrays, nobody may write their cells, and the machine must have the instruction set.
pub(in crate::cpu) unsafe fn take(
    simd: Simd,
    to: (&mut Reduction, &mut Chunk),
    of: (Reduce, [ScalarKind; 2]),
    arrays: &[Array; 2],
    rows: impl Iterator<Item = (isize, usize)>,
) {
    #[cfg(target_arch = "x86_64")]
    if simd >= Simd::Avx2 {
        // SAFETY: the caller's contract.
        return unsafe { take_by_avx2(to, of, arrays, rows) };
    }
    let _ = simd;
    // SAFETY: the caller's contract.
    unsafe { take_rows(to, of, arrays, rows) }
}

/// [`take_rows`] with wider vectors; those of AVX-512 are no faster.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn take_by_avx2(
    to: (&mut Reduction, &mut Chunk),
    of: (Reduce, [ScalarKind; 2]),
    arrays: &[Array; 2],
    rows: impl Iterator<Item = (isize, usize)>,
) {
    // SAFETY: passed on to the caller.
    unsafe { take_rows(to, of, arrays, rows) }
}

/// # Safety
/// As [`take`], but for the instruction set.
#[inline(always)]
unsafe fn take_rows(
    (to, chunk): (&mut Reduction, &mut Chunk),
    (what, kinds): (Reduce, [ScalarKind; 2]),
    arrays: &[Array; 2],
    rows: impl Iterator<Item = (isize, usize)>,
) {
    let bytes = |(start, cells): (isize, usize)| {
        // SAFETY: the caller's contract.
        arrays.each_ref().map(|array| unsafe {
            std::slice::from_raw_parts(array.at(start).cast_const(), cells * array.size)
        })
    };
    to.gather(what, kinds, chunk, rows.map(bytes));
}
