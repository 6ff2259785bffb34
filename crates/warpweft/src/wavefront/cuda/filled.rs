//! The face of executors that only move bytes: results as cells and scores.

use super::winner::{total, winner};
use crate::error::Result;
use crate::report::Report;
use crate::wavefront::bytes::bytes_of_mut;
use crate::wavefront::erased::Erased;
use crate::wavefront::frame::allocate;
use crate::wavefront::spec::{Keep, Kept, Wavefront};
use crate::wavefront::{Extreme, Ranked, WavefrontElement};

/// The winners or sums of warps, as kernels leave them, if any was to be kept.
pub(super) type Found = Vec<[u64; 3]>;

/// What fills the bytes of the kept cells, and what it found.
type Run<'a> = dyn FnMut(&Erased<'_>, &mut [u8]) -> Result<(Found, Report)> + 'a;

/// Runs `wavefront` by `run`, which fills what is kept of its cells.
pub(super) fn filled<E: WavefrontElement>(
    wavefront: &Wavefront<'_, E>,
    run: &mut Run<'_>,
) -> Result<(Kept<E::Cell>, Report)> {
    let erased = wavefront.erased();
    erased.check()?;
    // Before the work, lest it be lost.
    let mut cells = allocate(erased.kept_cells())?;
    let (found, report) = run(&erased, bytes_of_mut(&mut cells))?;
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
