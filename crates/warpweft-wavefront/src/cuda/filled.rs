//! The face of executors that only move bytes: results as cells and scores.

use super::winner::{total, winner};
use crate::frame::allocate;
use crate::recurrence::{Extreme, Ranked, WavefrontElement, bytes_of_mut};
use crate::spec::{Erased, Keep, Kept, Wavefront};
use warpweft_core::error::Result;
use warpweft_core::report::Report;

/// The winners or sums of warps, as kernels leave them, if any was to be kept.
pub(super) type Found = Vec<[u64; 3]>;

/// Runs `wavefront` on `executor` by `run`, which fills what is kept of its cells, unless `refuse` has a
/// reason not to.
pub(super) fn filled<E: WavefrontElement, X>(
    executor: &mut X,
    wavefront: &Wavefront<'_, E>,
    refuse: impl Fn(&X, &Erased<'_>) -> Result<()>,
    run: impl Fn(&mut X, &Erased<'_>, &mut [u8]) -> Result<(Found, Report)>,
) -> Result<(Kept<E::Cell>, Report)> {
    let erased = wavefront.erased();
    erased.check()?;
    refuse(executor, &erased)?;
    // Before the work: without memory for the result it would be lost.
    let mut cells = allocate(erased.kept_cells())?;
    let (found, report) = run(executor, &erased, bytes_of_mut(&mut cells))?;
    Ok((kept(wavefront.keep, &found, cells), report))
}

/// What was kept: the winner or the sum of all that was `found`, or `cells`.
pub(super) fn kept<C: Ranked>(keep: Keep, found: &[[u64; 3]], cells: Vec<C>) -> Kept<C> {
    match keep {
        Keep::Best => Kept::Best(winner(found, Extreme::Greatest)),
        Keep::Least => Kept::Best(winner(found, Extreme::Least)),
        Keep::Score => Kept::Score(winner(found, Extreme::Greatest).map(|best| best.score)),
        Keep::Sum => Kept::Sum(total(found)),
        Keep::LastRow => Kept::LastRow(cells),
        Keep::LastColumn => Kept::LastColumn(cells),
        Keep::Matrix => Kept::Matrix(cells),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recurrence::Earlier;
    use crate::wavefront;
    use warpweft_core::error::Error;

    #[wavefront]
    fn ways(h: Earlier<u64>) -> u64 {
        h.n.wrapping_add(h.w)
    }

    /// 2⁶² bytes, which no machine has.
    #[test]
    fn what_can_not_run_is_refused_before_there_is_memory_for_it() {
        let wavefront = Wavefront::of(ways()).over([1 << 30, 1 << 29]).keep(Keep::Matrix);
        let unwanted = || Error::spec("not here", "elsewhere");
        let never = |_: &mut (), _: &Erased<'_>, _: &mut [u8]| Err(unwanted());
        let refused = filled(&mut (), &wavefront, |_, _| Err(unwanted()), never).map(drop);
        let refused = refused.unwrap_err();
        assert!(refused.to_string().contains("not here"), "{refused}");
        let refused = filled(&mut (), &wavefront, |_, _| Ok(()), never).map(drop).unwrap_err();
        assert!(matches!(refused, Error::Memory { .. }), "{refused}");
    }
}
