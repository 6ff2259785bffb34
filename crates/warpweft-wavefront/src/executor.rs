//! The seam between a spec and a device.

use super::edges::{Edges, one_by_one};
use super::erased::Erased;
use super::spec::{Kept, Wavefront};
use super::traceback::{Need, Traced, Walk, unrecorded};
use super::wavefront_element::WavefrontElement;
use warpweft_core::error::{Error, Result};
use warpweft_core::report::Report;

/// Runs wavefronts of `E` on one device.
pub trait WavefrontExecutor<E: WavefrontElement> {
    /// Computes all cells and returns what was to be kept.
    ///
    /// # Errors
    /// As [`Wavefront::check`]; what the executor [`misses`](Self::misses); too little memory; a
    /// fault of the device.
    fn run(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Kept<E::Cell>, Report)>;

    /// What this executor can't do that `wavefront` needs, if anything.
    fn misses(&self, wavefront: &Wavefront<'_, E>) -> Option<&'static str> {
        let _ = wavefront;
        None
    }

    /// Runs problems that have nothing to do with one another, of whatever sizes, and returns what each
    /// was to keep, in their order. The report is that of all together.
    ///
    /// # Errors
    /// No problems; as [`WavefrontExecutor::run`] of any.
    fn run_batch(
        &mut self,
        wavefronts: &[Wavefront<'_, E>],
    ) -> Result<(Vec<Kept<E::Cell>>, Report)> {
        in_turn(wavefronts, |wavefront| self.run(wavefront))
    }

    /// Computes all cells and returns the last row, the last column and, if `wavefront` says to keep
    /// the best score, the least or the sum, that too.
    ///
    /// # Errors
    /// As [`WavefrontExecutor::run`].
    fn edges(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Edges<E::Cell>, Report)> {
        one_by_one(self, wavefront)
    }

    /// What [`WavefrontExecutor::record`] would need for `wavefront`; none if this executor records no
    /// choices of it.
    ///
    /// # Errors
    /// The device's.
    fn directions(&self, wavefront: &Wavefront<'_, E>) -> Result<Option<Need>>
    where
        E: Traced,
    {
        let _ = wavefront;
        Ok(None)
    }

    /// Computes all cells, records the choice of each, and lets `walk` go through them with what
    /// `wavefront` keeps: the best score or the last row.
    ///
    /// # Errors
    /// Where [`WavefrontExecutor::directions`] has none; as [`WavefrontExecutor::run`]; those of
    /// `walk`.
    fn record(
        &mut self,
        wavefront: &Wavefront<'_, E>,
        walk: &mut Walk<'_, E::Cell>,
    ) -> Result<Report>
    where
        E: Traced,
    {
        let _ = (wavefront, walk);
        Err(unrecorded::<E>())
    }
}

impl<E: WavefrontElement, X: WavefrontExecutor<E> + ?Sized> WavefrontExecutor<E> for &mut X {
    fn run(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Kept<E::Cell>, Report)> {
        (**self).run(wavefront)
    }

    fn misses(&self, wavefront: &Wavefront<'_, E>) -> Option<&'static str> {
        (**self).misses(wavefront)
    }

    fn run_batch(
        &mut self,
        wavefronts: &[Wavefront<'_, E>],
    ) -> Result<(Vec<Kept<E::Cell>>, Report)> {
        (**self).run_batch(wavefronts)
    }

    fn edges(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Edges<E::Cell>, Report)> {
        (**self).edges(wavefront)
    }

    fn directions(&self, wavefront: &Wavefront<'_, E>) -> Result<Option<Need>>
    where
        E: Traced,
    {
        (**self).directions(wavefront)
    }

    fn record(
        &mut self,
        wavefront: &Wavefront<'_, E>,
        walk: &mut Walk<'_, E::Cell>,
    ) -> Result<Report>
    where
        E: Traced,
    {
        (**self).record(wavefront, walk)
    }
}

/// Problem after problem by `run`.
pub(super) fn in_turn<'w, E: WavefrontElement>(
    wavefronts: &[Wavefront<'w, E>],
    mut run: impl FnMut(&Wavefront<'w, E>) -> Result<(Kept<E::Cell>, Report)>,
) -> Result<(Vec<Kept<E::Cell>>, Report)> {
    let mut all = Vec::with_capacity(wavefronts.len());
    let mut total: Option<Report> = None;
    for wavefront in wavefronts {
        let (kept, report) = run(wavefront)?;
        all.push(kept);
        total = Some(match total {
            Some(total) => total.followed_by(&report),
            None => report,
        });
    }
    let nothing = || Error::spec("a batch of no problems", "give at least one");
    Ok((all, total.ok_or_else(nothing)?))
}

/// The numbers of `wavefronts`: first those that deserve a device of `parts` parts for themselves, as
/// one part would be busy with them when all others are done and they have more than `least` cells,
/// then the rest; the largest first.
pub(super) fn by_size(
    wavefronts: &[Erased<'_>],
    parts: usize,
    least: u64,
) -> (Vec<usize>, Vec<usize>) {
    let updates: Vec<_> = wavefronts.iter().map(Erased::updates).collect();
    let fair = updates.iter().map(|&n| u128::from(n)).sum::<u128>() / parts.max(1) as u128;
    let mut order: Vec<_> = (0..wavefronts.len()).collect();
    order.sort_by_key(|&k| std::cmp::Reverse(updates[k]));
    let alone = |&k: &usize| updates[k] > least && u128::from(updates[k]) > fair;
    let large = if parts > 1 { order.partition_point(alone) } else { 0 };
    let rest = order.split_off(large);
    (order, rest)
}
