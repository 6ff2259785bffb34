//! Reductions by a function of the user's, on all workers.

use crate::Region;
use crate::cpu::CpuSweeps;
use crate::spec::reduction::fold::{Folded, Piece, SUBTREE};
use warpweft_core::error::{Error, Result};

impl CpuSweeps {
    /// [`crate::SweepExecutor::fold`].
    pub(in crate::cpu) fn folded(&mut self, by: &dyn Folded) -> Result<()> {
        let rows = self.kept_rows(0, Region::whole(self.extents))?;
        let Some(&(_, along)) = rows.first() else { return Ok(()) };
        let cells = rows.len() * along;
        let outcome = self.pool.run(|worker| {
            for number in worker.share(cells.div_ceil(SUBTREE)) {
                let mut at = number * SUBTREE;
                let end = cells.min(at + SUBTREE);
                let mut pieces = std::iter::from_fn(|| {
                    let (start, x) = (rows.get(at / along).filter(|_| at < end)?.0, at % along);
                    let count = (along - x).min(end - at);
                    at += count;
                    let base = self.arrays.at(self.present, start + x as isize);
                    Some((base.map(<*mut u8>::cast_const), count) as Piece)
                });
                // SAFETY: the rows are inside the arrays, which nobody writes now.
                unsafe { by.subtree(number, &mut pieces) };
            }
            Ok(())
        });
        outcome.map_err(|panic| Error::Element {
            place: format!("`{}`", by.name()),
            what: panic.message,
        })
    }
}
