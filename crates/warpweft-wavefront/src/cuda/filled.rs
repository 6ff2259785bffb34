//! The face of executors that only move bytes: results as cells and scores.

use std::ops::Range;

use super::winner::{total, winner};
use crate::executor::corner;
use crate::frame::allocate;
use crate::recurrence::{Best, Extreme, Ranked, WavefrontElement, bytes_of_mut};
use crate::spec::{Erased, Keep, Kept, Wavefront};
use warpweft_core::element::Scalar;
use warpweft_core::error::Result;
use warpweft_core::memory::room;
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

/// The typed side of executors that run many problems: memory for cells, and what becomes of each problem.
pub(super) trait Take {
    /// Memory for so many cells.
    ///
    /// # Errors
    /// Too little of it.
    fn cells(&mut self, count: usize) -> Result<&mut [u8]>;

    /// Problem `k` of `extents` was to `keep` something: it is in what was `found`, or in cells `range` of the last memory.
    fn take(
        &mut self,
        k: usize,
        keep: Keep,
        found: &[[u64; 3]],
        range: Range<usize>,
        extents: [usize; 2],
    );
}

/// What each of many problems keeps, by their numbers.
pub(super) struct TakeKept<C: Ranked> {
    cells: Vec<C>,
    pub kept: Vec<Option<Kept<C>>>,
}

impl<C: Ranked> TakeKept<C> {
    /// Nothing yet, of `count` problems.
    pub fn of(count: usize) -> Self {
        Self { cells: Vec::new(), kept: (0..count).map(|_| None).collect() }
    }
}

impl<C: Ranked> Take for TakeKept<C> {
    fn cells(&mut self, count: usize) -> Result<&mut [u8]> {
        self.cells = allocate(count)?;
        Ok(bytes_of_mut(&mut self.cells))
    }

    fn take(
        &mut self,
        k: usize,
        keep: Keep,
        found: &[[u64; 3]],
        range: Range<usize>,
        _: [usize; 2],
    ) {
        // The whole memory is handed on, not copied.
        let cells = match range == (0..self.cells.len()) {
            true => std::mem::take(&mut self.cells),
            false => self.cells[range].to_vec(),
        };
        self.kept[k] = Some(kept(keep, found, cells));
    }
}

/// The ends of many problems, by their numbers, as `of` makes something of each.
pub(super) struct TakeEnds<C: Ranked, R, F> {
    cells: Vec<C>,
    pub ends: Vec<Option<R>>,
    of: F,
}

impl<C: Ranked, R: Clone, F: Fn(Best<C::Score>) -> R> TakeEnds<C, R, F> {
    /// None yet, with memory for those of `count` problems.
    ///
    /// # Errors
    /// Too little of it.
    pub fn of(count: usize, of: F) -> Result<Self> {
        Ok(Self { cells: Vec::new(), ends: room(count, "give fewer pairs at once")?, of })
    }

    /// Those of all `count` problems.
    pub fn all(mut self, count: usize) -> Vec<Option<R>> {
        self.ends.resize(count, None);
        self.ends
    }

    /// Takes the score of each problem.
    pub fn scores(&mut self, scores: &[i32]) {
        let of = |score: &i32| {
            let score = C::Score::from_f64((*score).into());
            Some((self.of)(Best { score, row: 0, column: 0 }))
        };
        self.ends.extend(scores.iter().map(of));
    }
}

impl<C: Ranked, R: Clone, F: Fn(Best<C::Score>) -> R> Take for TakeEnds<C, R, F> {
    fn cells(&mut self, count: usize) -> Result<&mut [u8]> {
        self.cells = allocate(count)?;
        Ok(bytes_of_mut(&mut self.cells))
    }

    fn take(
        &mut self,
        k: usize,
        keep: Keep,
        found: &[[u64; 3]],
        range: Range<usize>,
        extents: [usize; 2],
    ) {
        let best = match keep {
            Keep::LastRow => self.cells[range].last().map(|cell| corner(cell, extents)),
            _ => winner(found, Extreme::Greatest),
        };
        let end = best.map(&self.of);
        match self.ends.get_mut(k) {
            Some(known) => *known = end,
            None => {
                self.ends.resize(k, None);
                self.ends.push(end);
            }
        }
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
