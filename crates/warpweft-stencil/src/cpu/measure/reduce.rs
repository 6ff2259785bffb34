//! Sums, dot products and extremes of fields, on all workers.

use std::sync::{Mutex, PoisonError};

use crate::Region;
use crate::cpu::{CpuSweeps, internal};
use crate::spec::reduction::{Reduce, Reduction};
use warpweft_core::error::Result;

impl CpuSweeps {
    /// [`crate::SweepExecutor::reduce`].
    pub(in crate::cpu) fn reduced(
        &mut self,
        what: Reduce,
        fields: [usize; 2],
        region: Region,
    ) -> Result<Reduction> {
        // All fields have one layout.
        let rows = self.kept_rows(fields[0].max(fields[1]), region)?;
        let kinds = fields.map(|field| self.cell.kind(field));
        let all = Mutex::new(Reduction::default());
        let outcome = self.pool.run(|worker| {
            let arrays = fields.map(|field| self.arrays.array(field, self.present));
            let mut mine = Reduction::default();
            for &(start, cells) in &rows[worker.share(rows.len())] {
                // SAFETY: the row is inside both arrays, which nobody writes now.
                let bytes = arrays.each_ref().map(|array| unsafe {
                    std::slice::from_raw_parts(array.at(start).cast_const(), cells * array.size)
                });
                mine.take_bytes(what, kinds, bytes);
            }
            all.lock().unwrap_or_else(PoisonError::into_inner).merge(&mine);
            Ok(())
        });
        outcome.map_err(internal)?;
        Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}
